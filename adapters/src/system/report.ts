/** Brings everything into the log that a process would otherwise print as text: why it ends, and what Node and libraries print. */
import { format } from 'node:util'
import type { Worker } from 'node:worker_threads'
import type { Log } from '@platen/lib/log.ts'

/** Characters of one printed text. */
const PRINTED_CHARS_MAX = 2048

/** Each fault of the settings gets its own line, so that people can search for each by name. */
export function reportFailure(log: Log, error: unknown): void {
  if (!(error instanceof Error && error.name === 'ConfigError')) return log.error({ err: error }, 'process failed')
  for (const detail of error.message.split('\n')) log.error({ detail }, 'setting refused')
}

/**
 * From now on, logs warnings of Node, what libraries write to the console, what threads print, and uncaught errors. After such an error,
 * calls `exit`: the state of the process is no longer known. What V8 prints when it aborts the process cannot be caught.
 */
export function logEverything(log: Log, exit: () => void): void {
  // Node's own listener prints them.
  process.removeAllListeners('warning')
  process.on('warning', (warning) => {
    const code = 'code' in warning ? warning.code : undefined
    log.warn({ warning: warning.name, code, detail: bounded(warning.message) }, 'node warned')
  })
  for (const name of ['debug', 'log', 'info', 'warn', 'error', 'trace'] as const) {
    console[name] = (...args: unknown[]) =>
      log.warn({ console: name, detail: bounded(format(...args)) }, 'library printed')
  }
  process.on('worker', (thread: Worker) => {
    for (const output of [thread.stdout, thread.stderr]) {
      // Node has connected it to the output of the process.
      output.unpipe()
      output.setEncoding('utf8').on('data', (printed: string) => {
        log.warn({ thread: thread.threadId, detail: bounded(printed.trimEnd()) }, 'library printed')
      })
      // A disconnected stream waits until it is resumed.
      output.resume()
    }
  })
  // Unhandled rejections arrive here, too.
  process.on('uncaughtException', (err, origin) => {
    log.error({ err, origin }, 'process crashed')
    exit()
  })
}

function bounded(text: string): string {
  return text.slice(0, PRINTED_CHARS_MAX)
}

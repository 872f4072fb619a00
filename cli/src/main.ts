#!/usr/bin/env node
/** The process of `platen`, the command line: it sets the exit code and handles the signals that end it. */
import { constants } from 'node:os'
import { runCommand, type Terminal } from './command.ts'

if (import.meta.main) {
  process.exitCode = await main(process.argv.slice(2))
  // Node drops what a pipe has not taken yet when the process exits: all beyond its first 64 KiB.
  await Promise.all([process.stdout, process.stderr].map(flushed))
  // By now everything is closed. What libraries leave behind, such as timers, must not delay the exit.
  process.exit()
}

async function main(args: readonly string[]): Promise<number> {
  const stop = new AbortController()
  let stoppedBy: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | undefined
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Handled once: the second signal ends the process without waiting for things to close.
    process.once(name, () => {
      stoppedBy ??= name
      stop.abort()
    })
  }
  const terminal: Terminal = {
    variables: process.env,
    // Opened only when a command reads it.
    get stdin() {
      return process.stdin
    },
    print: (text) => void process.stdout.write(text),
    printError: (text) => void process.stderr.write(text),
  }
  try {
    return await runCommand(args, terminal, stop.signal)
  } catch (error) {
    // Shells report a process ended by a signal in this way.
    if (stoppedBy !== undefined) return 128 + constants.signals[stoppedBy]
    throw error
  }
}

/** Resolves when a stream has passed on all that was written to it, or its reader is gone. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write('', () => resolve())
  })
}

#!/usr/bin/env node
import { constants } from 'node:os'
import { runCommand, type Terminal } from './command.ts'

if (import.meta.main) {
  process.exitCode = await main(process.argv.slice(2))
  // At exit Node drops what a pipe has not taken yet: all beyond its first 64 KiB.
  await Promise.all([process.stdout, process.stderr].map(flushed))
  // Everything is closed. Leftovers of libraries, such as timers, must not delay the exit.
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
    get stdin() {
      return process.stdin
    },
    print: (text) => void process.stdout.write(text),
    printError: (text) => void process.stderr.write(text),
  }
  try {
    return await runCommand(args, terminal, stop.signal)
  } catch (error) {
    // The exit code of shells for a process that was ended by a signal.
    if (stoppedBy !== undefined) return 128 + constants.signals[stoppedBy]
    throw error
  }
}

/** Resolves when the stream has passed on everything, or its reader is gone. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write('', () => resolve())
  })
}

#!/usr/bin/env node
/** `platen`, the command line: the process of a command, with its exit code and the signals that end it. */
import { constants } from 'node:os'
import { runCommand, type Terminal } from './command.ts'

// Everything is closed by then; but puppeteer leaves a timer of half a minute behind where its browser ends while it opens a page.
if (import.meta.main) process.exit(await main(process.argv.slice(2)))

async function main(args: readonly string[]): Promise<number> {
  const stop = new AbortController()
  let stoppedBy: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | undefined
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // Once: who asks a second time does not want to wait for things to be closed.
    process.once(name, () => {
      stoppedBy ??= name
      stop.abort()
    })
  }
  const terminal: Terminal = {
    variables: process.env,
    // Opened only where it is read.
    get stdin() {
      return process.stdin
    },
    print: (text) => void process.stdout.write(text),
    printError: (text) => void process.stderr.write(text),
  }
  try {
    return await runCommand(args, terminal, stop.signal)
  } catch (error) {
    // As a shell says it of what a signal has ended.
    if (stoppedBy !== undefined) return 128 + constants.signals[stoppedBy]
    throw error
  }
}

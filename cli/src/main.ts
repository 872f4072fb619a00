#!/usr/bin/env node
/** `platen`, the command line. It exits with 0 when all is well, 1 when what it looked at is not, and 2 when it was called wrongly. */
import { parseArgs } from 'node:util'
import { checkFolder, FolderUnreadable, spell } from './check.ts'

const USAGE = `usage: platen check <folder>

  check <folder>   read a folder of manifests as the service would, and print what is wrong with it;
                   nothing is written, and no service needs to run

The exit code is 0 when nothing is wrong, 1 when something is, and 2 when the command was called wrongly.
`

if (import.meta.main) process.exitCode = await main(process.argv.slice(2))

async function main(args: readonly string[]): Promise<number> {
  const called = parse(args)
  if (called === 'help') {
    process.stdout.write(USAGE)
    return 0
  }
  if (called === undefined) {
    process.stderr.write(USAGE)
    return 2
  }
  try {
    const report = await checkFolder(called.folder)
    process.stdout.write(spell(report, called.folder))
    return report.faults === 0 ? 0 : 1
  } catch (error) {
    if (!(error instanceof FolderUnreadable)) throw error
    process.stderr.write(`platen: ${error.message}\n`)
    return 2
  }
}

/** What was asked for; undefined when that cannot be told. */
function parse(args: readonly string[]): { readonly folder: string } | 'help' | undefined {
  try {
    const options = { help: { type: 'boolean', short: 'h' } } as const
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const [command, folder, ...more] = positionals
    if (values.help === true || (command === 'help' && folder === undefined)) return 'help'
    return command === 'check' && folder !== undefined && more.length === 0 ? { folder } : undefined
  } catch {
    return undefined
  }
}

/** The client as it is published: compiled, and run by the Node that a caller may have. */
import { execFile } from 'node:child_process'
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../architecture/source-tree.ts'

const run = promisify(execFile)

/** Compiles the client, as `npm pack` would. It takes less than a second, so nobody need ask whether what is there is old. */
export async function buildClient(): Promise<void> {
  await run('npm', ['run', '--silent', 'build', '--workspace', '@platen/client'], { cwd: ROOT })
}

/** The Node of this machine, with which it runs npm; the service brings its own. */
export async function machineNode(): Promise<string> {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  for (const folder of folders) {
    const file = join(folder, 'node')
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (isThere) return file
  }
  throw new Error('no node on PATH but that of the packages')
}

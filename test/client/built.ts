/** The client as it is published: compiled, and run by the Node that a caller may have. */
import { execFile } from 'node:child_process'
import { access, constants, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { delimiter, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../architecture/source-tree.ts'

const run = promisify(execFile)

/**
 * Compiles the client, as `npm pack` would. It takes less than a second, so nobody need ask whether what is there is old. Each file is
 * replaced at once, as another test, of this run or of one beside it, may be reading it.
 */
export async function buildClient(): Promise<void> {
  const dist = join(ROOT, 'client/dist')
  await mkdir(join(ROOT, 'out'), { recursive: true })
  const folder = await mkdtemp(join(ROOT, 'out/client-'))
  try {
    const build = ['run', '--silent', 'build', '--workspace', '@platen/client']
    await run('npm', build, { cwd: ROOT, env: { ...process.env, OUT: folder } })
    const made = await filesBelow(folder)
    for (const name of made) {
      await mkdir(dirname(join(dist, name)), { recursive: true })
      await rename(join(folder, name), join(dist, name))
    }
    for (const name of await filesBelow(dist)) if (!made.includes(name)) await rm(join(dist, name))
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)))
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

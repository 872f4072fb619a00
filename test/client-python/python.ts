/** The Python of the machine, and the environment that `make test` prepares for the Python client. */
import { execFile, execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../architecture/source-tree.ts'

export const PACKAGE = join(ROOT, 'clients/python')
/** What `test/client-python/prepare` has made. */
export const PREPARED = join(ROOT, 'out/client-python')

const run = promisify(execFile)
const python = join(PREPARED, 'venv/bin/python')

/** Is there no such environment? Then the tests of the client are skipped; in CI they fail. */
export function isMissing(): boolean {
  if (process.env['CI'] === 'true') return false
  try {
    execFileSync(python, ['-c', 'import httpx, mypy, pytest, hatchling'], { stdio: 'ignore' })
    return false
  } catch {
    return true
  }
}

/** Runs a module of the prepared environment in the package. Resolves with its output, and rejects with it, too. */
export async function runModule(
  module: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  return await runPython(python, ['-m', module, ...args], { cwd: PACKAGE, env })
}

export async function runPython(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: { readonly cwd: string; readonly env?: Record<string, string> },
): Promise<string> {
  // Nothing is written beside the sources, and no setting of the machine's Python counts.
  const own = { PATH: process.env['PATH'], TMPDIR: process.env['TMPDIR'], PYTHONDONTWRITEBYTECODE: '1', ...env }
  const options = { cwd, env: own, maxBuffer: 64 * 1024 * 1024 }
  const result = await run(program, [...args], options).catch((error: { stdout?: string; stderr?: string }) => {
    throw new Error(`${args.join(' ')} has failed:\n${error.stdout}\n${error.stderr}`, { cause: error })
  })
  return result.stdout
}

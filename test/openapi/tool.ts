/** The tools that are given the OpenAPI document. `make test` installs those of npm and PyPI; Go builds its own by `go.mod`. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../architecture/source-tree.ts'

export const NODE_MODULES = join(import.meta.dirname, 'node_modules')
/** Where pip installs `requirements.txt`. */
export const PYTHON_PACKAGES = join(ROOT, 'out/openapi')

/** The file of a command of an npm package. Throws if it is not installed, with how to get it. */
export async function scriptOf(name: string, command: string): Promise<string> {
  const home = join(NODE_MODULES, name)
  const text = await readFile(join(home, 'package.json'), 'utf8').catch((cause: unknown) => {
    throw new Error(`${name} is not installed: npm ci --ignore-scripts --prefix test/openapi`, { cause })
  })
  const { bin }: { bin: string | Readonly<Record<string, string>> } = JSON.parse(text)
  return join(home, typeof bin === 'string' ? bin : (bin[command] ?? ''))
}

/**
 * Removes one guard from the service, to prove that the check of a promise can fail. It changes the source while a process loads it, so no
 * second copy must be maintained. A process whose source no longer contains the text to replace ends with an error.
 */
import { registerHooks } from 'node:module'
import { scaledTimeOptions } from '../../../time/scaled-time.ts'

export interface Mutant {
  readonly name: string
  /** The end of a path in the repository. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

const VARIABLE = 'CHAOS_MUTANT'

/** Returns the environment in which a process loads the mutant. */
export function mutantOptions(mutant: Mutant | undefined): Readonly<Record<string, string>> {
  if (mutant === undefined) return {}
  const options = [scaledTimeOptions(), `--import ${import.meta.url}`]
  return { NODE_OPTIONS: options.join(' '), [VARIABLE]: JSON.stringify(mutant) }
}

const wanted = process.env[VARIABLE]
if (wanted !== undefined) {
  // `mutantOptions` wrote this.
  const { file, find, replace } = JSON.parse(wanted) as Mutant
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (!url.endsWith(file)) return loaded
      const source = Buffer.from(loaded.source as Uint8Array | string).toString()
      if (source.split(find).length !== 2) throw new Error(`${file} has no such guard, or several: ${find}`)
      return { ...loaded, source: source.replace(find, () => replace) }
    },
  })
}

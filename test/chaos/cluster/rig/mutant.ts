/**
 * The service with one of its guards taken out, to show that the check of a promise can fail. The source is changed while a process
 * loads it, so there is no second copy to keep; a change that fits nothing any more ends the process that asked for it.
 */
import { registerHooks } from 'node:module'
import { scaledTimeOptions } from '../../../time/scaled-time.ts'

/** One guard, and what is there without it. */
export interface Mutant {
  readonly name: string
  /** The end of a path in the repository. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

const VARIABLE = 'CHAOS_MUTANT'

/** The environment that has a process load the mutant. */
export function mutantOptions(mutant: Mutant | undefined): Readonly<Record<string, string>> {
  if (mutant === undefined) return {}
  const options = [scaledTimeOptions(), `--import ${import.meta.url}`]
  return { NODE_OPTIONS: options.join(' '), [VARIABLE]: JSON.stringify(mutant) }
}

const wanted = process.env[VARIABLE]
if (wanted !== undefined) {
  // Written by `mutantOptions`.
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

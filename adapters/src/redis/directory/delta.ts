/** The log of what each revision has changed, as it is read. */
import { KINDS, type Kind } from './value.ts'

/** One revision, as a step from another. */
export interface Delta {
  readonly entry: string
  readonly revisionId: string
  /** The mark of the revision it was made from. */
  readonly base: string
  readonly revision: number
  /** Absent where all was replaced, or cannot be told. A value that is null is gone. */
  readonly changes?: Changes
}

/** New values by name, of the kinds that changed. */
export type Changes = Readonly<Partial<Record<Kind, Readonly<Record<string, string | null>>>>>

/** An entry as Redis gives it: its place, then names and values in turn. */
export type LogEntry = readonly [entry: string, flat: readonly string[]]

/** The step that an entry tells of. It was written by the script, and by nobody else. */
export function deltaOf([entry, flat]: LogEntry): Delta {
  const field = (name: string) => flat[flat.indexOf(name) + 1] ?? ''
  const changes = changesIn(field('changes'))
  return {
    entry,
    revisionId: field('mark'),
    base: field('after'),
    revision: Number(field('revision')),
    ...(changes && { changes }),
  }
}

/** Where they cannot be read, there is no step to take, and all is loaded instead. */
function changesIn(text: string): Changes | undefined {
  try {
    const changes: unknown = JSON.parse(text)
    // Each value in it is looked at when it is taken.
    return typeof changes === 'object' && changes !== null ? changes : undefined
  } catch {
    return undefined
  }
}

/** Each field that a step changes. */
export function* fieldsOf(changes: Changes): Generator<readonly [Kind, string, string | null]> {
  for (const kind of KINDS) for (const [name, text] of Object.entries(changes[kind] ?? {})) yield [kind, name, text]
}

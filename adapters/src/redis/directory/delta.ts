/** The log of revisions, each with its changes. */
import { KINDS, type Kind } from './value.ts'

/** One revision, as the changes from another one. */
export interface Delta {
  readonly entry: string
  readonly revisionId: string
  /** The revision id of the revision it is based on. */
  readonly base: string
  readonly revision: number
  /** Absent if all was replaced or the changes cannot be read. A null value is removed. */
  readonly changes?: Changes
}

/** New values by name, of each changed kind. */
export type Changes = Readonly<Partial<Record<Kind, Readonly<Record<string, string | null>>>>>

/** An entry as Redis returns it: its id, then names and values alternating. */
type LogEntry = readonly [entry: string, flat: readonly string[]]

/** Parses an entry. Only the script writes entries. */
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

/** Parses the changes. If they cannot be read, the delta is not applied, and everything is loaded instead. */
function changesIn(text: string): Changes | undefined {
  try {
    const changes: unknown = JSON.parse(text)
    // Each value is checked when it is applied.
    return typeof changes === 'object' && changes !== null ? changes : undefined
  } catch {
    return undefined
  }
}

/** Lists each changed field. */
export function* fieldsOf(changes: Changes): Generator<readonly [Kind, string, string | null]> {
  for (const kind of KINDS) for (const [name, text] of Object.entries(changes[kind] ?? {})) yield [kind, name, text]
}

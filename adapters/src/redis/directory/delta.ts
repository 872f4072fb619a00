import { KINDS, type Kind } from './value.ts'

/** One revision, as changes to another one. */
export interface Delta {
  readonly entry: string
  readonly revisionId: string
  /** The revision id that the changes are based on. */
  readonly base: string
  readonly revision: number
  /** A null value is removed. Absent if all was replaced or the changes cannot be read. */
  readonly changes?: Changes
}

/** New values by kind and name. */
export type Changes = Readonly<Partial<Record<Kind, Readonly<Record<string, string | null>>>>>

/** An entry as Redis returns it: its id, then names and values alternating. */
type LogEntry = readonly [entry: string, flat: readonly string[]]

/** Only the script writes entries. */
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

/** If the changes cannot be read, the delta is not applied, and everything is loaded instead. */
function changesIn(text: string): Changes | undefined {
  try {
    const changes: unknown = JSON.parse(text)
    // Values are checked when they are applied.
    return typeof changes === 'object' && changes !== null ? changes : undefined
  } catch {
    return undefined
  }
}

export function* fieldsOf(changes: Changes): Generator<readonly [Kind, string, string | null]> {
  for (const kind of KINDS) for (const [name, text] of Object.entries(changes[kind] ?? {})) yield [kind, name, text]
}

/** What makes one set of values another. */
import { KINDS, type Kind, type Values } from '../value.ts'

export interface Difference {
  readonly kind: Kind
  /** A tenant's id, a key's hash, or a template's tenant and code with a slash. */
  readonly name: string
  readonly change: 'added' | 'changed' | 'removed'
}

/** A difference, with the value there is to be; null where it is removed. */
export interface Change extends Difference {
  readonly text: string | null
}

/** What is to be done to the values before so that they are those after. A kind whose map is the same costs nothing. */
export function changesBetween(before: Values, after: Values): readonly Change[] {
  return KINDS.flatMap((kind) => (before[kind] === after[kind] ? [] : [...changesOf(kind, before, after)]))
}

function* changesOf(kind: Kind, { [kind]: before }: Values, { [kind]: after }: Values): Generator<Change> {
  let added = 0
  for (const [name, text] of after) {
    const known = before.get(name)
    if (known === text) continue
    if (known === undefined) added++
    yield { kind, name, text, change: known === undefined ? 'added' : 'changed' }
  }
  if (before.size + added === after.size) return
  for (const name of before.keys()) if (!after.has(name)) yield { kind, name, text: null, change: 'removed' }
}

/** The same without the values. */
export function differencesIn(changes: readonly Change[]): readonly Difference[] {
  return changes.map(({ text: _text, ...difference }) => difference)
}

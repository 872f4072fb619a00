import { KINDS, type Kind, type Values } from '../value.ts'

export interface Difference {
  readonly kind: Kind
  /** A tenant's id, a key's hash, or a template's tenant and code with a slash. */
  readonly name: string
  readonly change: 'added' | 'changed' | 'removed'
}

/** Null = removed. */
export interface Change extends Difference {
  readonly text: string | null
}

/** Returns the changes that turn `before` into `after`. Shared shards cost nothing. */
export function changesBetween(before: Values, after: Values): readonly Change[] {
  return KINDS.flatMap((kind) => [...changesOf(kind, before, after)])
}

function* changesOf(kind: Kind, { [kind]: before }: Values, { [kind]: after }: Values): Generator<Change> {
  for (const [old, now] of before.differingShards(after)) {
    for (const [name, text] of now) {
      const known = old.get(name)
      if (known !== text) yield { kind, name, text, change: known === undefined ? 'added' : 'changed' }
    }
    for (const name of old.keys()) if (!now.has(name)) yield { kind, name, text: null, change: 'removed' }
  }
}

export function differencesIn(changes: readonly Change[]): readonly Difference[] {
  return changes.map(({ text: _text, ...difference }) => difference)
}

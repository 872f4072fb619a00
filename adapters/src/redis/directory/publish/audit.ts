/**
 * Compares the values in Redis with the published ones: somebody else may have changed, lost or added values. Reads all of them in batches
 * while publishing continues, and returns the names that differ. These are read again while nothing is published.
 */
import type { RedisConnection } from '../../connect.ts'
import { countFields, readFields, scanFields } from '../layout.ts'
import { KINDS, type Kind, type Values } from '../value.ts'
import type { Change } from './difference.ts'

/** Names of values that may differ from the published ones. */
export type Suspects = Readonly<Record<Kind, ReadonlySet<string>>>

/** Reads all values, and returns the names of those that differ from what is published at that moment. */
export async function findSuspects(
  redis: RedisConnection,
  published: () => Values,
  signal: AbortSignal,
): Promise<Suspects> {
  const suspects = { tenants: new Set<string>(), keys: new Set<string>(), templates: new Set<string>() }
  for await (const fields of scanFields(redis, signal))
    for (const { kind, name, text } of fields) if (published()[kind].get(name) !== text) suspects[kind].add(name)
  for (const kind of KINDS) {
    const count = await countFields(redis, kind, signal)
    const { [kind]: known } = published()
    const strange = [...suspects[kind]].filter((name) => !known.has(name)).length
    if (count >= known.size + strange) continue
    // Some values are missing. Only a look-up by name shows which.
    for await (const [name, text] of readFields(redis, { kind, names: known.keys() }, signal))
      if (text === null) suspects[kind].add(name)
  }
  return suspects
}

/** Returns the changes that restore the suspects: `added` restores a lost value, `removed` deletes a value that nobody published. */
export async function changesTo(
  published: Values,
  { redis, suspects }: { readonly redis: RedisConnection; readonly suspects: Suspects },
  signal: AbortSignal,
): Promise<readonly Change[]> {
  const changes: Change[] = []
  for (const kind of KINDS)
    for await (const [name, found] of readFields(redis, { kind, names: suspects[kind] }, signal)) {
      const text = published[kind].get(name) ?? null
      if (text === found) continue
      changes.push({ kind, name, text, change: found === null ? 'added' : text === null ? 'removed' : 'changed' })
    }
  return changes
}

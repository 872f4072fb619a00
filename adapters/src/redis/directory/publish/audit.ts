/**
 * Whether what stands in Redis is what was published: a value may have been changed, lost or added by somebody else. All of it is read
 * in pieces, while publishing goes on, which names what is suspect; that is read again when nothing is published.
 */
import type { RedisConnection } from '../../connect.ts'
import { countFields, readFields, scanFields } from '../layout.ts'
import { KINDS, type Kind, type Values } from '../value.ts'
import type { Change } from './difference.ts'

/** Names of what may not be as it was published. */
export type Suspects = Readonly<Record<Kind, ReadonlySet<string>>>

/** Reads all there is, and keeps the names of what is not as it was published last at that moment. */
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
    // Some are missing, and which ones only their names tell.
    for await (const [name, text] of readFields(redis, { kind, names: known.keys() }, signal))
      if (text === null) suspects[kind].add(name)
  }
  return suspects
}

/** What is to be done to the suspects so that they are as published: `added` is what was lost, `removed` what nobody published. */
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

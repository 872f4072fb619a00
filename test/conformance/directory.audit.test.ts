/** Tests that an audit of the directory in Redis repairs settings that were changed or lost. */
import { randomInt } from 'node:crypto'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { changesBetween, type Difference, differencesIn } from '@platen/adapters/redis/directory/publish/difference.ts'
import { Fenced } from '@platen/adapters/redis/directory/publish/write.ts'
import { KINDS, type Kind, type Values } from '@platen/adapters/redis/directory/value.ts'
import { PersistentMap } from '@platen/lib/persistent-map.ts'
import { expect, test } from 'vitest'
import { IS_LONG } from '../run/form.ts'
import {
  type Accounts,
  anAccount,
  aPublisher,
  aReader,
  aSnapshot,
  behind,
  changedAtRandom,
  gate,
  LARGE,
  ofAccounts,
} from './directory-harness.ts'
import { describeOnRedis } from './redis-harness.ts'

const PREFIX = 'platen:{directory}'
const META = `${PREFIX}:meta`
const FEW = [1, 2, 3]
/** More entries than one read returns. */
const MANY = Array.from({ length: 600 }, (_, i) => i)
/** Repetitions of the random tests. */
const ROUNDS = IS_LONG ? 150 : 30

describeOnRedis('an audit of the directory in Redis', (redis) => {
  test('finds nothing, and changes nothing, where all is as it was published', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    expect(await publisher.audit(signal)).toEqual([])
    await publisher.publish(ofAccounts(1, MANY), signal)
    const markOf = () => connection.call((client) => client.hget(META, 'mark'), signal)
    const mark = await markOf()
    expect(await publisher.audit(signal)).toEqual([])
    expect(await (await aPublisher(connection)).audit(signal)).toEqual([])
    expect(await markOf()).toBe(mark)
  })

  test('tells what was lost, changed and nobody’s, and who took it takes what is good', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    await publisher.publish(ofAccounts(1, MANY), signal)
    await connection.call((client) => client.hset(`${PREFIX}:tenants`, { 'tenant-7': '{}' }), signal)
    await connection.call((client) => client.hdel(`${PREFIX}:templates`, 'tenant-9/invoice-9'), signal)
    await connection.call((client) => client.hset(`${PREFIX}:keys`, { ['f'.repeat(64)]: '{}' }), signal)
    await using reader = await aReader(connection, { reader: 'one' })
    expect(reader.current()).not.toStrictEqual(ofAccounts(1, MANY))
    expect(await publisher.enforced(signal)).toMatchObject({ behind: 0, revision: 1 })
    const slow = gate()
    await using late = await aReader(behind(connection, slow), { reader: 'late' })
    using _ = { [Symbol.dispose]: () => slow.open() }
    slow.close()
    expect(await publisher.audit(signal)).toEqual([
      { kind: 'tenants', name: 'tenant-7', change: 'changed' },
      { kind: 'keys', name: 'f'.repeat(64), change: 'removed' },
      { kind: 'templates', name: 'tenant-9/invoice-9', change: 'added' },
    ] satisfies Difference[])
    // Readers that still have the damaged data do not count as enforcing, though it is of this revision.
    expect(await publisher.enforced(signal)).toMatchObject({ revision: 0 })
    slow.open()
    for (const each of [reader, late]) {
      await each.refresh(signal)
      expect(each.current()).toStrictEqual(ofAccounts(1, MANY))
    }
    expect(await publisher.enforced(signal)).toMatchObject({ all: 2, behind: 0, revision: 1 })
    expect(await publisher.audit(signal)).toEqual([])
  })

  test('leaves Redis as it was published, whatever is published, damaged, flushed and claimed before', async ({
    signal,
  }) => {
    await using connection = await redis.emptied()
    let publisher = await aPublisher(connection)
    await using reader = await aReader(connection, { reader: 'one' })
    let accounts: Accounts = new Map(FEW.map((number) => [number, anAccount(number)]))
    let snapshot = snapshotOf(publisher.nextRevision(), accounts)
    await publisher.publish(snapshot, signal)
    let repaired = 0
    for (let round = 0; round < ROUNDS; round++) {
      if (randomInt(3) === 0) {
        accounts = changedAtRandom(accounts)
        snapshot = snapshotOf(publisher.nextRevision(), accounts)
        await publisher.publish(snapshot, signal)
      }
      if (randomInt(10) === 0) publisher = await aPublisher(connection)
      const good = await valuesIn(connection, signal)
      for (let i = randomInt(4); i > 0; i--) await damage(connection, signal)
      const damaged = await valuesIn(connection, signal)
      if (randomInt(2) === 0) await reader.refresh(signal)
      const found = await publisher.audit(signal)
      repaired += found.length
      expect(inOrder(found)).toEqual(inOrder(differencesIn(changesBetween(valuesOf(damaged), valuesOf(good)))))
      expect(await valuesIn(connection, signal)).toEqual(good)
      const expected = { ...snapshot, revision: publisher.revision() }
      await reader.refresh(signal)
      await using newcomer = await aReader(connection)
      for (const each of [reader, newcomer]) expect(each.current()).toStrictEqual(expected)
      expect(await publisher.enforced(signal)).toMatchObject({ all: 1, behind: 0, revision: expected.revision })
      expect(await publisher.audit(signal)).toEqual([])
    }
    expect(repaired).toBeGreaterThan(0)
  })

  test.for([
    ['a small change', [...MANY, 700]],
    ['all that there is', [LARGE, LARGE + 1]],
  ] as const)('takes %s for no damage, at whichever of its calls it is published', async ([, accounts], { signal }) => {
    await using connection = await redis.emptied()
    const interrupted = interruptible(connection)
    const publisher = await aPublisher(interrupted)
    await using reader = await aReader(connection)
    for (let calls = 0, hasHappened = true; hasHappened; calls++) {
      hasHappened = false
      await publisher.publish(ofAccounts(publisher.nextRevision(), MANY), signal)
      const next = ofAccounts(publisher.nextRevision(), accounts)
      let published: Promise<void> | undefined
      interrupted.interruptAt(calls, async () => {
        hasHappened = true
        published = publisher.publish(next, signal)
        // A publish does not wait for an audit that has just begun.
        if (calls === 0) await published
      })
      expect(await publisher.audit(signal)).toEqual([])
      await published
      await reader.refresh(signal)
      if (hasHappened) expect(reader.current()).toStrictEqual(next)
    }
  })

  test('is refused to who has been overtaken, and writes nothing then', async ({ signal }) => {
    await using connection = await redis.emptied()
    const one = await aPublisher(connection)
    await one.publish(ofAccounts(1, FEW), signal)
    const two = await aPublisher(connection)
    await two.publish(ofAccounts(2, [7, 8]), signal)
    await expect(one.audit(signal)).rejects.toThrow(Fenced)
    await using reader = await aReader(connection)
    expect(reader.current()).toStrictEqual(ofAccounts(2, [7, 8]))
    expect(await two.audit(signal)).toEqual([])
  })
})

function snapshotOf(revision: number, accounts: Accounts) {
  const all = [...accounts.values()]
  return aSnapshot(revision, {
    tenants: all.map(({ tenant }) => tenant),
    keys: all.filter((_, i) => i % 3 > 0).map(({ key }) => key),
    templates: all.map(({ template }) => template),
  })
}

interface Interruptible {
  /** Runs `happen` before a coming call; 0 = before the next call. */
  interruptAt(calls: number, happen: () => Promise<void>): void
}

/** A connection that lets something else happen between its calls. */
function interruptible(connection: RedisConnection): RedisConnection & Interruptible {
  let interruption: { calls: number; happen: () => Promise<void> } | undefined
  return {
    ...connection,
    interruptAt(calls, happen) {
      interruption = { calls, happen }
    },
    async call(command, signal) {
      if (interruption !== undefined && interruption.calls-- === 0) {
        const { happen } = interruption
        interruption = undefined
        await happen()
      }
      return connection.call(command, signal)
    },
  }
}

type Found = Readonly<Record<Kind, ReadonlyMap<string, string>>>

function valuesOf({ tenants, keys, templates }: Found): Values {
  return { tenants: PersistentMap.of(tenants), keys: PersistentMap.of(keys), templates: PersistentMap.of(templates) }
}

/** Reads all values in Redis. */
async function valuesIn(connection: RedisConnection, signal: AbortSignal): Promise<Found> {
  const [tenants, keys, templates] = await Promise.all(
    KINDS.map(
      async (kind) =>
        new Map(Object.entries(await connection.call((client) => client.hgetall(`${PREFIX}:${kind}`), signal))),
    ),
  )
  return { tenants: tenants ?? new Map(), keys: keys ?? new Map(), templates: templates ?? new Map() }
}

/** Sorts by subject, because Redis has no order. */
function inOrder(differences: readonly Difference[]): readonly string[] {
  return differences.map(({ kind, name, change }) => `${kind} ${name} ${change}`).sort()
}

/** Does random damage to Redis. It never takes the right to publish. */
async function damage(connection: RedisConnection, signal: AbortSignal): Promise<void> {
  const kind = KINDS[randomInt(KINDS.length)] ?? 'tenants'
  const key = `${PREFIX}:${kind}`
  const some = (await connection.call((client) => client.hrandfield(key, 1), signal)) as readonly string[]
  const name = some[0] ?? 'nobody'
  const damages: readonly (() => Promise<unknown>)[] = [
    () => connection.call((client) => client.hset(key, { [name]: '{}' }), signal),
    () => connection.call((client) => client.hset(key, { [`stray-${randomInt(9)}`]: 'x' }), signal),
    () => connection.call((client) => client.hdel(key, name), signal),
    () => connection.call((client) => client.del(key), signal),
    () => connection.call((client) => client.del(`${PREFIX}:log`), signal),
    () => connection.call((client) => client.del(META), signal),
    () => connection.call((client) => client.hdel(META, 'entry'), signal),
    () => connection.call((client) => client.hset(META, { mark: 'another', revision: 2e12 + randomInt(1e6) }), signal),
    () => connection.call((client) => client.hset(META, { mark: 'damaged', revision: 'x', epoch: 'x' }), signal),
    () => connection.call((client) => client.hset(META, { schema: 2 }), signal),
    () => connection.call((client) => client.flushall(), signal),
  ]
  await damages[randomInt(damages.length)]?.()
}

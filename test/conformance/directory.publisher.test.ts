/** Tests when the publisher of the directory in Redis reports a revision as enforced, whatever Redis forgets. */
import { randomInt } from 'node:crypto'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { readEpoch } from '@platen/adapters/redis/directory/layout.ts'
import { Fenced } from '@platen/adapters/redis/directory/publish/write.ts'
import { openRedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { DIRECTORY_REPORT_EVERY_MS, DIRECTORY_REPORT_KEPT_MS } from '@platen/adapters/redis/limit.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { REDIS_CALL_MS_MAX } from '@platen/contract/domain/limit.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { publishSettings } from '@platen/settings/publish/publish-settings.ts'
import { expect, test } from 'vitest'
import { NOON } from '../fixture/build.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { IS_LONG } from '../run/form.ts'
import { aPublisher, aReader, atCall, behind, deafAt, gate, LARGE, ofAccounts } from './directory-harness.ts'
import { describeOnRedis } from './redis-harness.ts'

const META = 'platen:{directory}:meta'
const FEW = [1, 2, 3]
/** Revisions published while gates open and close at random. */
const REVISIONS = IS_LONG ? 150 : 50
const ALL = Array.from({ length: 12 }, (_, i) => LARGE + i)

describeOnRedis('the publisher of the directory in Redis', (redis) => {
  test('takes no reader for one of its own that has the number of a revision and another mark', async ({ signal }) => {
    await using connection = await redis.emptied()
    await (await aPublisher(connection)).publish(ofAccounts(1000, FEW), signal)
    const [clock, slow] = [manualClock(NOON), gate()]
    await using reader = await aReader(behind(connection, slow), { clock, reader: 'one' })
    using _ = { [Symbol.dispose]: () => slow.open() }
    await connection.call((client) => client.flushall(), signal)
    await clock.advance(DIRECTORY_REPORT_EVERY_MS)
    await reader.refresh(signal)
    slow.close()
    const publisher = await aPublisher(connection)
    for (const revision of [1, 1000, 1001]) {
      await publisher.publish(ofAccounts(revision, [9]), signal)
      expect(await publisher.enforced(signal)).toMatchObject({ all: 1, behind: 1, revision: 0 })
      expect(await publisher.readers(signal)).toEqual({ all: 1, enforcing: 0 })
    }
    slow.open()
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(ofAccounts(1001, [9]))
    expect(await publisher.enforced(signal)).toMatchObject({ all: 1, behind: 0, revision: 1001 })
  })

  test('numbers what it publishes into an empty Redis above all that readers may still hold', async ({ signal }) => {
    await using connection = await redis.emptied()
    const one = await aPublisher(connection)
    const first = one.nextRevision()
    await one.publish(ofAccounts(first, FEW), signal)
    expect(one.nextRevision()).toBe(first + 1)
    await one.publish(ofAccounts(first + 1, FEW), signal)
    await using reader = await aReader(connection, { clock: manualClock(NOON), reader: 'one' })
    await connection.call((client) => client.flushall(), signal)

    const two = await aPublisher(connection)
    const second = two.nextRevision()
    await two.publish(ofAccounts(second, [9]), signal)
    // Its clock stands still, so it refreshes without delay.
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(ofAccounts(second, [9]))
    expect((await two.enforced(signal)).revision).toBe(second)
    expect((await aPublisher(connection)).revision()).toBe(second)
  })

  test.for([1, 1_795_000_000_000, 99_999_999_999_998])(
    'keeps the number %d to the last digit',
    async (revision, { signal }) => {
      await using connection = await redis.emptied()
      const publisher = await aPublisher(connection)
      await using reader = await aReader(connection, { reader: 'one' })
      for (const next of [revision, revision + 1]) {
        await publisher.publish(ofAccounts(next, FEW), signal)
        await reader.refresh(signal)
        expect(reader.current().revision).toBe(next)
        expect((await publisher.enforced(signal)).revision).toBe(next)
        expect((await aPublisher(connection, publisher.epoch)).nextRevision()).toBe(next + 1)
      }
    },
  )

  test('says of no revision that all enforce it while one of them does not', async ({ signal }) => {
    await using connection = await redis.emptied()
    await using stack = new AsyncDisposableStack()
    const gates = ['one', 'two', 'three'].map((name) => ({ name, slow: gate() }))
    const readers = await Promise.all(
      gates.map(({ name, slow }) => aReader(behind(connection, slow), { reader: name })),
    )
    for (const reader of readers) stack.use(reader)
    stack.defer(() => {
      for (const { slow } of gates) slow.open()
    })
    let publisher = await aPublisher(connection)
    let isEverBehind = false
    for (let revision = 1; revision <= REVISIONS; revision++) {
      for (const { slow } of gates) slow[randomInt(3) === 0 ? 'open' : 'close']()
      if (randomInt(10) === 0) publisher = await aPublisher(connection)
      await publisher.publish(ofAccounts(revision, randomInt(20) === 0 ? ALL : [revision]), signal)
      const enforced = await publisher.enforced(signal)
      const held = readers.map((reader) => reader.current().revision)
      expect(enforced.all).toBe(3)
      expect(Math.min(...held)).toBeGreaterThanOrEqual(enforced.revision)
      expect(enforced.behind).toBeGreaterThanOrEqual(held.filter((each) => each < revision).length)
      isEverBehind ||= enforced.behind > 0
    }
    expect(isEverBehind).toBe(true)
    for (const { slow } of gates) slow.open()
    await Promise.all(readers.map((reader) => reader.refresh(signal)))
    expect(await publisher.enforced(signal)).toMatchObject({ all: 3, behind: 0, revision: REVISIONS })
  })

  test('waits for a reader that has begun to load, or is loaded by it', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    await publisher.publish(ofAccounts(1, FEW), signal)
    const waited = new Set<boolean>()
    for (let calls = 0, hasHappened = true; hasHappened; calls++) {
      hasHappened = false
      let enforced = 0
      const disturbed = atCall(connection, calls, async () => {
        hasHappened = true
        await publisher.publish(ofAccounts(publisher.nextRevision(), [calls]), signal)
        enforced = (await publisher.enforced(signal)).revision
      })
      await using reader = await aReader(disturbed, { reader: 'one' })
      expect(reader.current().revision).toBeGreaterThanOrEqual(enforced)
      if (hasHappened) waited.add(enforced < publisher.revision())
    }
    expect([...waited]).toEqual([false, true])
  })

  test('says that it is not certain until readers have had the time to tell an emptied Redis of themselves', async ({
    signal,
  }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    await publisher.publish(ofAccounts(1, FEW), signal)
    expect(await publisher.enforced(signal)).toEqual({ all: 0, behind: 0, revision: 1, isCertain: false })
    // Sets `since` back, as if the call came that much later.
    const later = async () => {
      const since = Number(await connection.call((client) => client.hget(META, 'since'), signal))
      await connection.call((client) => client.hset(META, { since: since - DIRECTORY_REPORT_KEPT_MS }), signal)
    }
    await later()
    expect(await publisher.enforced(signal)).toEqual({ all: 0, behind: 0, revision: 1, isCertain: true })
    await connection.call((client) => client.flushall(), signal)
    expect((await publisher.enforced(signal)).isCertain).toBe(false)
    await publisher.repair(signal)
    expect((await publisher.enforced(signal)).isCertain).toBe(false)
    await later()
    expect((await publisher.enforced(signal)).isCertain).toBe(true)
  })

  test('counts every reader while Redis answers late, because their reports are late, too', async ({ signal }) => {
    await using connection = await redis.emptied()
    let [passedMs, lateMs] = [0, 0]
    const clock = { ...systemClock(), monotonic: () => systemClock().monotonic() + passedMs }
    const late: RedisConnection = {
      ...connection,
      async call(command, callSignal) {
        const answer = await connection.call(command, callSignal)
        passedMs += lateMs
        return answer
      },
    }
    await using one = await aReader(late, { reader: 'one', clock })
    const two = await aReader(connection, { reader: 'two' })
    const counted = async () => {
      passedMs += DIRECTORY_REPORT_EVERY_MS
      await one.refresh(signal)
      return one.readers()
    }
    expect(await counted()).toBe(2)
    await two[Symbol.asyncDispose]()
    const countedLong = async () => {
      const counts: number[] = []
      for (let ms = 0; ms <= DIRECTORY_REPORT_KEPT_MS; ms += DIRECTORY_REPORT_EVERY_MS) counts.push(await counted())
      return counts.at(-1)
    }
    lateMs = REDIS_CALL_MS_MAX + 1
    expect(await countedLong()).toBe(2)
    lateMs = 0
    expect(await countedLong()).toBe(1)
  })

  test('takes nobody for gone who has not yet reported to a Redis that has lost all', async ({ signal }) => {
    await using connection = await redis.emptied()
    const clock = manualClock()
    await using one = await aReader(connection, { reader: 'one', clock })
    const other = await aReader(connection, { reader: 'other', clock })
    const reports = async () => {
      await clock.advance(DIRECTORY_REPORT_EVERY_MS)
      await one.refresh(signal)
      return one.readers()
    }
    expect(await reports()).toBe(2)
    await connection.call((client) => client.del(`platen:{directory}:readers`), signal)
    expect(await reports()).toBe(2)
    await other.refresh(signal)
    await other[Symbol.asyncDispose]()
    const readerCounts: number[] = []
    for (let ms = 0; ms <= DIRECTORY_REPORT_KEPT_MS; ms += DIRECTORY_REPORT_EVERY_MS) readerCounts.push(await reports())
    expect([readerCounts[0], readerCounts.at(-1)]).toEqual([2, 1])
  })

  test.for([
    ['a small change', [1, 2, 4]],
    ['all that there is', ALL],
  ] as const)('finds out what has become of %s whose answer it has not had', async ([, accounts], { signal }) => {
    await using connection = await redis.emptied()
    const found = new Set<number>()
    // Opening takes the first six calls.
    for (let calls = 6; ; calls++) {
      await connection.call((client) => client.flushall(), signal)
      await (await aPublisher(connection)).publish(ofAccounts(1, FEW), signal)
      await using reader = await aReader(connection)
      const publisher = await aPublisher(deafAt(connection, calls))
      const outcome = await publisher.publish(ofAccounts(2, accounts), signal).catch((error: unknown) => error)
      if (outcome === undefined) break
      expect(outcome).toBeInstanceOf(Unavailable)
      expect(await publisher.repair(signal)).toBe(false)
      found.add(publisher.revision())
      await reader.refresh(signal)
      expect(reader.current()).toStrictEqual(publisher.revision() === 1 ? ofAccounts(1, FEW) : ofAccounts(2, accounts))
      const next = publisher.nextRevision()
      await publisher.publish(ofAccounts(next, [7]), signal)
      await reader.refresh(signal)
      expect(reader.current()).toStrictEqual(ofAccounts(next, [7]))
    }
    expect([...found]).toEqual([1, 2])
  })

  test('takes back a change whose answer it has not had, when nothing of it is wanted any more', async ({ signal }) => {
    await using connection = await redis.emptied()
    const revisions = new Set<number>()
    for (let calls = 6; ; calls++) {
      await connection.call((client) => client.flushall(), signal)
      await (await aPublisher(connection)).publish(ofAccounts(1, FEW), signal)
      await using reader = await aReader(connection)
      const publisher = await aPublisher(deafAt(connection, calls))
      const changed = await publishSettings(publisher, ofAccounts(2, ALL), signal).catch((error: unknown) => error)
      if (changed === 2) break
      expect(changed).toBeInstanceOf(Unavailable)
      const revision = await publishSettings(publisher, ofAccounts(1, FEW), signal)
      revisions.add(revision)
      await reader.refresh(signal)
      expect(reader.current()).toStrictEqual(ofAccounts(revision, FEW))
    }
    expect([...revisions]).toEqual([1, 3])
  })

  test.for([
    ['a small change', [1, 2, 4]],
    ['all that there is', ALL],
  ] as const)(
    'tells that Redis lost the settings, at whichever call of publishing %s',
    async ([, accounts], { signal }) => {
      await using connection = await redis.emptied()
      const flush = () => connection.call((client) => client.flushall(), signal)
      // Opening takes the first five calls.
      for (let calls = 5, hasHappened = true; hasHappened; calls++) {
        hasHappened = false
        await flush()
        await (await aPublisher(connection)).publish(ofAccounts(1, FEW), signal)
        const flushed = atCall(connection, calls, async () => {
          hasHappened = true
          await flush()
        })
        const lost: number[] = []
        const onLost = (revision: number) => lost.push(revision)
        const publisher = await openRedisPublisher({ redis: flushed, ids: systemIds(), onLost }, signal)
        await publisher.publish(ofAccounts(2, accounts), signal)
        expect({ calls, lost }).toEqual({ calls, lost: hasHappened ? [2] : [] })
      }
    },
  )

  test.for(['repair', 'audit'] as const)(
    'tells that Redis lost the settings when %s finds that',
    async (method, { signal }) => {
      await using connection = await redis.emptied()
      const lost: number[] = []
      const onLost = (revision: number) => lost.push(revision)
      const publisher = await openRedisPublisher({ redis: connection, ids: systemIds(), onLost }, signal)
      await publisher.publish(ofAccounts(1, FEW), signal)
      await publisher[method](signal)
      expect(lost).toEqual([])
      await connection.call((client) => client.flushall(), signal)
      await publisher[method](signal)
      await publisher[method](signal)
      expect(lost).toEqual([1])
    },
  )

  test('is believed at once where one that is late has published into an emptied Redis', async ({ signal }) => {
    await using connection = await redis.emptied()
    const late = await aPublisher(connection)
    const publisher = await aPublisher(connection)
    await publisher.publish(ofAccounts(5, FEW), signal)
    await using reader = await aReader(connection, { clock: manualClock(NOON), reader: 'one' })
    await connection.call((client) => client.flushall(), signal)
    await late.publish(ofAccounts(9, [9]), signal)
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(ofAccounts(9, [9]))
    expect(await publisher.enforced(signal)).toMatchObject({ all: 1, behind: 1, revision: 0 })

    await expect(publisher.publish(ofAccounts(6, FEW), signal)).rejects.toThrow('revision 6 is not newer than 9')
    expect(await publisher.repair(signal)).toBe(true)
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(ofAccounts(10, FEW))
    expect(await publisher.enforced(signal)).toMatchObject({ behind: 0, revision: 10 })
    await expect(late.enforced(signal)).rejects.toThrow(Fenced)
    await expect(late.repair(signal)).rejects.toThrow(Fenced)
  })

  test('does one thing after the other, and nothing that nobody waits for any more', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    const gone = new AbortController()
    const all = [1, 2, 3, 4, 5, 6].map((revision) => publisher.publish(ofAccounts(revision, [revision]), signal))
    const abandoned = publisher.publish(ofAccounts(7, ALL), gone.signal)
    const repaired = publisher.repair(signal)
    const last = publisher.publish(ofAccounts(8, FEW), signal)
    gone.abort(new Error('nobody waits'))
    await expect(abandoned).rejects.toThrow('nobody waits')
    await Promise.all([...all, last])
    expect(await repaired).toBe(false)
    await using reader = await aReader(connection)
    expect(reader.current()).toStrictEqual(ofAccounts(8, FEW))
    expect(publisher.revision()).toBe(8)
  })

  test('knows as settings what others have published, and tells what of it is damaged', async ({ signal }) => {
    await using connection = await redis.emptied()
    const damaged: string[] = []
    const onDamage = (kind: string, name: string) => damaged.push(`${kind} ${name}`)
    const first = await aPublisher(connection)
    expect(first.published(onDamage)).toStrictEqual(ofAccounts(0, []))
    const snapshot = ofAccounts(3, [...FEW, LARGE])
    await first.publish(snapshot, signal)
    const second = await aPublisher(connection)
    expect(second.published(onDamage)).toStrictEqual(snapshot)
    expect(second.differences(second.published(onDamage))).toEqual([])
    expect(damaged).toEqual([])

    await connection.call((client) => client.hset('platen:{directory}:tenants', { 'tenant-2': '{}' }), signal)
    await connection.call((client) => client.hset('platen:{directory}:keys', { stray: 'x' }), signal)
    const third = await aPublisher(connection)
    const { tenants, keys, templates } = third.published(onDamage)
    expect([...tenants.keys()].sort()).toEqual(['tenant-1', 'tenant-1000', 'tenant-3'])
    expect({ keys, templates }).toStrictEqual({ keys: snapshot.keys, templates: snapshot.templates })
    expect(damaged.sort()).toEqual(['keys stray', 'tenants tenant-2'])
    await third.publish({ ...snapshot, revision: 4 }, signal)
    expect(third.published(onDamage)).toStrictEqual({ ...snapshot, revision: 4 })
  })

  test('goes above the epoch that Redis knows, and below it none publishes', async ({ signal }) => {
    await using connection = await redis.emptied()
    expect(await readEpoch(connection, signal)).toBe(0)
    await aPublisher(connection, 7)
    expect(await readEpoch(connection, signal)).toBe(7)
    await expect(aPublisher(connection, 6)).rejects.toThrow(Fenced)
    expect((await aPublisher(connection)).epoch).toBe(8)
    await connection.call((client) => client.hset(META, { epoch: 'damaged' }), signal)
    expect(await readEpoch(connection, signal)).toBe(0)
  })
})

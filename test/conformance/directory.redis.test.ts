/** Tests the directory in Redis beyond its port: many readers, publishers that die or are late, and a Redis that loses data. */
import { randomInt } from 'node:crypto'
import { DIRECTORY_REGRESSION_MS, openCopy } from '@platen/adapters/redis/directory/copy.ts'
import { readDeltas, readMeta } from '@platen/adapters/redis/directory/layout.ts'
import { DIRECTORY_CHANGES_KEPT_MAX, Fenced } from '@platen/adapters/redis/directory/publish/write.ts'
import type { RedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { EMPTY } from '@platen/adapters/redis/directory/snapshot-builder.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { FORMAT } from '@platen/contract/domain/format.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import { NOON } from '../fixture/build.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { IS_LONG } from '../run/form.ts'
import {
  type Accounts,
  anAccount,
  aPublisher,
  aReader,
  aSnapshot,
  atCall,
  behind,
  changedAtRandom,
  dyingAt,
  gate,
  LARGE,
  ofAccounts,
  recordingLog,
} from './directory-harness.ts'
import { describeOnRedis } from './redis-harness.ts'

/** More than one delta can contain: by number of accounts, and by their size. */
const MANY = Array.from({ length: 600 }, (_, i) => i)
const ALL = Array.from({ length: 12 }, (_, i) => LARGE + i)
const FEW = [1, 2, 3]

/** Random changes, and revisions that others read meanwhile. A multiple of six, because the revisions repeat with this period. */
const CHANGES = IS_LONG ? 500 : 100
const REVISIONS = IS_LONG ? 60 : 18

const META = 'platen:{directory}:meta'

describeOnRedis('the directory in Redis', (redis) => {
  test.for([
    ['a small change', [1, 2, 4]],
    ['all that there is', ALL],
  ] as const)('is of one revision whenever who publishes %s dies', async ([, accounts], { signal }) => {
    await using connection = await redis.emptied()
    const before = ofAccounts(1, FEW)
    const after = ofAccounts(2, accounts)
    await (await aPublisher(connection)).publish(before, signal)
    await using reader = await aReader(connection)
    let isPublished = false
    for (let calls = 0; !isPublished; calls++) {
      isPublished = await aPublisher(dyingAt(connection, calls))
        .then((publisher) => publisher.publish(after, signal))
        .then(() => true, isDead)
      await reader.refresh(signal)
      await using newcomer = await aReader(connection)
      expect(newcomer.current()).toStrictEqual(isPublished ? after : before)
      expect(reader.current()).toStrictEqual(isPublished ? after : before)
    }
  })

  test('is written by whoever took over last, and by nobody before', async ({ signal }) => {
    await using connection = await redis.emptied()
    const [one, two] = [await aPublisher(connection), await aPublisher(connection)]
    expect(two.epoch).toBe(one.epoch + 1)
    await expect(one.publish(ofAccounts(1, ALL), signal)).rejects.toThrow(Fenced)
    await two.publish(ofAccounts(1, FEW), signal)
    await expect(one.publish(ofAccounts(2, FEW), signal)).rejects.toThrow('its epoch is 2')
    await expect(aPublisher(connection, 1)).rejects.toThrow(Fenced)
    const three = await aPublisher(connection, 7)
    expect([three.epoch, three.revision()]).toEqual([7, 1])
    await expect(two.publish(ofAccounts(2, FEW), signal)).rejects.toThrow(Fenced)
    await three.publish(ofAccounts(2, FEW), signal)

    await connection.call((client) => client.flushall(), signal)
    expect(await three.repair(signal)).toBe(true)
    await expect(two.publish(ofAccounts(9, FEW), signal)).rejects.toThrow(Fenced)
    await using reader = await aReader(connection)
    expect(reader.current()).toStrictEqual(ofAccounts(2, FEW))
  })

  test.for([
    ['a small change', FEW],
    ['all that there is', ALL],
  ] as const)('refuses to write %s whenever the right to was lost before', async ([, accounts], { signal }) => {
    await using connection = await redis.emptied()
    const before = ofAccounts(1, [1, 2])
    await (await aPublisher(connection)).publish(before, signal)
    // The first calls read the format, and take the right to publish.
    for (let calls = 2, isOvertaken = true; isOvertaken; calls++) {
      isOvertaken = false
      const overtaken = atCall(connection, calls, async () => {
        isOvertaken = true
        await aPublisher(connection)
      })
      const outcome = await aPublisher(overtaken)
        .then((publisher) => publisher.publish(ofAccounts(2, accounts), signal))
        .catch((error: unknown) => error)
      if (isOvertaken) expect(outcome).toBeInstanceOf(Fenced)
      await using reader = await aReader(connection)
      expect(reader.current()).toStrictEqual(isOvertaken ? before : ofAccounts(2, accounts))
    }
  })

  test('is whole where Redis was emptied while it was published', async ({ signal }) => {
    await using connection = await redis.emptied()
    const snapshot = ofAccounts(1, ALL)
    let isEmptied = true
    for (let calls = 0; isEmptied; calls++) {
      isEmptied = false
      await connection.call((client) => client.flushall(), signal)
      const emptied = atCall(connection, calls, async () => {
        isEmptied = true
        await connection.call((client) => client.flushall(), signal)
      })
      const publisher = await aPublisher(emptied)
      await publisher.publish(snapshot, signal)
      await using reader = await aReader(connection)
      expect(reader.current()).toStrictEqual(snapshot)
    }
  })

  test.for(['is emptied', 'gets a small change', 'gets all anew'] as const)(
    'is whole to who loads it while Redis %s',
    async (what, { signal }) => {
      await using connection = await redis.emptied()
      const first = ofAccounts(1, MANY)
      const second = ofAccounts(2, what === 'gets all anew' ? ALL : [...MANY, 700])
      for (let calls = 0, hasHappened = true; hasHappened; calls += 3) {
        hasHappened = false
        await connection.call((client) => client.flushall(), signal)
        const publisher = await aPublisher(connection)
        await publisher.publish(first, signal)
        const disturbed = atCall(connection, calls, async () => {
          hasHappened = true
          if (what === 'is emptied') await connection.call((client) => client.flushall(), signal)
          else await publisher.publish(second, signal)
        })
        const copy = openCopy({ redis: disturbed, clock: systemClock(), log: recordingLog() })
        await copy.update(await readMeta(disturbed, signal), signal)
        const expected = [EMPTY, first, second].filter(({ revision }) => revision === copy.snapshot().revision)
        expect([copy.snapshot()]).toStrictEqual(expected)
      }
    },
  )

  test('takes no step that does not follow on what is held', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    const copy = openCopy({ redis: connection, clock: systemClock(), log: recordingLog() })
    await publisher.publish(ofAccounts(1, [1]), signal)
    await copy.update(await readMeta(connection, signal), signal)
    const place = copy.revision()?.entry ?? ''
    for (const revision of [2, 3]) await publisher.publish(ofAccounts(revision, [revision]), signal)
    const [second, third] = await readDeltas(connection, place, signal)
    if (second === undefined || third === undefined) throw new Error('two steps were made')
    copy.apply([third])
    expect(copy.snapshot()).toStrictEqual(ofAccounts(1, [1]))
    copy.apply([second, second, third, second])
    expect(copy.snapshot()).toStrictEqual(ofAccounts(3, [3]))
  })

  test('is loaded again by who has missed more than is kept', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    await publisher.publish(ofAccounts(1, FEW), signal)
    const held = gate()
    await using reader = await aReader(behind(connection, held))
    held.close()
    const last = DIRECTORY_CHANGES_KEPT_MAX + 3
    for (let revision = 2; revision <= last; revision++)
      await publisher.publish(ofAccounts(revision, [revision]), signal)
    const kept = await connection.call((client) => client.xlen('platen:{directory}:log'), signal)
    expect(kept).toBe(DIRECTORY_CHANGES_KEPT_MAX)
    held.open()
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(ofAccounts(last, [last]))
  })

  test('stays in force where Redis has lost it, and is there again when it is mended', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    const snapshot = ofAccounts(3, FEW)
    await publisher.publish(snapshot, signal)
    await using reader = await aReader(connection)
    expect(await publisher.repair(signal)).toBe(false)

    await connection.call((client) => client.flushall(), signal)
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(snapshot)
    expect(reader.state()).toMatchObject({
      isReady: true,
      isConnected: true,
      reason: 'nothing is published',
      revision: 3,
    })
    await using newcomer = await aReader(connection)
    expect(newcomer.state()).toMatchObject({ isReady: false, reason: 'nothing is published', revision: 0 })

    expect(await publisher.repair(signal)).toBe(true)
    for (const each of [reader, newcomer]) {
      await each.refresh(signal)
      expect(each.current()).toStrictEqual(snapshot)
      expect(each.state()).toMatchObject({ isReady: true, isConnected: true, revision: 3 })
      expect(each.state()).not.toHaveProperty('reason')
    }
  })

  test('takes a lower revision for that of a replica that lagged, until it has stood for a while', async ({
    signal,
  }) => {
    await using connection = await redis.emptied()
    await (await aPublisher(connection)).publish(ofAccounts(7, FEW), signal)
    const clock = manualClock(NOON)
    await using reader = await aReader(connection, { clock })
    await connection.call((client) => client.flushall(), signal)
    await (await aPublisher(connection)).publish(ofAccounts(1, [9]), signal)
    await reader.refresh(signal)
    await clock.advance(DIRECTORY_REGRESSION_MS - 1)
    await reader.refresh(signal)
    expect(reader.current().revision).toBe(7)
    expect(reader.state().reason).toBe('revision 1 is published, but this process already knows 7')
    await clock.advance(1)
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual(ofAccounts(1, [9]))
  })

  test('says which of its readers enforce the last revision, and waits for none that only follows or has gone', async ({
    signal,
  }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    expect(await publisher.readers(signal)).toEqual({ all: 0, enforcing: 0 })
    const slow = gate()
    const readers = [
      await aReader(connection, { reader: 'one' }),
      await aReader(connection, { reader: 'two' }),
      await aReader(behind(connection, slow), { reader: 'slow' }),
    ]
    await using _follower = await aReader(connection)
    expect(await publisher.readers(signal)).toEqual({ all: 3, enforcing: 0 })
    slow.close()
    await publisher.publish(ofAccounts(1, FEW), signal)
    await Promise.all(readers.slice(0, 2).map((reader) => reader.refresh(signal)))
    expect(await publisher.readers(signal)).toEqual({ all: 3, enforcing: 2 })
    expect(readers.map((reader) => reader.current().revision)).toEqual([1, 1, 0])
    expect(readers.map((reader) => reader.readers())).toEqual([3, 3, expect.any(Number)])
    slow.open()
    await readers[2]?.refresh(signal)
    expect(await publisher.readers(signal)).toEqual({ all: 3, enforcing: 3 })
    await Promise.all(readers.map((reader) => reader[Symbol.asyncDispose]()))
    expect(await publisher.readers(signal)).toEqual({ all: 0, enforcing: 0 })
  })

  test.for([
    ['no JSON', '{"account":'],
    ['no object', '[]'],
    ['of another shape', '{"account":"i","suspended":false,"limits":[],"storage":{"bucket":"b","prefix":"p"}}'],
  ])('serves the last good of a value that is %s, and all others', async ([, text], { signal }) => {
    await using connection = await redis.emptied()
    const snapshot = ofAccounts(1, FEW)
    await (await aPublisher(connection)).publish(snapshot, signal)
    const log = recordingLog()
    await using reader = await aReader(connection, { log })
    const damage = async () => {
      await connection.call((client) => client.hset('platen:{directory}:tenants', { 'tenant-2': text }), signal)
      // As if everything had been published again.
      await connection.call((client) => client.hset(META, { mark: randomInt(1e9), revision: 2 }), signal)
      await connection.call((client) => client.del('platen:{directory}:log'), signal)
    }
    await damage()
    await reader.refresh(signal)
    await damage()
    await reader.refresh(signal)
    expect(reader.current()).toStrictEqual({ ...snapshot, revision: 2 })
    expect(reader.state().damaged).toBe(2)
    const errors = log.lines.filter(({ level }) => level === 'error')
    expect(errors.map(({ fields }) => fields)).toEqual([{ kind: 'tenants', name: 'tenant-2' }])

    await using newcomer = await aReader(connection)
    expect([...newcomer.current().tenants.keys()].toSorted()).toEqual(['tenant-1', 'tenant-3'])
    expect(newcomer.state()).toMatchObject({ isReady: true, damaged: 1 })
    await (await aPublisher(connection)).publish({ ...snapshot, revision: 3 }, signal)
    await newcomer.refresh(signal)
    expect(newcomer.current()).toStrictEqual({ ...snapshot, revision: 3 })
  })

  test('is not read where a newer version has written it', async ({ signal }) => {
    await using connection = await redis.emptied()
    await (await aPublisher(connection)).publish(ofAccounts(1, FEW), signal)
    await connection.call((client) => client.hset(META, { schema: FORMAT + 1 }), signal)
    await using reader = await aReader(connection)
    const reason = `the published settings cannot be read: it is of format ${FORMAT + 1}, and this version reads formats up to ${FORMAT}`
    expect(reader.state()).toMatchObject({ isReady: false, isConnected: true, reason })
  })

  test('is never seen in part, by those who follow nor by those who begin', async ({ signal }) => {
    await using connection = await redis.emptied()
    const publisher = await aPublisher(connection)
    // Even revisions suspend every tenant. Every third revision has so many changes that it replaces everything.
    const at = (revision: number): DirectorySnapshot => {
      const { tenants, ...rest } = ofAccounts(revision, revision % 3 === 0 ? MANY : FEW)
      const changed = [...tenants].map(([id, tenant]) => [id, { ...tenant, suspended: revision % 2 === 0 }] as const)
      return { ...rest, tenants: new Map(changed) }
    }
    await publisher.publish(at(1), signal)
    await using follower = await aReader(connection)
    const over = new AbortController()
    const beginAndLook = async () => {
      let begun = 0
      for (; !over.signal.aborted; begun++) {
        await using beginner = await aReader(connection)
        // A reader that has seen only replacements has no data yet, and reports that.
        if (beginner.state().isReady) expect(beginner.current()).toStrictEqual(at(beginner.current().revision))
      }
      return begun
    }
    const looking = beginAndLook()
    for (let revision = 2; revision <= REVISIONS; revision++) {
      await publisher.publish(at(revision), signal)
      expect(follower.current()).toStrictEqual(at(follower.current().revision))
    }
    over.abort()
    expect(await looking).toBeGreaterThan(1)
    await follower.refresh(signal)
    expect(follower.current()).toStrictEqual(at(REVISIONS))
  })

  test(`is the same to every reader after each of ${CHANGES} random changes`, async ({ signal }) => {
    await using connection = await redis.emptied()
    await using stack = new AsyncDisposableStack()
    const publisher = await aPublisher(connection)
    const readers = await Promise.all(['one', 'two', 'three'].map((reader) => aReader(connection, { reader })))
    for (const reader of readers) stack.use(reader)
    let accounts: Accounts = new Map(FEW.map((number) => [number, anAccount(number)]))
    for (let revision = 1; revision <= CHANGES; revision++) {
      accounts = changedAtRandom(accounts)
      const all = [...accounts.values()]
      const snapshot = aSnapshot(revision, {
        tenants: all.map(({ tenant }) => tenant),
        keys: all.filter((_, i) => i % 3 > 0).map(({ key }) => key),
        templates: all.map(({ template }) => template),
      })
      await publisher.publish(snapshot, signal)
      await enforced(publisher, signal)
      for (const reader of readers) expect(reader.current()).toStrictEqual(snapshot)
    }
    expect(readers.map((reader) => reader.state().damaged)).toEqual([0, 0, 0])
  })

  test('stands in one hash slot of a Cluster', async ({ signal }) => {
    await using connection = await redis.emptied()
    // The limits of the accounts come first, with two calls each.
    const dying = await aPublisher(dyingAt(connection, 2 * ALL.length + 6))
    await expect(dying.publish(ofAccounts(1, ALL), signal)).rejects.toThrow(Unavailable)
    const staged = await connection.call((client) => client.keys('*:staged:*'), signal)
    expect(staged.length).toBeGreaterThan(0)
    for (const key of staged) expect(await connection.call((client) => client.pttl(key), signal)).toBeGreaterThan(0)
    await using _reader = await aReader(connection, { reader: 'one' })
    await (await aPublisher(connection)).publish(ofAccounts(1, FEW), signal)
    const keys = await connection.call((client) => client.keys('platen:{directory}*'), signal)
    expect(keys.length).toBeGreaterThanOrEqual(6)
    expect(keys.filter((key) => !key.startsWith('platen:{directory}:'))).toEqual([])
    for (const key of keys.filter((name) => /:(tenants|keys|templates)$/.test(name) && !staged.includes(name)))
      expect(await connection.call((client) => client.pttl(key), signal)).toBe(-1)
  })
})

function isDead(error: unknown): false {
  expect(error).toBeInstanceOf(Unavailable)
  return false
}

/** Resolves when every reader has reported that it enforces the last published revision. */
async function enforced(publisher: RedisPublisher, signal: AbortSignal): Promise<void> {
  for (;;) {
    const { all, enforcing } = await publisher.readers(signal)
    if (all === enforcing) return
  }
}

/**
 * Tests that the embedded database keeps its data when its process is killed or its disk is damaged, and that only one process can open it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DATABASE_CALLS_MAX, type Database, openDatabase } from '@platen/adapters/sqlite/database.ts'
import { sqliteEventLog } from '@platen/adapters/sqlite/event-log.ts'
import { openSqliteLimiter } from '@platen/adapters/sqlite/limiter.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aManifest, anEvent, aRecord } from '../fixture/build.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { all } from './harness.ts'

let folder: string
let path: string
const children: ChildProcess[] = []

beforeEach(() => {
  folder = aFolder()
  path = join(folder, 'platen.db')
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})

test('a process killed at any moment loses no render it has answered for', { timeout: 60_000 }, async ({ signal }) => {
  const printed: string[] = []
  // Each process is killed after a different number of answers, on the data that the earlier ones left.
  for (const answers of [1, 2, 17, 90, 333]) printed.push(...(await actUntilKilled('enqueue', answers, signal)))

  await using database = await openDatabase({ path, signal })
  await using consumer = await sqliteRenderQueue(database).consume('react_pdf', signal)
  const missing = new Set(printed)
  while (missing.size > 0) {
    const delivery = consumer.poll('async')
    if (delivery === undefined) await consumer.waitForRecord(signal)
    else missing.delete(delivery.record.id)
  }
  expect(printed.length).toBeGreaterThanOrEqual(1 + 2 + 17 + 90 + 333)
})

test('a process killed at any moment has charged every render it has answered for, and none twice', {
  timeout: 60_000,
}, async ({ signal }) => {
  const printed: string[] = []
  for (const answers of [1, 2, 17, 90, 333]) printed.push(...(await actUntilKilled('charge', answers, signal)))

  await using database = await openDatabase({ path, signal })
  const limiter = await openSqliteLimiter(database, manualClock(), signal)
  const { account, period } = aRecord()
  const before = await limiter.usage(account, period, signal)
  const [rows] = await database.run([{ sql: 'SELECT count(*) AS count FROM charge' }])
  expect(before).toStrictEqual({ charged: rows?.[0]?.['count'], reserved: 0 })
  expect(before.charged).toBeGreaterThanOrEqual(printed.length)
  // Nobody knows how far a killed process came, so its renders are charged again. It printed the ids of its records.
  const again = printed.map((id) => aManifest({ record: aRecord({ id: id as RenderId }) }))
  await Promise.all(again.map((manifest) => limiter.complete(manifest, signal)))
  expect(await limiter.usage(account, period, signal)).toStrictEqual(before)
})

test('a second process is refused while one has the database, and admitted when that one is killed', async ({
  signal,
}) => {
  const { child, lines } = start()
  await lines.next()
  await expect(openDatabase({ path, signal })).rejects.toMatchObject({ name: 'DataFolderLocked' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  await using database = await openDatabase({ path, signal })
  expect(database.failed.aborted).toBe(false)
})

test('a broken file ends the database: it says so, and every call is Unavailable from then on', async ({ signal }) => {
  await fillWithEvents(signal)
  await overwrite(path, 32 * 4096)
  await using database = await openDatabase({ path, signal })
  const log = sqliteEventLog(database)
  // Reading fails at the damaged part, and so does the reader that waits at that moment.
  await expect(all(log.follow('webhooks', signal))).rejects.toThrow(Unavailable)
  expect(database.failed.aborted).toBe(true)
  await expect(log.append(anEvent(), signal)).rejects.toThrow(Unavailable)
  await expect(sqliteRenderQueue(database).enqueue(aRecord(), signal)).rejects.toThrow(Unavailable)
})

test('closing does what was asked before, and is the end', async ({ signal }) => {
  const first = await openDatabase({ path, signal })
  const records = Array.from({ length: 300 }, () => aRecord())
  const queue = sqliteRenderQueue(first)
  const enqueued = Promise.all(records.map((record) => queue.enqueue(record, signal)))
  await first[Symbol.asyncDispose]()
  await first[Symbol.asyncDispose]()
  await enqueued
  await expect(queue.enqueue(aRecord(), signal)).rejects.toThrow('the database is closed')
  expect(first.failed.aborted).toBe(false)
  await using second = await openDatabase({ path, signal })
  expect(await countQueued(second)).toBe(300)
})

test('refuses at once what is beyond the calls that may wait, and keeps the others', async ({ signal }) => {
  await using database = await openDatabase({ path, signal })
  const queue = sqliteRenderQueue(database)
  const records = Array.from({ length: DATABASE_CALLS_MAX + 5 }, () => aRecord())
  const outcomes = await Promise.allSettled(records.map((record) => queue.enqueue(record, signal)))
  const refused = outcomes.filter(({ status }) => status === 'rejected')
  expect(refused).toHaveLength(5)
  expect(refused[0]).toMatchObject({
    reason: { name: 'Unavailable', message: '10000 calls to the database are pending already' },
  })
  expect(await countQueued(database)).toBe(DATABASE_CALLS_MAX)
})

test('a database that cannot be opened is Unavailable', async ({ signal }) => {
  await expect(openDatabase({ path: join(folder, 'missing', 'platen.db'), signal })).rejects.toThrow(Unavailable)
  await overwrite(path, 0)
  await expect(openDatabase({ path, signal })).rejects.toThrow('cannot be opened')
})

/** Creates a database of some megabytes. */
async function fillWithEvents(signal: AbortSignal): Promise<void> {
  await using database = await openDatabase({ path, signal })
  const log = sqliteEventLog(database)
  await Promise.all(Array.from({ length: 2000 }, () => log.append(anEvent(), signal)))
}

/** Overwrites a file with random bytes from an offset on. */
async function overwrite(file: string, from: number): Promise<void> {
  await using handle = await open(file, 'a+').then(async (made) => {
    await made.close()
    return open(file, 'r+')
  })
  const { size } = await handle.stat()
  await handle.write(Buffer.alloc(Math.max(4096, size - from), 0x5a), 0, undefined, from)
}

async function countQueued(database: Database): Promise<unknown> {
  const [rows] = await database.run([{ sql: 'SELECT count(*) AS count FROM queue' }])
  return rows?.[0]?.['count']
}

type Deed = 'enqueue' | 'charge'

/** Runs a process until it has printed this many ids, kills it, and returns all printed ids. */
async function actUntilKilled(deed: Deed, answers: number, signal: AbortSignal): Promise<string[]> {
  const { child, lines } = start(deed)
  const exit = once(child, 'exit')
  const ids: string[] = []
  for await (const line of lines) {
    signal.throwIfAborted()
    // The kill may have cut off the last line.
    if (line.length === 26) ids.push(line)
    if (ids.length === answers) child.kill('SIGKILL')
  }
  expect(await exit).toStrictEqual([null, 'SIGKILL'])
  return ids
}

function start(deed: Deed = 'enqueue'): { child: ChildProcess; lines: AsyncIterableIterator<string> } {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'crash.child.ts'), path, deed], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
}

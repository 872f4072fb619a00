/**
 * A process that works on the given database until it is killed: it appends to the queue, or charges renders. It prints the id of each
 * operation that has completed.
 */
import assert from 'node:assert/strict'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { openSqliteLimiter } from '@platen/adapters/sqlite/limiter.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import { aManifest, aRecord } from '../fixture/build.ts'

const [, , path = '', deed] = process.argv
const { signal } = new AbortController()
const database = await openDatabase({ path, signal })
const queue = sqliteRenderQueue(database)
const limiter = await openSqliteLimiter(database, systemClock(), signal)
const deeds: Record<string, (record: RenderRecord) => Promise<void>> = {
  enqueue: (record) => queue.enqueue(record, signal),
  charge: (record) => limiter.complete(aManifest({ record }), signal),
}
const act = deeds[deed ?? ''] ?? assert.fail('it is told what to do')

async function repeat(): Promise<never> {
  for (;;) {
    const record = aRecord()
    await act(record)
    // A synchronous write to a pipe without a reader blocks here. Otherwise the process would end with EAGAIN and release the lock.
    process.stdout.write(`${record.id}\n`)
  }
}

await Promise.all(Array.from({ length: 8 }, repeat))

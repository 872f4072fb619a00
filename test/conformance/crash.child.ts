/** A process that appends to the queue in the database it is told, and prints every id once `enqueue` has resolved, until it is killed. */
import { writeSync } from 'node:fs'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { aRecord } from '../fixture/build.ts'

const [, , path = ''] = process.argv
const { signal } = new AbortController()
const queue = sqliteRenderQueue(await openDatabase({ path, signal }))

async function append(): Promise<never> {
  for (;;) {
    const record = aRecord()
    await queue.enqueue(record, signal)
    writeSync(1, `${record.id}\n`)
  }
}

await Promise.all(Array.from({ length: 8 }, append))

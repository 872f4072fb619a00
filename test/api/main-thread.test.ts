/** How much of a tenant's data the main thread parses and writes, between the body of a request and the engine: next to nothing. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '@platen/adapters/sqlite/database.ts'
import { sqliteRenderQueue } from '@platen/adapters/sqlite/render-queue.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openBodyChecks } from '@platen/api/body/check/body-checks.ts'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { RenderQueue } from '@platen/contract/port/render-queue.ts'
import { type Batch, encodeItem, rendersOf } from '@platen/contract/stored/batch.ts'
import { inlineData, recordOfText, splitRecord, textOfRecord } from '@platen/contract/stored/record-text.ts'
import { renderRecordCodec } from '@platen/contract/stored/render-record.ts'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { anApi, LIVE_KEY } from '../fixture/api.ts'
import { aRecord, aTemplate, NEVER } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'

const KIB = 1024
/** What labels, records and answers of one render may have. */
const OWN_CHARS_MAX = 6 * KIB

afterEach(() => vi.restoreAllMocks())

/** Counts the characters that JSON.parse and JSON.stringify get and give in this thread. */
function countJson(): { readonly chars: () => number } {
  let chars = 0
  const { parse, stringify } = JSON
  vi.spyOn(JSON, 'parse').mockImplementation((text, ...more) => {
    chars += text.length
    return parse(text, ...more)
  })
  vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown, ...more: []) => {
    const text = stringify(value, ...more)
    chars += text?.length ?? 0
    return text
  })
  return { chars: () => chars }
}

async function anApiOnDisk() {
  const folder = await mkdtemp(join(tmpdir(), 'platen-main-thread-'))
  const database = await openDatabase({ path: join(folder, 'platen.db'), signal: NEVER })
  const clock = systemClock()
  const checks = openBodyChecks(clock)
  onTestFinished(async () => {
    await checks[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })
  const artifacts = memoryArtifactStore()
  const queue = sqliteRenderQueue(database)
  return {
    ...anApi({ ports: { clock, checks, artifacts, queue }, templates: [aTemplate()] }),
    queue,
    artifacts,
    database,
  }
}

async function taken(queue: RenderQueue, count: number): Promise<readonly RenderRecord[]> {
  await using consumer = await queue.consume('react_pdf', NEVER)
  const records: RenderRecord[] = []
  while (records.length < count) {
    await consumer.waitForRecord(NEVER)
    for (const lane of ['async', 'bulk'] as const) {
      for (let next = consumer.poll(lane); next !== undefined; next = consumer.poll(lane)) {
        records.push(next.record)
        await next.done(NEVER)
      }
    }
  }
  return records
}

/** JSON that costs much to parse for its length. */
const dataOf = (bytes: number) => `{"a":[${'{},'.repeat(Math.ceil(bytes / 3))}0]}`

test.for<[name: string, path: string, items: number, body: (data: string, items: number) => string]>([
  ['a render of 150 KiB', 'render', 1, (data) => `{"template":"invoice","mode":"async","data":${data}}`],
  ['a render of 1 MiB', 'render', 1, (data) => `{"template":"invoice","mode":"async","data":${data}}`],
  ['a batch of 150 KiB each', 'batches', 40, (data, items) => aBatchOf(data, items)],
  ['a batch of 1 MiB each', 'batches', 8, (data, items) => aBatchOf(data, items)],
])('%s leaves its data to other threads, and the engine gets all of it', async ([name, path, items, body]) => {
  const api = await anApiOnDisk()
  const data = dataOf(name.includes('MiB') ? KIB * KIB : 150 * KIB)
  const payload = body(data, items)
  const counted = countJson()
  const { statusCode } = await api.app.inject({
    method: 'POST',
    url: `/api/v1/${path}`,
    headers: { authorization: `Bearer ${LIVE_KEY}`, 'content-type': 'application/json' },
    payload,
  })
  // A process that starts reads all of them from the database.
  const records = await taken(sqliteRenderQueue(api.database), items)
  const chars = counted.chars()
  vi.restoreAllMocks()
  expect([statusCode, records.length]).toEqual([202, items])
  expect(chars).toBeLessThan(items * OWN_CHARS_MAX)
  for (const record of records) expect(await dataText(api.artifacts, record)).toBe(data)
})

function aBatchOf(data: string, items: number): string {
  return `{"template":"invoice","items":[${Array.from({ length: items }, () => `{"data":${data}}`).join()}]}`
}

async function dataText(artifacts: Pick<ArtifactStore, 'get'>, { data }: RenderRecord): Promise<string> {
  if ('inline' in data) return JSON.stringify(data.inline)
  if ('text' in data) return data.text
  return Buffer.from((await artifacts.get(data.stored, NEVER)) ?? []).toString()
}

/** Labels and data that look like the text around them. */
const LURES = [',"data":{', ',"data":{"inline":{', '}}', '\\', '"', '\n', '"data":', '"data":{', '\u2028', '🧾']
const LURING = Object.fromEntries(LURES.map((lure, at) => [`${lure}${at}`, lure]))

test.for([1, 2 * KIB, 20 * KIB])(
  'a record and an item come back with data of %d bytes and labels like theirs',
  (bytes) => {
    const json = JSON.stringify({ ...LURING, a: 'x'.repeat(bytes), data: { inline: LURING, data: {} } })
    const labels = { reference: LURES.join(''), metadata: { ...LURING, data: LURES.join('') } }
    const record = aRecord({
      ...labels,
      data: inlineData(Buffer.from(json)),
      options: { filename: ',"data":{"inline":{}}' },
    })
    const plain = { ...record, data: { inline: JSON.parse(json) } }
    expect(JSON.parse(textOfRecord(record))).toEqual(plain)
    expect(plainOf(recordOfText(textOfRecord(record)))).toEqual(plain)
    expect(plainOf(recordOfText(JSON.stringify(plain)))).toEqual(plain)
    const { data: _data, ...withoutData } = plain
    const { encode, decode } = renderRecordCodec()
    for (const text of [encode(record), JSON.stringify(plain), JSON.stringify({ data: plain.data, ...withoutData })]) {
      const decoded = decode('1', Buffer.from(text))
      expect('value' in decoded ? plainOf(decoded.value) : decoded).toEqual(plain)
    }
    const item = { ...labels, filename: ',"data":{', data: JSON.parse(json) }
    const batch = { renders: ['a', 'b'], options: {}, storage: { bucket: 'a', prefix: '' } } as unknown as Batch
    const items = Buffer.concat([encodeItem(item), encodeItem({ data: item.data })])
    const [full, bare] = [...rendersOf(batch, items)].map((each) => plainOf(each.record))
    expect(full).toMatchObject({ ...labels, options: { filename: item.filename }, data: plain.data })
    expect(bare).toMatchObject({ options: {}, data: plain.data })
  },
)

test('a record whose end is cut off is none', () => {
  const text = textOfRecord(aRecord({ data: inlineData(Buffer.from(dataOf(20 * KIB))) }))
  const { decode } = renderRecordCodec()
  expect(decode('1', Buffer.from(text.slice(0, -1)))).toEqual({ fault: 'it is not JSON' })
  expect(splitRecord(text.slice(0, -3))).toBeUndefined()
})

function plainOf(record: RenderRecord): RenderRecord {
  return 'text' in record.data ? { ...record, data: { inline: JSON.parse(record.data.text) } } : record
}

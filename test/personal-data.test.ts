/** Holds docs/personal-data.md against the code: no place where the service stores something is missing there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { webhookTopics } from '@platen/adapters/kafka/delivery/topic.ts'
import { KAFKA_EVENTS_KEPT_MS, REQUESTS_KEPT } from '@platen/adapters/kafka/limit.ts'
import { renderTopics } from '@platen/adapters/kafka/topic.ts'
import { ERASURE_PREFIX, LISTED_ERASURE_PREFIX } from '@platen/contract/domain/erasure.ts'
import { DEAD_LETTERS_KEPT_MS, ERASED_KEPT_DAYS } from '@platen/contract/domain/limit.ts'
import { LANES, MANIFEST_PREFIX } from '@platen/contract/domain/render.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import { BATCH_PREFIX } from '@platen/contract/stored/batch.ts'
import { EXPIRY_PREFIX } from '@platen/contract/stored/expiry.ts'
import { IDEMPOTENCY_PREFIX } from '@platen/contract/stored/idempotency.ts'
import { EVENTS_KEPT_MS } from '@platen/embedded/store/limit.ts'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '..')
const DAY_MS = 24 * 60 * 60 * 1000
const page = readFileSync(join(ROOT, 'docs/personal-data.md'), 'utf8')
const rows = page.split('\n').filter((line) => line.startsWith('| '))
/** The rows that name a place, in backticks. */
const rowsOf = (place: string) => rows.filter((row) => row.includes(`\`${place}\``))

test('names every topic', () => {
  const topics = [...renderTopics({ prefix: '' }, []), ...webhookTopics({ prefix: '' })].map(({ name }) => name)
  const lanes = ENGINES.flatMap((engine) => LANES.map((lane) => `render.${engine}.${lane}`))
  const places = topics.map((topic) => {
    if (lanes.includes(topic)) return 'render.<engine>.<lane>'
    return topic.startsWith('webhook.wait.') ? 'webhook.wait.*' : topic
  })
  expect(places.filter((place) => rowsOf(place).length === 0)).toEqual([])
})

test('names every prefix of the service in S3', () => {
  const prefixes = [
    MANIFEST_PREFIX,
    EXPIRY_PREFIX,
    ERASURE_PREFIX,
    LISTED_ERASURE_PREFIX,
    IDEMPOTENCY_PREFIX,
    BATCH_PREFIX,
    'delivery/',
  ]
  expect(prefixes.filter((prefix) => rowsOf(prefix).length === 0)).toEqual([])
})

test('names every table with something of a render', () => {
  const folder = join(ROOT, 'adapters/src/sqlite/migrations')
  const text = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  const tables = new Set([...text.join('\n').matchAll(/CREATE TABLE (\w+)/g)].map(([, name = '']) => name))
  // The positions of readers, and sums that name no render.
  for (const other of ['event_reader', 'charge_sum']) tables.delete(other)
  expect([...tables].filter((name) => rowsOf(name).length === 0)).toEqual([])
})

test.for([
  ['render.events', KAFKA_EVENTS_KEPT_MS],
  ['render.dead', DEAD_LETTERS_KEPT_MS],
  ['dead_letter', DEAD_LETTERS_KEPT_MS],
  ['event', EVENTS_KEPT_MS],
] as const)('says how many days %s lasts', ([place, keptMs]) => {
  expect(rowsOf(place).join('\n')).toContain(`${keptMs / DAY_MS} days`)
})

test('says how long a tombstone stays', () => {
  expect(ERASED_KEPT_DAYS).toBe(8)
  expect(rowsOf('manifest/').join('\n')).toContain('eight days')
})

test('an erasure names every topic with something of a request, and until when', () => {
  const kept = rows.filter((row) => row.startsWith('| Kafka, ') && /request|file name/.test(row))
  expect(REQUESTS_KEPT.map(({ topic }) => rowsOf(topic)[0])).toEqual(expect.arrayContaining(kept))
  const days = REQUESTS_KEPT.map(({ topic, keptMs }) => [
    topic,
    rowsOf(topic)
      .join('')
      .includes(`${keptMs / DAY_MS} days`),
  ])
  expect(days).toEqual(REQUESTS_KEPT.map(({ topic }) => [topic, true]))
})

/**
 * Tests that what is written has the form in which the version before wrote it, so that both can run side by side and a rollout can be taken
 * back. `test/scenario/upgrade.test.ts` tests the other direction.
 */
import { DatabaseSync } from 'node:sqlite'
import type { KafkaConnection, OutgoingRecord } from '@platen/adapters/kafka/connect.ts'
import { deadLetterRecord } from '@platen/adapters/kafka/dead-letter.ts'
import { sendReminders } from '@platen/adapters/kafka/delivery/delay-topics.ts'
import { afterAttempt, initialProgress, type Progress } from '@platen/adapters/kafka/delivery/progress.ts'
import type { Reminder } from '@platen/adapters/kafka/delivery/reminder.ts'
import { memoryArtifactStore } from '@platen/adapters/memory/artifact-store.ts'
import { manualClock } from '@platen/adapters/memory/clock.ts'
import { migrate } from '@platen/adapters/sqlite/migrate.ts'
import { eventOf } from '@platen/contract/event.ts'
import { type Day, decodeExpiry, EXPIRY_PREFIX, expiryObjectOf } from '@platen/contract/expiry.ts'
import { FORMAT, FORMAT_DEFAULT } from '@platen/contract/format.ts'
import { IDEMPOTENCY_PREFIX } from '@platen/contract/idempotency.ts'
import type { NextStatus } from '@platen/contract/port/delivery-log.ts'
import { encodeManifest, type Manifest, manifestOf, type RenderRecord } from '@platen/contract/render.ts'
import { renderEventCodec } from '@platen/contract/schema/render-event.ts'
import { deliveryOf } from '@platen/events/webhook/delivery-scheduler.ts'
import { expect, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { anApi, queued } from '../fixture/api.ts'
import { NEVER, SILENT } from '../fixture/build.ts'
import { leftBy } from '../scenario/upgrade/left.ts'

const { kafka: RECORDS, objects: OBJECTS } = leftBy('cluster')
const EVENT_KEY = Buffer.alloc(32, 2)

/** What a failure means to whoever has changed a form. */
const ROLLOUT =
  'the version before reads this while both run, and after going back: write the fields that it knows as it knows them, or raise the version of the form and say in CHANGELOG.md in which order to upgrade'

const recordsOf = (topic: string) => RECORDS.filter((record) => record.topic.startsWith(topic))
const objectsIn = (prefix: string) => Object.entries(OBJECTS).filter(([key]) => key.startsWith(prefix))
const QUEUED = RECORDS.filter(({ topic, value }) => /^render\.(react_pdf|html)\./.test(topic) && value.startsWith('{'))
// The version before has validated each of them.
const ACCEPTED = QUEUED.map(({ value }) => JSON.parse(value) as RenderRecord)
const MANIFESTS = objectsIn('manifest/').map(([, text]) => JSON.parse(text) as Manifest)
const PROGRESSES = objectsIn('delivery/of/').map(([, text]) => JSON.parse(text) as Progress)

/** The names and types in a value, at each depth. */
function formOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, formOf(each)]))
}

/** A connection that keeps what is sent. */
function recording() {
  const sent: { topic: string; records: readonly OutgoingRecord[] }[] = []
  const connection: Pick<KafkaConnection, 'send' | 'log'> = {
    log: SILENT,
    send: async (topic, records) => void sent.push({ topic, records }),
  }
  return { sent, connection }
}

test('a queue record, and the claim of its Idempotency-Key', async () => {
  const artifacts = memoryArtifactStore()
  const api = anApi({ ports: { artifacts }, settings: { webhooks: { isHttpAllowed: true, allowCidrs: [] } } })
  const body = { template: 'invoice', mode: 'async', data: { number: '1' }, webhook_url: 'http://example.com/ok' }
  await api.post(body, { 'idempotency-key': 'order-2' })
  const record = await queued(api, 'async')
  const before = ACCEPTED.find(({ id }) => id === leftBy('cluster').renders['queued'])
  expect(formOf(record), ROLLOUT).toEqual(formOf(before))
  expect(String(FORMAT_DEFAULT), ROLLOUT).toBe(QUEUED[0]?.headers['v'])
  const [address] = await Array.fromAsync(artifacts.list('platen', IDEMPOTENCY_PREFIX, NEVER))
  const claim = address && (await artifacts.get(address, NEVER))
  const claims = objectsIn(IDEMPOTENCY_PREFIX).map(([, text]) => formOf(JSON.parse(text)))
  expect(claims, ROLLOUT).toContainEqual(formOf(JSON.parse(Buffer.from(claim ?? '').toString())))
})

test('a manifest, its event and their expiry', () => {
  const ended = MANIFESTS.flatMap((manifest) => {
    const record = ACCEPTED.find(({ id }) => id === manifest.render.id)
    return record === undefined ? [] : [{ manifest, record }]
  })
  expect(ended.map(({ manifest }) => manifest.outcome.status)).toEqual(expect.arrayContaining(['succeeded', 'failed']))
  for (const { record, manifest } of ended) {
    const written = encodeManifest(manifestOf(record, manifest.attempt, manifest.outcome))
    expect(Buffer.from(written).toString(), ROLLOUT).toBe(JSON.stringify(manifest))
  }
  const events = recordsOf('render.events').map(({ value }) => value)
  const written = MANIFESTS.map((manifest) => renderEventCodec().encode(eventOf(manifest, EVENT_KEY)))
  expect(written, ROLLOUT).toEqual(expect.arrayContaining(events))
  for (const [key, text] of objectsIn(EXPIRY_PREFIX)) {
    const day = key.slice(EXPIRY_PREFIX.length).split('/')[0] as Day
    const object = expiryObjectOf(day, decodeExpiry(Buffer.from(text)))
    expect([object.key, Buffer.from(object.bytes).toString()], ROLLOUT).toEqual([key, text])
  }
})

test('a delivery and its progress', () => {
  const statuses = PROGRESSES.map((before) => {
    const { delivery, made, status } = before
    const manifest = MANIFESTS.find(({ render }) => render.id === delivery.render)
    const scheduled = manifest && deliveryOf(eventOf(manifest, EVENT_KEY), { retriesMax: 5, clock: manualClock(0) })
    // Later than that version, which keeps it and does not read it.
    expect(scheduled?.requestId).toBe(manifest?.render.requestId)
    expect(scheduled?.listed?.template).toBe(manifest?.render.template.code)
    expect({ ...scheduled, requestId: undefined, listed: undefined, body: '' }, ROLLOUT).toEqual({
      ...delivery,
      body: '',
    })
    // That version sends it as it is, and receivers ignore new fields.
    expect(JSON.parse(scheduled?.body ?? ''), ROLLOUT).toMatchObject(JSON.parse(delivery.body))
    const now = (before.dueAt ?? 0) - (before.waitMs ?? 0)
    const next: NextStatus = status === 'scheduled' ? { status, waitMs: before.waitMs ?? 0 } : { status }
    const { dueAt: _dueAt, ...fresh } = initialProgress(delivery, 0)
    expect(Object.keys(before), ROLLOUT).toEqual(expect.arrayContaining(Object.keys(fresh)))
    const after = made.reduce(
      (progress, attempt) => afterAttempt(progress, { attempt, next, now }),
      initialProgress(delivery, 0),
    )
    expect(JSON.stringify(after), ROLLOUT).toBe(JSON.stringify(before))
    return status
  })
  expect(statuses.toSorted()).toEqual(['delivered', 'scheduled'])
})

test('a reminder of a delivery', async () => {
  const due = recordsOf('webhook.due')
  const { sent, connection } = recording()
  for (const { value } of due) {
    const { version: _version, ripeAt: _ripeAt, dueAt, ...notice } = JSON.parse(value) as Reminder
    await sendReminders({ connection, clock: manualClock(dueAt), prefix: '' }, [{ ...notice, waitMs: 0 }], NEVER)
  }
  const written = due.map(({ topic, key, value }) => ({ topic, records: [{ key, value }] }))
  expect(sent, ROLLOUT).toEqual(written)
})

test('a dead letter', async () => {
  const [before] = recordsOf('render.dead')
  const { 'platen-reason': reason = '', 'platen-topic': topic = '', v } = before?.headers ?? {}
  const { sent, connection } = recording()
  const headers = { v: Buffer.from(v ?? '') }
  const place = { topic, partition: 0, offset: 3, fingerprint: '' }
  const record = { ...place, key: Buffer.from('x'), value: Buffer.from('no record'), headers }
  await deadLetterRecord(connection, { record, reason, deadTopic: 'render.dead' }, NEVER)
  const [written] = sent[0]?.records ?? []
  const texts = Object.entries(written?.headers ?? {}).map(([name, value]) => [name, String(value)])
  expect(Object.fromEntries(texts), ROLLOUT).toEqual(before?.headers)
  expect([String(written?.key), String(written?.value)]).toEqual([before?.key, before?.value])
})

/** What migrations have added since the version before. CHANGELOG.md says of each that going back takes a backup. */
const MIGRATED_SINCE = [
  `CREATE INDEX event_render ON event (event ->> '$.manifest.render.id')`,
  'CREATE INDEX render_listed ON render (scope, id) WHERE scope IS NOT NULL',
  'CREATE INDEX render_by_status ON render (scope, status, engine, id) WHERE scope IS NOT NULL',
  'CREATE INDEX render_by_template ON render (scope, template, status, engine, id) WHERE scope IS NOT NULL',
  'CREATE INDEX render_by_reference ON render (scope, reference, status, engine, id) WHERE reference IS NOT NULL',
  'CREATE INDEX render_by_both ON render (scope, reference, template, status, engine, id) WHERE reference IS NOT NULL',
  'CREATE INDEX delivery_listed ON delivery (scope, render) WHERE template IS NOT NULL',
  'CREATE INDEX delivery_by_status ON delivery (scope, status, render) WHERE template IS NOT NULL',
  'CREATE INDEX delivery_by_template ON delivery (scope, template, status, render) WHERE template IS NOT NULL',
  'CREATE INDEX delivery_by_reference ON delivery (scope, reference, status, render) WHERE reference IS NOT NULL',
  'CREATE INDEX delivery_by_both ON delivery (scope, reference, template, status, render) WHERE reference IS NOT NULL',
  'CREATE INDEX render_by_batch ON render (scope, batch, status, engine, id) WHERE batch IS NOT NULL',
  `CREATE TABLE charge_sum (
  account TEXT NOT NULL,
  period TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('all', 'template', 'day')),
  name TEXT NOT NULL,
  renders INTEGER NOT NULL,
  units INTEGER NOT NULL,
  PRIMARY KEY (account, period, kind, name)
) STRICT, WITHOUT ROWID`,
  'CREATE INDEX charge_sum_period ON charge_sum (period)',
  `CREATE TRIGGER charge_added AFTER INSERT ON charge BEGIN
  INSERT INTO charge_sum
  SELECT new.account, new.period, column1, column2, 1, new.units
  FROM (VALUES ('all', ''), ('template', new.template), ('day', new.day)) WHERE column2 IS NOT NULL
  ON CONFLICT DO UPDATE SET renders = renders + 1, units = units + excluded.units;
END`,
]
const COLUMNS_SINCE = [
  ', template TEXT, day TEXT',
  ', scope TEXT, engine TEXT, reference TEXT, metadata TEXT CHECK (json_valid(metadata))',
  `, scope TEXT AS (delivery ->> '$.account' || ' ' || (delivery ->> '$.environment')) VIRTUAL`,
  `, template TEXT AS (delivery ->> '$.listed.template') VIRTUAL, reference TEXT AS (delivery ->> '$.listed.reference') VIRTUAL`,
  ', batch TEXT',
]

test('the tables of SQLite', () => {
  const database = new DatabaseSync(':memory:')
  migrate(database)
  const tables = database.prepare(
    `SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid`,
  )
  const withoutColumns = (sql: string) => COLUMNS_SINCE.reduce((text, columns) => text.replace(columns, ''), sql)
  const schema = tables.all().map(({ sql }) => withoutColumns(String(sql)))
  const after = version(database)
  database.close()
  // The database of a newer version is refused at the start, and so is everything else that is stored beside it.
  expect(after, 'a new format needs a migration, if only an empty one').toBeGreaterThanOrEqual(FORMAT)
  const statements = leftBy('embedded').sql.filter((statement) => !statement.startsWith('INSERT'))
  const before = Number(statements.pop()?.split(' = ')[1])
  expect(withoutComments(schema), ROLLOUT).toEqual([...withoutComments(statements), ...MIGRATED_SINCE])
  if (after > before)
    expect(readText('CHANGELOG.md'), 'the version before refuses this database').toContain(`schema number ${after}`)
})

/** SQLite keeps the comments of a statement, too. */
function withoutComments(statements: readonly string[]): string[] {
  return statements.map((statement) => statement.replaceAll(/\s*--.*$/gm, ''))
}

function version(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version'])
}

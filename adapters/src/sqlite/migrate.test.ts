import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from './migrate.ts'

const DAY_MS = 24 * 60 * 60 * 1000

let connection: DatabaseSync

beforeEach(() => {
  connection = new DatabaseSync(':memory:')
})
afterEach(() => connection.close())

/** A database as the first version of the service wrote it. */
function atVersionOne(): void {
  connection.exec(readFileSync(new URL('migrations/0001-initial.sql', import.meta.url), 'utf8'))
  connection.exec('PRAGMA user_version = 1')
}

test('renders from before there was a retention keep their state, and for thirty days their PDF', () => {
  atVersionOne()
  const insert = connection.prepare(
    `INSERT INTO render (id, template, accepted_at, status, attempts, outcome, dated) VALUES (?, 'invoice', 1, ?, ?, ?, ?)`,
  )
  const outcome = { status: 'succeeded', pdf: { address: { bucket: 'own', key: 'a/b/01KA/0f.pdf' } } }
  insert.run('01KA', 'succeeded', 2, JSON.stringify(outcome), 5)
  insert.run('01KB', 'failed', 1, '{"status":"failed"}', 6)
  insert.run('01KC', 'queued', 0, null, 7)
  migrate(connection)
  expect(connection.prepare('SELECT * FROM render').all()).toMatchObject([
    { id: '01KA', attempts: 2, outcome: JSON.stringify(outcome), expires_at: 5 + 30 * DAY_MS },
    { id: '01KB', status: 'failed', expires_at: 6 + 30 * DAY_MS, storage: null },
    { id: '01KC', status: 'queued', outcome: null, expires_at: 7 + 31 * DAY_MS, storage: null },
  ])
  const [row] = connection.prepare(`SELECT storage FROM render WHERE id = '01KA'`).all()
  expect(JSON.parse(String(row?.['storage']))).toEqual({ bucket: 'own', prefix: 'a/b/' })
})

test('charges from before they were counted by template and day get both from their event, while that is kept', () => {
  const files = readdirSync(new URL('migrations/', import.meta.url))
    .sort()
    .slice(0, 7)
  for (const file of files) connection.exec(readFileSync(new URL(`migrations/${file}`, import.meta.url), 'utf8'))
  connection.exec('PRAGMA user_version = 7')
  const charge = connection.prepare(
    `INSERT INTO charge (id, account, period, units, dated) VALUES (?, 'a', '2026-11', 1, 1)`,
  )
  for (const id of ['01KA', '01KB']) charge.run(id)
  const render = { id: '01KA', template: { code: 'invoice' }, acceptedAt: Date.UTC(2026, 10, 5, 23, 59, 59, 999) }
  const event = JSON.stringify({ manifest: { render } })
  connection.prepare(`INSERT INTO event (id, dated, event) VALUES ('e', 1, ?)`).run(event)
  migrate(connection)
  expect(connection.prepare('SELECT id, template, day FROM charge ORDER BY id').all()).toEqual([
    { id: '01KA', template: 'invoice', day: '05' },
    { id: '01KB', template: null, day: null },
  ])
})

test('deliveries from before they were listed are listed by what their render has', () => {
  const files = readdirSync(new URL('migrations/', import.meta.url))
    .sort()
    .slice(0, 9)
  for (const file of files) connection.exec(readFileSync(new URL(`migrations/${file}`, import.meta.url), 'utf8'))
  connection.exec('PRAGMA user_version = 9')
  const render = connection.prepare(
    `INSERT INTO render (id, template, accepted_at, status, expires_at, scope, engine, reference) VALUES (?, 'invoice', 1, 'queued', 7, 'a live', 'html', ?)`,
  )
  const delivery = connection.prepare(
    `INSERT INTO delivery (id, render, delivery, status, due_at) VALUES (?, ?, '{"account":"a","environment":"live"}', 'scheduled', 1)`,
  )
  render.run('01KA', 'order-7')
  render.run('01KB', null)
  for (const [id, of] of [
    ['1', '01KA'],
    ['2', '01KB'],
    ['3', '01KC'],
  ] as const)
    delivery.run(id, of)
  migrate(connection)
  const select = 'SELECT scope, template, reference, delivery FROM delivery ORDER BY id'
  const rows = connection.prepare(select).all()
  expect(rows).toMatchObject([
    { scope: 'a live', template: 'invoice', reference: 'order-7' },
    { scope: 'a live', template: 'invoice', reference: null },
    { template: null, reference: null },
  ])
  expect(JSON.parse(String(rows[0]?.['delivery']))).toMatchObject({
    listed: { template: 'invoice', reference: 'order-7', expiresAt: 7 },
  })
})

test('charges from before there were sums are counted by month, template and day, and those after them too', () => {
  const files = readdirSync(new URL('migrations/', import.meta.url))
    .sort()
    .slice(0, 10)
  for (const file of files) connection.exec(readFileSync(new URL(`migrations/${file}`, import.meta.url), 'utf8'))
  connection.exec('PRAGMA user_version = 10')
  const charge = () =>
    connection.prepare(
      `INSERT INTO charge (id, account, period, units, dated, template, day) VALUES (?, 'a', '2026-11', ?, 1, ?, ?) ON CONFLICT DO NOTHING`,
    )
  charge().run('01KA', 1, 'invoice', '05')
  charge().run('01KB', 2, null, null)
  charge().run('01KC', 4, 'letter', '05')
  migrate(connection)
  charge().run('01KC', 4, 'letter', '05')
  charge().run('01KD', 8, 'letter', '06')
  const sums = connection.prepare('SELECT account, period, kind, name, renders, units FROM charge_sum').all()
  expect(sums.map((row) => Object.values(row))).toEqual([
    ['a', '2026-11', 'all', '', 4, 15],
    ['a', '2026-11', 'day', '05', 2, 5],
    ['a', '2026-11', 'day', '06', 1, 8],
    ['a', '2026-11', 'template', 'invoice', 1, 1],
    ['a', '2026-11', 'template', 'letter', 2, 12],
  ])
})

test('renders that had ended and were in no list are found by an erasure, as those of no known account', () => {
  const files = readdirSync(new URL('migrations/', import.meta.url))
    .sort()
    .slice(0, 11)
  for (const file of files) connection.exec(readFileSync(new URL(`migrations/${file}`, import.meta.url), 'utf8'))
  connection.exec('PRAGMA user_version = 11')
  const insert = connection.prepare(
    `INSERT INTO render (id, template, accepted_at, status, outcome, expires_at, scope) VALUES (?, 'invoice', 1, ?, ?, 7, ?)`,
  )
  insert.run('01KA', 'failed', '{}', null)
  insert.run('01KB', 'failed', '{}', 'a live')
  insert.run('01KC', 'running', null, null)
  migrate(connection)
  expect(connection.prepare('SELECT id, scope FROM render ORDER BY id').all()).toEqual([
    { id: '01KA', scope: '' },
    { id: '01KB', scope: 'a live' },
    { id: '01KC', scope: null },
  ])
})

test('a database that is up to date is left as it is', () => {
  migrate(connection)
  const schema = connection.prepare('SELECT sql FROM sqlite_schema').all()
  migrate(connection)
  expect(connection.prepare('SELECT sql FROM sqlite_schema').all()).toEqual(schema)
})

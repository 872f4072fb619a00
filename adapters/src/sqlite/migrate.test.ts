import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from './migrate.ts'

let connection: DatabaseSync

beforeEach(() => {
  connection = new DatabaseSync(':memory:')
})
afterEach(() => connection.close())

test('a charge is counted once, by month, template and day', () => {
  migrate(connection)
  const charge = connection.prepare(
    `INSERT INTO charge (id, account, period, units, dated, template, day) VALUES (?, 'a', '2026-11', ?, 1, ?, ?) ON CONFLICT DO NOTHING`,
  )
  charge.run('01KA', 1, 'invoice', '05')
  charge.run('01KC', 4, 'letter', '05')
  charge.run('01KC', 4, 'letter', '05')
  charge.run('01KD', 8, 'letter', '06')
  const sums = connection.prepare('SELECT account, period, kind, name, renders, units FROM charge_sum').all()
  expect(sums.map((row) => Object.values(row))).toEqual([
    ['a', '2026-11', 'all', '', 3, 13],
    ['a', '2026-11', 'day', '05', 2, 5],
    ['a', '2026-11', 'day', '06', 1, 8],
    ['a', '2026-11', 'template', 'invoice', 1, 1],
    ['a', '2026-11', 'template', 'letter', 2, 12],
  ])
})

test('a database that is up to date is left as it is', () => {
  migrate(connection)
  const schema = connection.prepare('SELECT sql FROM sqlite_schema').all()
  migrate(connection)
  expect(connection.prepare('SELECT sql FROM sqlite_schema').all()).toEqual(schema)
})

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { type Command, type Connection, DataFolderLocked, openConnection } from './connection.ts'
import { DatabaseTooNew } from './migrate.ts'

let folder: string
let path: string
let connection: Connection

beforeEach(() => {
  folder = aFolder()
  path = join(folder, 'platen.db')
  connection = openConnection(path)
})
afterEach(() => {
  connection.close()
})

test('undoes a command that breaks a constraint, whole, and leaves its neighbours alone', () => {
  const [first, refused, last] = connection.run([
    [event('one')],
    [event('two'), event('three'), event('one')],
    [event('four')],
  ])
  expect([first?.kind, refused?.kind, last?.kind]).toStrictEqual(['rows', 'refused', 'rows'])
  expect(ids()).toStrictEqual(['four', 'one'])
})

test.for([
  ['a text that is no SQL', { sql: 'SELEKT' }],
  ['a value SQLite cannot hold', { sql: 'SELECT ?', values: [2n ** 64n] }],
  ['too many values', { sql: 'SELECT 1', values: [1] }],
] as const)('refuses %s and goes on', ([, statement]) => {
  expect(connection.run([[statement], [event('one')]]).map(({ kind }) => kind)).toStrictEqual(['refused', 'rows'])
  expect(ids()).toStrictEqual(['one'])
})

test('fails only what needs room when the disk is full, and recovers when there is room again', () => {
  const [[[size] = []] = []] = rowsOf(connection.run([[{ sql: 'PRAGMA page_count' }]]))
  connection.run([[{ sql: `PRAGMA max_page_count = ${Number(size?.['page_count']) + 2}` }]])
  const big = 'x'.repeat(100_000)
  const answers = connection.run([
    [event('before')],
    [event('big', big)],
    [{ sql: 'SELECT 1 AS one' }],
    [event('after')],
  ])
  expect(answers.map(({ kind }) => kind)).toStrictEqual(['rows', 'disk_full', 'rows', 'rows'])
  expect(ids()).toStrictEqual(['after', 'before'])
  connection.run([[{ sql: 'PRAGMA max_page_count = 1000000' }]])
  expect(connection.run([[event('big', big)]]).map(({ kind }) => kind)).toStrictEqual(['rows'])
})

test('has flushed what it answered: another connection reads it from the files alone', () => {
  connection.run([[event('one')]])
  connection.close()
  connection = openConnection(path)
  expect(ids()).toStrictEqual(['one'])
})

test('writes ahead, flushes every commit and holds the lock', () => {
  const pragmas = ['journal_mode', 'synchronous', 'locking_mode', 'foreign_keys']
  const [...values] = pragmas.map((name) => rowsOf(connection.run([[{ sql: `PRAGMA ${name}` }]]))[0]?.[0]?.[0]?.[name])
  expect(values).toStrictEqual(['wal', 2, 'exclusive', 1])
})

test('keeps its files from other users', () => {
  connection.run([[event('one')]])
  expect([path, `${path}-wal`].map((file) => statSync(file).mode & 0o777)).toStrictEqual([0o600, 0o600])
})

test('is the only one', () => {
  expect(() => openConnection(path)).toThrow(DataFolderLocked)
  expect(connection.run([[event('one')]])).toMatchObject([{ kind: 'rows' }])
})

test('leaves a database alone that a later version wrote', () => {
  connection.close()
  const later = new DatabaseSync(path)
  const version = Number(later.prepare('PRAGMA user_version').get()?.['user_version'])
  later.exec('PRAGMA user_version = 9999')
  later.close()
  expect(() => openConnection(path)).toThrow(DatabaseTooNew)
  const again = new DatabaseSync(path)
  again.exec(`PRAGMA user_version = ${version}`)
  again.close()
  connection = openConnection(path)
})

function event(id: string, body = '') {
  return { sql: 'INSERT INTO event (id, dated, event) VALUES (?, 0, ?)', values: [id, JSON.stringify(body)] } as const
}

function ids(): unknown[] {
  const command: Command = [{ sql: 'SELECT id FROM event ORDER BY id' }]
  return rowsOf(connection.run([command]))[0]?.[0]?.map((row) => row['id']) ?? []
}

function rowsOf(answers: ReturnType<Connection['run']>) {
  return answers.map((answer) => (answer.kind === 'rows' ? answer.rows : []))
}

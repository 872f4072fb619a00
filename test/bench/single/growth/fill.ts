/**
 * Fills the data folder of a stopped embedded service with as many renders as a table asks for. Each is a copy of one that the service made
 * itself, under an id and a time of its own, so that it has the form which this version writes. SQLite makes the copies, and so fills ten
 * million rows in minutes.
 */
import { copyFileSync, linkSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { leastIdSince, type RenderId } from '@platen/contract/domain/render-id.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** The oldest is as old as this, and the youngest an hour. */
const OLDEST_MS = 29 * DAY_MS
const RETENTION_MS = 30 * DAY_MS
/** One render of so many has a webhook. */
const RENDERS_PER_WEBHOOK = 5
/** Half of the renders are of the account that is measured, and the others of so many other accounts. */
const OTHER_ACCOUNTS = 99
const AT_ONCE = 100_000
/** A file of ext4 has at most 65,000 names. */
const LINKS_MAX = 60_000

export interface Filling {
  /** The database file of the stopped service. */
  readonly path: string
  /** The only render in it. */
  readonly id: string
  readonly count: number
  readonly now: number
}

/** The characters of an id, of five bits each. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARS = Array.from({ length: 10 }, (_, at) => `substr('${DIGITS}', ((at >> ${45 - 5 * at}) & 31) + 1, 1)`)

/** The renders from one number to another, each with its id, its time, and the id of its event. */
const RENDERS = `WITH RECURSIVE number(n) AS (SELECT :from UNION ALL SELECT n + 1 FROM number WHERE n < :to),
  timed AS (SELECT n, :newest - CAST((:count - n) * :stepMs AS INTEGER) AS at FROM number),
  copy AS MATERIALIZED (SELECT n, at, ${TIME_CHARS.join(' || ')} || printf('%016d', n) AS id,
    printf('%08x-%04x-7000-8000-%012x', at >> 16, at & 65535, n) AS event_id FROM timed)`

/** Where the first row of each table is, which copies there are, and what a copy has of its own. Other columns are as in that row. */
const TABLES: Readonly<
  Record<string, { readonly first: string; readonly some?: string; readonly own: Readonly<Record<string, string>> }>
> = {
  render: { first: 'id', own: { accepted_at: 'copy.at', expires_at: `copy.at + ${RETENTION_MS}` } },
  event: { first: `event ->> '$.manifest.render.id'`, own: { position: 'NULL', dated: 'copy.at + 500' } },
  charge: {
    first: 'id',
    own: {
      dated: 'copy.at + 500',
      period: `strftime('%Y-%m', copy.at / 1000, 'unixepoch')`,
      day: `strftime('%d', copy.at / 1000, 'unixepoch')`,
    },
  },
  delivery: { first: 'render', some: `copy.n % ${RENDERS_PER_WEBHOOK} = 0`, own: {} },
}

/** Copies the render until there are `count` more. */
export function fillDatabase({ path, id, count, now }: Filling): void {
  using database = new DatabaseSync(path)
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000')
  const [event] = database.prepare('SELECT id, event FROM event ORDER BY position LIMIT 1').all()
  const { account } = JSON.parse(String(event?.['event'])).manifest.render
  const fixed = { id, account, event: String(event?.['id']), count, newest: now - HOUR_MS, stepMs: stepMsOf(count) }
  const inserts = Object.keys(TABLES).map((table) => copying(database, table))
  for (let from = 1; from <= count; from += AT_ONCE) {
    database.exec('BEGIN')
    for (const insert of inserts) insert.run({ ...fixed, from, to: Math.min(count, from + AT_ONCE - 1) })
    database.exec('COMMIT')
  }
  // Their readers have read all of them.
  database.exec('UPDATE event_reader SET position = (SELECT max(position) FROM event)')
  // Written by now, and not while something is measured.
  database.exec('PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)')
}

function stepMsOf(count: number): number {
  return (OLDEST_MS - HOUR_MS) / count
}

function copying(database: DatabaseSync, table: string): StatementSync {
  const { first, some = 'true', own } = TABLES[table] ?? { first: 'id', own: {} }
  const columns = database.prepare(`SELECT name FROM pragma_table_info('${table}')`).all()
  const names = columns.map(({ name }) => String(name))
  const values = names.map((name) => own[name] ?? renamed(`first.${name}`))
  const statement = database.prepare(`${RENDERS} INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')}
    FROM (SELECT * FROM ${table} WHERE ${first} = :id) AS first, copy WHERE ${some}`)
  statement.setAllowUnknownNamedParameters(true)
  return statement
}

/** A column of the first row, with the ids of the copy in it. What is no text stays as it is. */
function renamed(column: string): string {
  const text = `replace(replace(${column}, :id, copy.id), :event, copy.event_id)`
  const other = `printf('other-%d', copy.n % ${OTHER_ACCOUNTS})`
  return `iif(typeof(${column}) = 'text', iif(copy.n % 2 = 0, ${text}, replace(${text}, :account, ${other})), ${column})`
}

/** The ids that `fillDatabase` gives. */
export function* filledIds({ count, now }: Pick<Filling, 'count' | 'now'>): Generator<RenderId> {
  for (let n = 1; n <= count; n += 1) {
    const at = now - HOUR_MS - Math.trunc((count - n) * stepMsOf(count))
    // It has the form of one.
    yield (leastIdSince(at).slice(0, TIME_CHARS.length) + `${n}`.padStart(16, '0')) as RenderId
  }
}

/** Makes each path a name of a file. They are names of few files, because nobody reads more of them than their names. */
export function fillNames(file: string, paths: Iterable<string>): void {
  const folders = new Set<string>()
  let [source, links] = [file, 0]
  for (const path of paths) {
    if (!folders.has(dirname(path))) mkdirSync(dirname(path), { recursive: true })
    folders.add(dirname(path))
    // The file may have names of an earlier call already.
    if (links % LINKS_MAX === 0) {
      copyFileSync(source, path)
      source = path
    } else linkSync(source, path)
    links += 1
  }
}

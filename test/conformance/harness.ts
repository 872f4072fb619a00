/** What the conformance suites run on: adapters with nothing in them, and ways to lose everything but what is durable. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '@platen/adapters/sqlite/database.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { afterAll } from 'vitest'

/** For what is waited for: a machine that is shared may have no time for seconds. */
export const PATIENCE = { timeout: 30_000 }
const OPEN_MS_MAX = 30_000

/** One adapter under test. Disposing it leaves nothing behind. */
export interface Harness<Port> extends AsyncDisposable {
  open(): Promise<Port>
  /** Closes what `open` gave and opens it again on the same durable state. Absent where nothing is durable. */
  reopen?(): Promise<Port>
  /** What is done is kept as one position a line: after `reopen` all from the oldest that is not done is delivered again. */
  readonly isPositional?: boolean
}

/** Everything an async iterable gives. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

/** The harness of a port that lives in memory alone. */
export async function memoryHarness<Port>(make: () => Port): Promise<Harness<Port>> {
  return { open: async () => make(), [Symbol.asyncDispose]: async () => undefined }
}

/** The harness of a port that stands in an empty database. */
export async function sqliteHarness<Port>(
  portIn: (database: Database) => Port | Promise<Port>,
): Promise<Harness<Port>> {
  const { folder, database: first } = takeSpare() ?? (await openIn(await mkdtemp(join(tmpdir(), 'platen-sqlite-'))))
  let lent = lend(first)
  let isFirst = true
  const open = async () => {
    if (!isFirst) {
      await lent[Symbol.asyncDispose]()
      lent = lend((await openIn(folder)).database)
    }
    isFirst = false
    return portIn(lent)
  }
  return {
    open,
    reopen: open,
    async [Symbol.asyncDispose]() {
      const database = lent.takeBack()
      if (database !== undefined && spare === undefined) spare = await emptied({ folder, database })
      else await close({ folder, database })
    },
  }
}

interface Place {
  readonly folder: string
  readonly database: Database
}

/** Open and empty. A file has one for test after test, as each start of its thread takes 0.15 s of CPU. */
let spare: Place | undefined

function takeSpare(): Place | undefined {
  const taken = spare
  spare = undefined
  return taken
}

afterAll(async () => {
  const left = takeSpare()
  if (left !== undefined) await close(left)
})

async function openIn(folder: string): Promise<Place> {
  const path = join(folder, 'platen.db')
  return { folder, database: await openDatabase({ path, signal: AbortSignal.timeout(OPEN_MS_MAX) }) }
}

async function close({ folder, database }: { readonly folder: string; readonly database: Database | undefined }) {
  await database?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
}

async function emptied(place: Place): Promise<Place> {
  const named = `SELECT name FROM sqlite_master WHERE type = 'table'`
  const [tables = []] = await place.database.run([{ sql: named }])
  await place.database.run(tables.map(({ name }) => ({ sql: `DELETE FROM ${String(name)}` })))
  return place
}

/** A database that is closed to its test from when it is taken back: what a test has left running does nothing to the next. */
function lend(database: Database): Database & { takeBack(): Database | undefined } {
  let held: Database | undefined = database
  const unlessGone = () => {
    if (held === undefined) throw new Unavailable('the database is closed')
    return held
  }
  return {
    failed: database.failed,
    run: async (command, signal) => unlessGone().run(command, signal),
    post: (command) => held?.post(command),
    takeBack() {
      const back = held
      held = undefined
      return back
    },
    async [Symbol.asyncDispose]() {
      held = undefined
      await database[Symbol.asyncDispose]()
    },
  }
}

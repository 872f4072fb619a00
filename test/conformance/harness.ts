/** Harnesses of the conformance suites: empty adapters, and a way to lose everything that is not durable. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '@platen/adapters/sqlite/database.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { afterAll } from 'vitest'
import { NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { type ManualClock, manualClock } from '../fixture/memory/clock.ts'

/** Timeout of waits: on a shared machine a process may get no CPU time for seconds. */
export const PATIENCE = { timeout: 30_000 }
const OPEN_MS_MAX = 30_000

/** One adapter under test. Disposing leaves nothing behind. */
export interface Harness<Port> extends AsyncDisposable {
  open(): Promise<Port>
  /** Closes the port and opens it again on the same durable state. Absent when nothing is durable. */
  reopen?(): Promise<Port>
  /**
   * True when progress is one position per partition. After `reopen`, everything from the oldest unfinished record on is delivered again.
   */
  readonly isPositional?: boolean
}

/** Opens the port of a harness. Both last until the test is over. */
export async function opened<Port>(making: Promise<Harness<Port>>): Promise<Port> {
  return ofTest(await making).open()
}

/** Makes a harness whose port goes by a clock that the test moves. */
export async function timed<Port>(make: (clock: ManualClock) => Promise<Harness<Port>>) {
  const clock = manualClock(NOON)
  return { ...(await make(clock)), clock, advance: (ms: number) => clock.advance(ms) }
}

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

export async function memoryHarness<Port>(make: () => Port): Promise<Harness<Port>> {
  return { open: async () => make(), [Symbol.asyncDispose]: async () => undefined }
}

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

interface Spare {
  readonly folder: string
  readonly database: Database
}

/** An open, empty database. The tests of a file share it, because each start of its thread takes 0.15 s of CPU. */
let spare: Spare | undefined

function takeSpare(): Spare | undefined {
  const taken = spare
  spare = undefined
  return taken
}

afterAll(async () => {
  const left = takeSpare()
  if (left !== undefined) await close(left)
})

async function openIn(folder: string): Promise<Spare> {
  const path = join(folder, 'platen.db')
  return { folder, database: await openDatabase({ path, signal: AbortSignal.timeout(OPEN_MS_MAX) }) }
}

async function close({ folder, database }: { readonly folder: string; readonly database: Database | undefined }) {
  await database?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
}

async function emptied({ folder, database }: Spare): Promise<Spare> {
  const named = `SELECT name FROM sqlite_master WHERE type = 'table'`
  const [tables = []] = await database.run([{ sql: named }])
  await database.run(tables.map(({ name }) => ({ sql: `DELETE FROM ${String(name)}` })))
  return { folder, database }
}

/** Lends a database to a test. After `takeBack` it is closed for that test, so code still running there cannot affect the next test. */
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

/** What the conformance suites run on: adapters with nothing in them, and ways to lose everything but what is durable. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Database, openDatabase } from '@platen/adapters/sqlite/database.ts'

/** For what is waited for: a machine that is shared may have no time for seconds. */
export const PATIENCE = { timeout: 30_000 }

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

/** The harness of a port that stands in a database of its own. */
export async function sqliteHarness<Port>(
  portIn: (database: Database) => Port | Promise<Port>,
): Promise<Harness<Port>> {
  const folder = await mkdtemp(join(tmpdir(), 'platen-sqlite-'))
  let database: Database | undefined
  const open = async () => {
    await database?.[Symbol.asyncDispose]()
    database = await openDatabase({ path: join(folder, 'platen.db'), signal: AbortSignal.timeout(10_000) })
    return portIn(database)
  }
  return {
    open,
    reopen: open,
    async [Symbol.asyncDispose]() {
      await database?.[Symbol.asyncDispose]()
      await rm(folder, { recursive: true })
    },
  }
}

/** The one connection to the database, as the thread that owns it uses it. All calls block. */
import { closeSync, openSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import { migrate } from './migrate.ts'

/** Statements that take effect together or not at all. Their texts must be constants, since each stays prepared. */
export type Command = readonly { readonly sql: string; readonly values?: readonly SQLInputValue[] }[]

export type Row = Readonly<Record<string, SQLOutputValue>>

export type CommandResult =
  | { readonly kind: 'rows'; readonly rows: readonly (readonly Row[])[] }
  /** The command has a fault, such as a broken constraint. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'disk_full' }

export interface Connection {
  /**
   * Runs commands in order within one transaction. When it returns, commands that are answered with rows survive kill -9 and power loss. A
   * refused command does not affect the others. Throws when the database may no longer keep data; the connection is then unusable.
   */
  run(commands: readonly Command[]): CommandResult[]
  close(): void
}

// Result codes: https://www.sqlite.org/rescode.html
const SQLITE_BUSY = 5
const SQLITE_FULL = 13
/** Error, too big, constraint, mismatch, range: faults of a command in a sound database. */
const FAULTS_OF_A_COMMAND = [1, 18, 19, 20, 25]

export class DataFolderLocked extends Error {
  override readonly name = 'DataFolderLocked'
}

/** Opens the database for this process alone; creates it when missing. Throws `DataFolderLocked` or `DatabaseTooNew`. */
export function openConnection(path: string): Connection {
  const connection = lock(path)
  try {
    migrate(connection)
    return run(connection)
  } catch (cause) {
    connection.close()
    throw cause
  }
}

function lock(path: string): DatabaseSync {
  createPrivate(path)
  const connection = new DatabaseSync(path)
  try {
    // The kernel releases the lock when the process ends in any way. Taken before WAL mode, it also keeps the WAL index in memory instead
    // of in a shared file.
    connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    connection.exec('PRAGMA foreign_keys = ON')
    connection.exec('PRAGMA trusted_schema = OFF')
    connection.exec('BEGIN EXCLUSIVE; COMMIT')
    return connection
  } catch (cause) {
    connection.close()
    if (resultCode(cause) !== SQLITE_BUSY) throw cause
    throw new DataFolderLocked(`another process has ${path} open`, { cause })
  }
}

/** SQLite would create a file that all can read. Never opens an existing file: closing it would drop this process's lock. */
function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EEXIST')) throw cause
  }
}

function run(connection: DatabaseSync): Connection {
  const prepared = new Map<string, StatementSync>()
  const statement = (sql: string): StatementSync => {
    const known = prepared.get(sql) ?? connection.prepare(sql)
    prepared.set(sql, known)
    return known
  }

  const answer = (command: Command): CommandResult => {
    statement('SAVEPOINT command').run()
    try {
      const rows = command.map(({ sql, values = [] }) => statement(sql).all(...values))
      statement('RELEASE command').run()
      return { kind: 'rows', rows }
    } catch (cause) {
      if (!isFaultOfCommand(cause) || !connection.isTransaction) throw cause
      statement('ROLLBACK TO command').run()
      statement('RELEASE command').run()
      return { kind: 'refused', message: cause.message }
    }
  }

  const transact = (commands: readonly Command[]): CommandResult[] => {
    try {
      statement('BEGIN IMMEDIATE').run()
      const answers = commands.map(answer)
      statement('COMMIT').run()
      return answers
    } catch (cause) {
      if (resultCode(cause) !== SQLITE_FULL) throw cause
      if (connection.isTransaction) statement('ROLLBACK').run()
      // A full disk is temporary, and commands that only read or delete still work. Each is run alone to find these.
      return commands.length === 1 ? [{ kind: 'disk_full' }] : commands.flatMap((command) => transact([command]))
    }
  }

  return { run: transact, close: () => connection.close() }
}

function isFaultOfCommand(cause: unknown): cause is Error {
  const code = resultCode(cause)
  return cause instanceof Error && (code === undefined || FAULTS_OF_A_COMMAND.includes(code))
}

/** Returns the primary result code; undefined for an error that is not SQLite's. */
function resultCode(cause: unknown): number | undefined {
  const code = cause instanceof Error && 'errcode' in cause ? cause.errcode : undefined
  return typeof code === 'number' ? code & 0xff : undefined
}

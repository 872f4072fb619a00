/**
 * The database as the ports use it. Commands go to the thread that owns the connection, and their results come back when they are durable.
 * So the thread that serves HTTP never waits for a disk.
 */
import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import type { Instant } from '@platen/lib/brand.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { threadEnv } from '@platen/lib/thread-env.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { type Command, type CommandResult, DataFolderLocked, type Row } from './connection.ts'
import { COMMANDS_PER_COMMIT_MAX, PRUNE_ROWS_MAX } from './limit.ts'
import { DatabaseTooNew } from './migrate.ts'

/** Calls that may wait for the embedded database. Further ones are refused at once, so that they do not pile up in memory. */
export const DATABASE_CALLS_MAX = 10_000

export interface Database extends AsyncDisposable {
  /**
   * Runs a command after all earlier ones, completely or not at all. Resolves with the rows of each statement when its effect survives kill
   * -9 and power loss. Rejects with `Unavailable` when the database is closed, has failed, has a full disk or too many pending calls.
   * Rejects with the signal's reason when that aborts; the command may then still take effect.
   */
  run(command: Command, signal?: AbortSignal): Promise<readonly (readonly Row[])[]>
  /** Runs a command, and does not report when it is durable or that it failed. Later commands see its effect. */
  post(command: Command): void
  /**
   * Aborts when the database can no longer keep data: a broken disk or file. Every call then rejects with `Unavailable`, and the process
   * should exit.
   */
  readonly failed: AbortSignal
}

export type ToThread =
  | { readonly kind: 'run'; readonly calls: readonly { readonly call: number; readonly command: Command }[] }
  | { readonly kind: 'close' }

export type ToDatabase =
  | { readonly kind: 'opened' }
  | { readonly kind: 'refused'; readonly name: string; readonly message: string }
  | { readonly kind: 'answered'; readonly calls: readonly number[]; readonly answers: readonly CommandResult[] }

export { DatabaseTooNew, DataFolderLocked }

/**
 * Opens the database file at `path`, in a folder that exists; creates the file when missing. Nobody else may open the file meanwhile, not
 * even this process. Closing the database completes all earlier commands, then releases the file. Throws `DataFolderLocked` when another
 * process has it, `DatabaseTooNew` when a later version of the service wrote it, `Unavailable` for anything else.
 */
export async function openDatabase({ path, signal }: { path: string; signal: AbortSignal }): Promise<Database> {
  signal.throwIfAborted()
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MIB }
  const options = { workerData: { path }, env: threadEnv(), name: 'database', resourceLimits }
  const thread = new Worker(new URL('thread.ts', import.meta.url), options)
  const opened = Promise.withResolvers<void>()
  const database = databaseOn(thread, opened)
  try {
    await raceAbort(opened.promise, signal)
    return database
  } catch (cause) {
    await thread.terminate()
    throw cause
  }
}

/** Heap of the thread for new objects. A command leaves nothing behind. */
const YOUNG_GENERATION_MIB = 12

type Pending = PromiseWithResolvers<readonly (readonly Row[])[]>

function databaseOn(thread: Worker, opened: PromiseWithResolvers<void>): Database {
  const pending = new Map<number, Pending>()
  const failure = new AbortController()
  const exited = Promise.withResolvers<void>()
  let calls = 0
  let isClosed = false
  const post = batchedPost(thread)

  const fail = (cause: unknown) => {
    const unavailable = new Unavailable('the database has failed', { cause })
    opened.reject(unavailable)
    failure.abort(unavailable)
    for (const { reject } of pending.values()) reject(unavailable)
    pending.clear()
  }
  const onResult = (call: number, answer: CommandResult) => {
    const waiting = pending.get(call)
    pending.delete(call)
    assert(waiting !== undefined, 'every answer has its call')
    settleCall(waiting, answer)
  }

  thread.on('message', (message: ToDatabase) => {
    if (message.kind === 'opened') opened.resolve()
    if (message.kind === 'refused') opened.reject(openError(message))
    if (message.kind === 'answered')
      for (const [i, answer] of message.answers.entries()) onResult(message.calls[i] ?? 0, answer)
  })
  thread.on('error', fail)
  thread.on('exit', (code) => {
    exited.resolve()
    if (!isClosed || pending.size > 0) fail(new Error(`its thread exited with code ${code}`))
  })

  const send = (command: Command): Pending['promise'] => {
    if (failure.signal.aborted) return Promise.reject(failure.signal.reason)
    if (isClosed) return Promise.reject(new Unavailable('the database is closed'))
    if (pending.size >= DATABASE_CALLS_MAX)
      return Promise.reject(new Unavailable(`${DATABASE_CALLS_MAX} calls to the database are pending already`))
    const waiting: Pending = Promise.withResolvers()
    pending.set(++calls, waiting)
    post({ call: calls, command })
    return waiting.promise
  }

  return {
    failed: failure.signal,
    async run(command, signal) {
      signal?.throwIfAborted()
      return signal === undefined ? send(command) : raceAbort(send(command), signal)
    },
    post(command) {
      // A refused command is a defect and must be visible: it becomes an unhandled rejection.
      void send(command).catch((cause: unknown) => {
        if (!(cause instanceof Unavailable)) throw cause
      })
    },
    async [Symbol.asyncDispose]() {
      // After the earlier commands, which are sent in this turn of the event loop.
      if (!isClosed) setImmediate(() => thread.postMessage({ kind: 'close' } satisfies ToThread, []))
      isClosed = true
      await exited.promise
    },
  }
}

type Call = Extract<ToThread, { kind: 'run' }>['calls'][number]

/** Sends all calls of one event loop turn in one message, up to the size of one commit. A message costs as much as its calls. */
function batchedPost(thread: Worker): (call: Call) => void {
  let gathered: Call[] = []
  const send = () => {
    if (gathered.length > 0) thread.postMessage({ kind: 'run', calls: gathered } satisfies ToThread, [])
    gathered = []
  }
  return (call) => {
    gathered.push(call)
    if (gathered.length === 1) setImmediate(send)
    if (gathered.length === COMMANDS_PER_COMMIT_MAX) send()
  }
}

function settleCall({ resolve, reject }: Pending, answer: CommandResult): void {
  switch (answer.kind) {
    case 'rows':
      return resolve(answer.rows)
    case 'refused':
      return reject(new Error(`the database refused a command: ${answer.message}`))
    case 'disk_full':
      return reject(new Unavailable('the disk of the database is full'))
  }
}

function openError({ name, message }: { name: string; message: string }): Error {
  if (name === 'DataFolderLocked') return new DataFolderLocked(message)
  if (name === 'DatabaseTooNew') return new DatabaseTooNew(message)
  return new Unavailable(`the database cannot be opened: ${message}`)
}

/** The statement deletes a batch of rows dated before `before` and returns them. It is run until no row is left to delete. */
export async function prune(
  database: Database,
  statement: { readonly sql: string; readonly before: Instant | string },
  signal: AbortSignal,
): Promise<void> {
  const { sql, before } = statement
  for (;;) {
    const [deleted = []] = await database.run([{ sql, values: [before, PRUNE_ROWS_MAX] }], signal)
    if (deleted.length < PRUNE_ROWS_MAX) return
  }
}

export function textIn(row: Row | undefined, column: string): string {
  const value = row?.[column]
  assert(typeof value === 'string', `${column} holds text`)
  return value
}

export function integerIn(row: Row | undefined, column: string): number {
  const value = row?.[column]
  assert(typeof value === 'number', `${column} holds an integer`)
  return value
}

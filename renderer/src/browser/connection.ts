/**
 * The DevTools protocol over the pipe of one Chromium: commands and events of the browser, and of sessions with its pages. It is what we
 * need of puppeteer's sessions: puppeteer has two hundred modules, which are loaded before a first document, and follows each page, frame
 * and worker by sessions of its own.
 */
import type { Readable, Writable } from 'node:stream'
import type { CDPEvents, CDPSession } from 'puppeteer'

/** The commands of one session. They reach the browser in the order of the calls. */
export interface Session {
  /**
   * Sends a command and resolves with its answer. Rejects with `CommandRefused` if Chromium refuses it, with `AnswerTooLarge` if the answer is
   * longer than `ANSWER_BYTES_MAX`, and with `SessionClosed` if no answer can come any more. Stays pending while the page or the browser
   * hangs, so the caller needs a deadline.
   */
  readonly send: CDPSession['send']
  /** Calls `listener` at each such event, in the order in which they happened. */
  on<Name extends EventName>(name: Name, listener: (event: CDPEvents[Name]) => void): void
  /** The same for the next such event only. */
  once<Name extends EventName>(name: Name, listener: (event: CDPEvents[Name]) => void): void
  /** Aborts when the session has ended: with its page, or with the browser. */
  readonly closed: AbortSignal
}

export interface Connection extends Session {
  /** Opens a session with a target, such as a page. */
  attach(targetId: string): Promise<Session>
}

type EventName = Extract<keyof CDPEvents, `${string}.${string}`>

/** Chromium refused a command. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused'
}

/** The session ended before the answer to a command. */
export class SessionClosed extends Error {
  override readonly name = 'SessionClosed'
}

/** Chromium's answer to a command is longer than `ANSWER_BYTES_MAX`. */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
}

/** Above the largest answer that is wanted: a part of a PDF has 6 MiB. Of a longer one nothing is kept in memory. */
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024

/** Above any event of a browser that obeys. A page may send as much as it has memory for. */
const MESSAGE_BYTES_MAX = 256 * 1024 * 1024

/** Chromium's answer to a command for a session that has just ended. */
const SESSION_NOT_FOUND = -32001

/** What Chromium sends: the answer to a command, or an event. Without `sessionId`, it is of the browser itself. */
interface Message {
  readonly sessionId?: string
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
  /** Whether it was dropped because of its length. */
  readonly isTooLarge?: true
  readonly method?: string
  readonly params?: unknown
}

interface OpenSession {
  readonly session: Session
  readonly emit: (event: Message) => void
  readonly close: () => void
}

/** Opens the connection over the two ends of a pipe. It is closed when Chromium closes its end. */
export function openConnection({ input, output }: { readonly input: Writable; readonly output: Readable }): Connection {
  const sessions = new Map<string, OpenSession>()
  const commands: Commands = { count: 0, pending: new Map() }
  const write = (command: object) => void input.write(`${JSON.stringify(command)}\0`)
  const add = (sessionId?: string): OpenSession => {
    const opened = openSession(commands, (command) =>
      write({ ...command, ...(sessionId !== undefined && { sessionId }) }),
    )
    if (sessionId !== undefined) sessions.set(sessionId, opened)
    return opened
  }
  const root = add()
  root.session.on('Target.detachedFromTarget', ({ sessionId }) => {
    sessions.get(sessionId)?.close()
    sessions.delete(sessionId)
  })
  readMessages(output, (message) => {
    if (message.id !== undefined) return settle(commands, message.id, message)
    const receiver = message.sessionId === undefined ? root : sessions.get(message.sessionId)
    receiver?.emit(message)
  })
  output.once('close', () => {
    root.close()
    for (const { close } of sessions.values()) close()
  })
  // Whatever breaks the pipe also closes its other end.
  for (const stream of [input, output]) stream.on('error', () => output.destroy())
  return {
    ...root.session,
    async attach(targetId) {
      const { sessionId } = await root.session.send('Target.attachToTarget', { targetId, flatten: true })
      return add(sessionId).session
    },
  }
}

/** The commands of all sessions that wait for an answer. An answer to an unknown session names no session. */
interface Commands {
  count: number
  readonly pending: Map<number, Command>
}

interface Command {
  readonly method: string
  /** Of its session. */
  readonly closed: AbortSignal
  resolve(result: unknown): void
  reject(error: Error): void
}

function settle({ pending }: Commands, id: number, { result, error, isTooLarge }: Message): void {
  const command = pending.get(id)
  pending.delete(id)
  if (isTooLarge) command?.reject(new AnswerTooLarge(`${command.method}: the answer is too large`))
  else if (error === undefined) command?.resolve(result)
  else if (error.code === SESSION_NOT_FOUND) command?.reject(sessionClosed(command.method))
  else command?.reject(new CommandRefused(error.message))
}

function sessionClosed(method: string): SessionClosed {
  return new SessionClosed(`${method}: the session has ended`)
}

type Listener = (event: unknown) => void

function openSession(commands: Commands, write: (command: object) => void): OpenSession {
  const listeners = new Map<string, Set<Listener>>()
  const closing = new AbortController()
  const { signal: closed } = closing
  const listen = (name: string, listener: Listener) => {
    const known = listeners.get(name) ?? new Set()
    listeners.set(name, known.add(listener))
    return known
  }

  function send(method: string, params: unknown): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (closed.aborted) return reject(sessionClosed(method))
      commands.count += 1
      commands.pending.set(commands.count, { method, closed, resolve, reject })
      write({ id: commands.count, method, ...(params !== undefined && { params }) })
    })
  }

  return {
    session: {
      // Chromium answers each command as its type says.
      send: send as CDPSession['send'],
      // It also sends each event as its type says.
      on: (name, listener) => void listen(name, listener as Listener),
      once(name, listener) {
        const known = listen(name, function first(event) {
          known.delete(first)
          ;(listener as Listener)(event)
        })
      },
      closed,
    },
    emit({ method = '', params }) {
      for (const listener of listeners.get(method) ?? []) listener(params)
    },
    close() {
      closing.abort('closed')
      for (const [id, command] of commands.pending) {
        if (command.closed !== closed) continue
        commands.pending.delete(id)
        command.reject(sessionClosed(command.method))
      }
    },
  }
}

/** Calls `receive` with each message, which ends with a zero byte, and lets what waits for one go on before the next. */
function readMessages(output: Readable, receive: (message: Message) => void): void {
  let parts: Buffer[] = []
  let bytes = 0
  /** The command of an answer that is too large. */
  let dropped: number | undefined
  output.on('data', (data: Buffer) => {
    let start = 0
    for (let end = data.indexOf(0); end !== -1; end = data.indexOf(0, start)) {
      const last = data.subarray(start, end)
      const id = dropped
      const text = (parts.length === 0 ? last : Buffer.concat([...parts, last])).toString()
      start = end + 1
      parts = []
      bytes = 0
      dropped = undefined
      // The browser wrote it.
      setImmediate(() => receive(id === undefined ? (JSON.parse(text) as Message) : { id, isTooLarge: true }))
    }
    if (start === data.length || dropped !== undefined) return
    parts.push(data.subarray(start))
    bytes += data.length - start
    if (bytes > ANSWER_BYTES_MAX) dropped = answeredCommand(parts)
    if (dropped !== undefined) parts = []
    else if (bytes > MESSAGE_BYTES_MAX) output.destroy()
  })
}

/** The id of the command that a message answers, from how it begins. Undefined for an event. */
function answeredCommand(parts: readonly Buffer[]): number | undefined {
  const id = /^\{"id":(\d+),/.exec(Buffer.concat(parts, BEGINNING_BYTES).toString())?.[1]
  return id === undefined ? undefined : Number(id)
}

/** The key and a number of ten digits. */
const BEGINNING_BYTES = 20

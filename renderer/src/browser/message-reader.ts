/**
 * Reads what a browser writes to its pipe: messages of the DevTools protocol, each ended by a zero byte. A page decides on much of it:
 * names of its frames, bodies of its requests, addresses, dialogs. So this bounds what a page may make the browser send, before anything is
 * parsed or kept. The beginning of a message says whether it is an answer or an event; its end says from which session it comes.
 *
 * Only events have a budget, because every answer was asked for. Pure: gets the bytes, and calls back.
 */

export interface MessageReader {
  read(data: Buffer): void
  /** The budget of the page that a session belongs to. */
  budgetOf(sessionId: string): PageBudget
  /** All bytes so far, including dropped ones. */
  bytesRead(): number
}

/** The budget for the events of one page, from all sessions with it, its frames and its workers. */
export interface PageBudget {
  /** The first session with the page. */
  readonly sessionId: string
  /** Restores the whole budget, for the next document of the page, unless it was spent. */
  renew(): void
  /** Called once the budget is spent, by an event of this kind. No more events of the page arrive, except that its sessions end. */
  onspent?: (method: string) => void
}

interface Receiver {
  /** An answer above `MESSAGE_BYTES_MAX` is replaced by an error with the message `ANSWER_TOO_LARGE`. */
  message(text: string): void
  excess(budget: PageBudget, method: string): void
}

/** The largest answer that we ask for, a part of a PDF, has 6 MiB. For a longer message only both ends are kept. */
export const MESSAGE_BYTES_MAX = 8 * 1024 * 1024

/** Events of one document. A thousand frames and ten thousand refused images stay below. */
export const EVENT_BYTES_MAX = 8 * 1024 * 1024
export const EVENTS_MAX = 20_000

/** What the browser itself reports about one page during one document: its address and its title, at each change. */
export const TARGET_BYTES_MAX = 1024 * 1024

export const ANSWER_TOO_LARGE = 'the answer is too large'

/** puppeteer subscribes to these, and nobody reads them: console messages and errors of scripts. A document may send them without end. */
const UNREAD = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded'])

/** Enough for `{"method":"Target.attachedToTarget","params":{"sessionId":"…","targetInfo":{"targetId":"…"`, in the order of Chromium. */
const HEAD_BYTES = 240
/** Enough for `,"sessionId":"…"}`. */
const TAIL_BYTES = 80

const ANSWERS = /^\{"id":(\d{1,15}),/
const EVENT = /^\{"method":"([A-Za-z.]{1,80})"/
/** The outermost object ends here, so text of a page cannot match. */
const SESSION = /,"sessionId":"([^"\\]{1,50})"\}$/
const ATTACHED =
  /^\{"method":"Target\.attachedToTarget","params":\{"sessionId":"([^"\\]{1,50})"(?:,"targetInfo":\{"targetId":"([^"\\]{1,50})")?/
const DETACHED = /^\{"method":"Target\.detachedFromTarget","params":\{"sessionId":"([^"\\]{1,50})"/
const CHANGED = /^\{"method":"Target\.targetInfoChanged","params":\{"targetInfo":\{"targetId":"([^"\\]{1,50})"/
const DESTROYED = /^\{"method":"Target\.targetDestroyed","params":\{"targetId":"([^"\\]{1,50})"/

interface Budget extends PageBudget {
  bytes: number
  events: number
  /** Bytes that the browser itself reported about the page. */
  toldBytes: number
  isSpent: boolean
}

export function openMessageReader(receiver: Receiver): MessageReader {
  const budgets = new Map<string, Budget>()
  /** By target id: of a page, its tab, or a worker. */
  const ofTargets = new Map<string, Budget>()
  let message = openMessage()
  let bytesRead = 0

  function budgetOf(sessionId: string): Budget {
    const budget = budgets.get(sessionId) ?? aBudget(sessionId)
    budgets.set(sessionId, budget)
    return budget
  }

  /** Records the sessions that begin and end. A session with a known target, or opened for another session, shares that budget. */
  function follow(head: string, sessionId: string | undefined): void {
    const [, child, target = ''] = ATTACHED.exec(head) ?? []
    if (child !== undefined) {
      const budget = ofTargets.get(target) ?? budgetOf(sessionId ?? child)
      budgets.set(child, budget)
      if (target !== '') ofTargets.set(target, budget)
    }
    budgets.delete(DETACHED.exec(head)?.[1] ?? '')
    if (sessionId === undefined) ofTargets.delete(DESTROYED.exec(head)?.[1] ?? '')
  }

  function end({ head, tail, bytes, text }: EndedMessage): void {
    const sessionId = SESSION.exec(tail)?.[1]
    const budget = sessionId === undefined ? undefined : budgetOf(sessionId)
    const method = EVENT.exec(head)?.[1] ?? ''
    const isEnd = method === 'Target.detachedFromTarget'
    if (UNREAD.has(method) || (budget?.isSpent && !isEnd)) return
    const id = ANSWERS.exec(head)?.[1]
    if (id !== undefined) return receiver.message(text ?? tooLarge(id, sessionId))
    follow(head, sessionId)
    if (budget !== undefined && !isEnd) {
      budget.bytes += bytes
      budget.events += 1
      budget.isSpent = text === undefined || budget.bytes > EVENT_BYTES_MAX || budget.events > EVENTS_MAX
      if (budget.isSpent) return receiver.excess(budget, method)
    }
    if (budget === undefined && isTold(head, bytes)) return
    // We need no event of the browser itself that is so large.
    if (text !== undefined) receiver.message(text)
  }

  /**
   * Whether the browser has reported enough about a page. puppeteer needs none of these events once the page exists, so the page goes on.
   */
  function isTold(head: string, bytes: number): boolean {
    const budget = ofTargets.get(CHANGED.exec(head)?.[1] ?? '')
    if (budget === undefined) return false
    budget.toldBytes += bytes
    return budget.toldBytes > TARGET_BYTES_MAX
  }

  return {
    read(data) {
      bytesRead += data.length
      let start = 0
      for (let at = data.indexOf(0); at !== -1; at = data.indexOf(0, start)) {
        message.add(data.subarray(start, at))
        const ended = message.end()
        message = openMessage()
        start = at + 1
        end(ended)
      }
      if (start < data.length) message.add(data.subarray(start))
    },
    budgetOf,
    bytesRead: () => bytesRead,
  }
}

function aBudget(sessionId: string): Budget {
  const whole = { bytes: 0, events: 0, toldBytes: 0 }
  return {
    sessionId,
    ...whole,
    isSpent: false,
    renew() {
      if (!this.isSpent) Object.assign(this, whole)
    },
  }
}

function tooLarge(id: string, sessionId: string | undefined): string {
  return JSON.stringify({ id: Number(id), error: { message: ANSWER_TOO_LARGE }, sessionId })
}

interface EndedMessage {
  readonly head: string
  readonly tail: string
  readonly bytes: number
  /** Undefined if the message was too long. */
  readonly text: string | undefined
}

function openMessage(): { add(piece: Buffer): void; end(): EndedMessage } {
  let pieces: Buffer[] = []
  let bytes = 0
  /** Both ends of a message that is too long. Copies, because a piece keeps all bytes alive that were read with it. */
  let ends: { readonly head: Buffer; tail: Buffer } | undefined

  const lastOf = (buffer: Buffer) => Buffer.from(buffer.subarray(-TAIL_BYTES))
  return {
    add(piece) {
      bytes += piece.length
      if (ends !== undefined) {
        ends.tail = lastOf(piece.length < TAIL_BYTES ? Buffer.concat([ends.tail, piece]) : piece)
        return
      }
      pieces.push(piece)
      if (bytes <= MESSAGE_BYTES_MAX) return
      const whole = Buffer.concat(pieces)
      ends = { head: Buffer.from(whole.subarray(0, HEAD_BYTES)), tail: lastOf(whole) }
      pieces = []
    },
    end() {
      if (ends !== undefined) {
        return { head: ends.head.toString('latin1'), tail: ends.tail.toString('latin1'), bytes, text: undefined }
      }
      const [first] = pieces
      const whole = pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
      const tailAt = Math.max(0, whole.length - TAIL_BYTES)
      return {
        head: whole.toString('latin1', 0, HEAD_BYTES),
        tail: whole.toString('latin1', tailAt),
        bytes,
        text: whole.toString(),
      }
    },
  }
}

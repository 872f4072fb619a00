/**
 * The way back of sync renders between processes. What is said stands in keys that expire by themselves, written before a hint is
 * published to everyone: so a hint that was lost with a connection costs nothing, as everything awaited is looked for again once
 * the channel hears anew. A PDF travels by its key alone, to the one process that waits for it.
 */
import assert from 'node:assert/strict'
import { abortable } from '@platen/contract/bell.ts'
import type { PendingReply, Reply, ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import type { RedisConnection } from './connect.ts'
import { type Hint, openReplyBoard } from './reply-board.ts'

interface Caller {
  readonly taken: PromiseWithResolvers<void>
  readonly reply: PromiseWithResolvers<Reply>
  readonly broken: PromiseWithResolvers<void>
}

interface Departure {
  readonly gone: AbortController
  /** Aborts when nobody cares any more, and frees the listener on the renderer's signal. */
  readonly over: AbortController
}

/**
 * A reply channel in Redis, the same for API and renderer. Resolves when it hears what is said from now on; throws `Unavailable`.
 * Whole PDFs go through the connection: one of its own, with time for them, lets no other call wait behind them.
 */
export async function openRedisReplyChannel(
  redis: RedisConnection,
  signal: AbortSignal,
): Promise<ReplyChannel & AsyncDisposable> {
  const callers = new Map<RenderId, Caller>()
  const departures = openDepartures()
  const board = await openReplyBoard(redis, { hear, onLoss, onReturn }, signal)

  function hear(hint: Hint, id: RenderId): void {
    if (hint === 'taken') callers.get(id)?.taken.resolve()
    else if (hint === 'gone') departures.tell(id)
    else if (callers.has(id)) inBackground(collect(id))
  }
  async function collect(id: RenderId): Promise<void> {
    const reply = await unlessAway(board.read(id))
    const caller = callers.get(id)
    // It was said, and is not there or cannot be had: it may not be said again.
    if (reply === undefined) caller?.broken.resolve()
    if (reply === undefined || caller === undefined) return
    callers.delete(id)
    caller.taken.resolve()
    caller.reply.resolve(reply)
  }
  async function look(id: RenderId, hint: Hint): Promise<void> {
    if (await board.says(id, hint)) hear(hint, id)
  }
  function onLoss(): void {
    for (const caller of callers.values()) caller.broken.resolve()
  }
  function onReturn(): void {
    for (const id of callers.keys()) for (const hint of ['taken', 'answered'] as const) inBackground(look(id, hint))
    for (const id of departures.ids()) inBackground(look(id, 'gone'))
  }
  return {
    expect(id) {
      assert(!callers.has(id), 'a render has one caller')
      const caller = aCaller()
      callers.set(id, caller)
      if (!board.hears()) caller.broken.resolve()
      return pendingReply(caller, () => {
        if (callers.delete(id)) inBackground(board.post(id, 'gone'))
      })
    },
    announce(id) {
      inBackground(board.post(id, 'taken'))
    },
    async answer(id, reply, answerSignal) {
      departures.end(id)
      await board.answer(id, reply, answerSignal)
    },
    departure(id, until) {
      const gone = departures.begin(id, until)
      // The caller may have gone before anybody here listened.
      if (!until.aborted) inBackground(look(id, 'gone'))
      return gone
    },
    async [Symbol.asyncDispose]() {
      for (const id of departures.ids()) departures.end(id)
      await board[Symbol.asyncDispose]()
    },
  }
}

function aCaller(): Caller {
  return {
    taken: Promise.withResolvers(),
    reply: Promise.withResolvers(),
    broken: Promise.withResolvers(),
  }
}

/** The renders of this process whose callers may go. */
function openDepartures() {
  const all = new Map<RenderId, Departure>()
  const end = (id: RenderId) => {
    all.get(id)?.over.abort()
    all.delete(id)
  }
  return {
    end,
    ids: () => all.keys(),
    tell: (id: RenderId) => all.get(id)?.gone.abort(new DOMException('the caller has gone', 'AbortError')),
    /** Ends when `until` aborts, if not before. */
    begin(id: RenderId, until: AbortSignal): AbortSignal {
      const departure = all.get(id) ?? { gone: new AbortController(), over: new AbortController() }
      if (until.aborted) return departure.gone.signal
      all.set(id, departure)
      until.addEventListener('abort', () => end(id), { once: true, signal: departure.over.signal })
      return departure.gone.signal
    },
  }
}

/** What is said while Redis is away is lost: whoever waits for it looks elsewhere, or runs into a deadline. */
function inBackground(saying: Promise<void>): void {
  void unlessAway(saying)
}

async function unlessAway<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    return undefined
  }
}

function pendingReply({ taken, reply, broken }: Caller, leave: () => void): PendingReply {
  return {
    taken: (signal) => abortable(taken.promise, signal),
    reply: (signal) => abortable(reply.promise, signal),
    broken: (signal) => abortable(broken.promise, signal),
    [Symbol.dispose]: leave,
  }
}

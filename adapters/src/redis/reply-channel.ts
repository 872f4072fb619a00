/**
 * The reply channel of sync renders between processes. Each message is a key that expires, written before a hint is published to all
 * processes. So a hint that is lost with a connection does no harm: after each reconnection, all expected keys are checked. A PDF is stored
 * only under its keys, and only the process that waits for it reads it.
 */
import assert from 'node:assert/strict'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { PendingReply, Reply, ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { RedisConnection } from './connect.ts'
import { type Hint, openReplyBus } from './reply-bus.ts'

interface Caller {
  readonly taken: PromiseWithResolvers<void>
  readonly reply: PromiseWithResolvers<Reply>
  readonly broken: PromiseWithResolvers<void>
}

interface CallerWatch {
  readonly gone: AbortController
  /** Aborts when the watch ends; that removes the listener on the renderer's signal. */
  readonly over: AbortController
}

/**
 * Resolves when the channel receives hints; throws `Unavailable`. Complete PDFs go through the connection. Give it a separate one with a
 * longer timeout, so that no other call waits behind them.
 */
export async function openRedisReplyChannel(
  redis: RedisConnection,
  signal: AbortSignal,
): Promise<ReplyChannel & AsyncDisposable> {
  const callers = new Map<RenderId, Caller>()
  const watches = openCallerWatches()
  const bus = await openReplyBus(redis, { onHint, onDisconnect, onReconnect }, signal)

  function onHint(hint: Hint, id: RenderId): void {
    if (hint === 'taken') callers.get(id)?.taken.resolve()
    else if (hint === 'gone') watches.markGone(id)
    else if (callers.has(id)) inBackground(collectReply(id))
  }
  async function collectReply(id: RenderId): Promise<void> {
    const reply = await ignoreUnavailable(bus.takeReply(id))
    const caller = callers.get(id)
    // The reply was published but cannot be read, and may not be published again.
    if (reply === undefined) caller?.broken.resolve()
    if (reply === undefined || caller === undefined) return
    callers.delete(id)
    caller.taken.resolve()
    caller.reply.resolve(reply)
  }
  async function checkHint(id: RenderId, hint: Hint): Promise<void> {
    if (await bus.has(id, hint)) onHint(hint, id)
  }
  function onDisconnect(): void {
    for (const caller of callers.values()) caller.broken.resolve()
  }
  function onReconnect(): void {
    for (const id of callers.keys())
      for (const hint of ['taken', 'answered'] as const) inBackground(checkHint(id, hint))
    for (const id of watches.ids()) inBackground(checkHint(id, 'gone'))
  }
  return {
    expect(id) {
      assert(!callers.has(id), 'a render has one caller')
      const caller = newCaller()
      callers.set(id, caller)
      if (!bus.isReceiving()) caller.broken.resolve()
      return pendingReply(caller, () => {
        if (callers.delete(id)) inBackground(bus.publish(id, 'gone'))
      })
    },
    notifyStarted(id) {
      inBackground(bus.publish(id, 'taken'))
    },
    async reply(id, reply, answerSignal) {
      watches.end(id)
      await bus.publishReply(id, reply, answerSignal)
    },
    callerGone(id, until) {
      const gone = watches.begin(id, until)
      // The caller may have gone before anybody here listened.
      if (!until.aborted) inBackground(checkHint(id, 'gone'))
      return gone
    },
    async [Symbol.asyncDispose]() {
      for (const id of watches.ids()) watches.end(id)
      await bus[Symbol.asyncDispose]()
    },
  }
}

function newCaller(): Caller {
  return {
    taken: Promise.withResolvers(),
    reply: Promise.withResolvers(),
    broken: Promise.withResolvers(),
  }
}

function openCallerWatches() {
  const all = new Map<RenderId, CallerWatch>()
  const end = (id: RenderId) => {
    all.get(id)?.over.abort()
    all.delete(id)
  }
  return {
    end,
    ids: () => all.keys(),
    markGone: (id: RenderId) => all.get(id)?.gone.abort(new DOMException('the caller has gone', 'AbortError')),
    /** Ends when `until` aborts, if not before. */
    begin(id: RenderId, until: AbortSignal): AbortSignal {
      const watch = all.get(id) ?? { gone: new AbortController(), over: new AbortController() }
      if (until.aborted) return watch.gone.signal
      all.set(id, watch)
      until.addEventListener('abort', () => end(id), { once: true, signal: watch.over.signal })
      return watch.gone.signal
    },
  }
}

/** Does not wait. Messages are lost while Redis is unavailable: those who wait check elsewhere, or run into a deadline. */
function inBackground(saying: Promise<void>): void {
  void ignoreUnavailable(saying)
}

async function ignoreUnavailable<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    return undefined
  }
}

function pendingReply({ taken, reply, broken }: Caller, leave: () => void): PendingReply {
  return {
    started: (signal) => raceAbort(taken.promise, signal),
    reply: (signal) => raceAbort(reply.promise, signal),
    broken: (signal) => raceAbort(broken.promise, signal),
    [Symbol.dispose]: leave,
  }
}

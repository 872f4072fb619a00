/** The reply channel of sync renders if API and renderer share a process. Holds only renders whose caller waits. */
import assert from 'node:assert/strict'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { PendingReply, Reply, ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'

interface Caller {
  readonly taken: PromiseWithResolvers<void>
  readonly reply: PromiseWithResolvers<Reply>
  readonly gone: AbortController
}

/**
 * `callerGone` returns the caller's own signal, so nothing must be freed; for a render that nobody waits for, it has aborted already. A
 * reply that came before the caller disposed can still be read. Closing the channel rejects all waits with `Unavailable`.
 */
export function memoryReplyChannel(): ReplyChannel & Disposable {
  const callers = new Map<RenderId, Caller>()
  return {
    expect(id) {
      assert(!callers.has(id), 'a render has one caller')
      const caller = {
        taken: Promise.withResolvers<void>(),
        reply: Promise.withResolvers<Reply>(),
        gone: new AbortController(),
      }
      callers.set(id, caller)
      return pendingReply(caller, () => callers.delete(id))
    },
    notifyStarted(id) {
      callers.get(id)?.taken.resolve()
    },
    async reply(id, reply, signal) {
      signal.throwIfAborted()
      const caller = callers.get(id)
      if (caller === undefined) return
      callers.delete(id)
      caller.taken.resolve()
      caller.reply.resolve(reply)
    },
    [Symbol.dispose]() {
      for (const { taken, reply } of callers.values()) {
        const closed = new Unavailable('the reply channel was closed')
        // The caller waits for one of the two only, and an unhandled rejection would end the process.
        for (const each of [taken, reply]) {
          each.promise.catch(() => undefined)
          each.reject(closed)
        }
      }
      callers.clear()
    },
    callerGone: (id) => callers.get(id)?.gone.signal ?? AbortSignal.abort(callerGoneReason()),
  }
}

function callerGoneReason(): DOMException {
  return new DOMException('the caller has gone', 'AbortError')
}

/** `forget` returns whether the reply was still expected. */
function pendingReply(caller: Caller, forget: () => boolean): PendingReply {
  return {
    started: (signal) => raceAbort(caller.taken.promise, signal),
    reply: (signal) => raceAbort(caller.reply.promise, signal),
    // Nothing gets lost within a process.
    broken: (signal) => raceAbort(new Promise<never>(() => undefined), signal),
    [Symbol.dispose]() {
      if (forget()) caller.gone.abort(callerGoneReason())
    },
  }
}

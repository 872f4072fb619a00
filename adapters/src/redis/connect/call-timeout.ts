/**
 * How long the calls of one connection may take. All of them have the same limit, so they end in the order in which they began,
 * and one timer is enough for all. The client's own limit is no use for it: that begins when a call is sent, and a gathered call
 * may wait for others before; and it ends calls whose answers came while this process itself stood still.
 */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'

export interface CallTimeout extends Disposable {
  /** Settles as the call does, or rejects with `Unavailable` when it took too long. */
  bound<T>(call: Promise<T>): Promise<T>
  /** Ends all calls that are under way. */
  failAll(reason: Unavailable): void
}

interface Call {
  readonly dueAt: number
  readonly fail: (reason: Unavailable) => void
}

/** Lets each call take `msMax`. */
export function openCallTimeout(msMax: number, clock: Clock): CallTimeout {
  const calls = new Set<Call>()
  const closing = new AbortController()
  let isWatching = false
  const watch = async () => {
    isWatching = true
    for (let [oldest] = calls; oldest !== undefined; [oldest] = calls) {
      // Ended by the end of the connection, which ends the calls as well.
      const isOpen = await clock.sleep(oldest.dueAt - clock.monotonic(), closing.signal).then(
        () => true,
        () => false,
      )
      if (!isOpen) break
      await afterPendingReads()
      const now = clock.monotonic()
      for (const call of calls) {
        if (call.dueAt > now) break
        call.fail(new Unavailable(`Redis did not answer within ${msMax} ms`))
      }
    }
    // In the same turn as the last look: a call that begins in between would be watched by nobody.
    isWatching = false
  }
  return {
    async bound(answer) {
      const { promise: cut, reject } = Promise.withResolvers<never>()
      const call: Call = {
        dueAt: clock.monotonic() + msMax,
        fail(reason) {
          calls.delete(call)
          reject(reason)
        },
      }
      calls.add(call)
      if (!isWatching) void watch()
      try {
        return await Promise.race([answer, cut])
      } finally {
        calls.delete(call)
      }
    },
    failAll(reason) {
      for (const call of calls) call.fail(reason)
    },
    [Symbol.dispose]: () => closing.abort(),
  }
}

/** Resolves when what had come until now has been read: after a pause of this process, answers wait behind the timers that fell due. */
export async function afterPendingReads(): Promise<void> {
  await setImmediate()
}

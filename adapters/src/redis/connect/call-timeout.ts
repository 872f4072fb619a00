/**
 * The timeout of the calls of one connection. All calls have the same limit, so they time out in the order in which they began, and one
 * timer is enough. The client's own timeout does not fit: it begins when a call is sent, and a pipelined call may wait before that. It also
 * ends calls whose responses arrived while this process was paused.
 */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@platen/lib/clock.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'

interface CallTimeout extends Disposable {
  /** Resolves or rejects as the call does, or rejects with `Unavailable` after the timeout. */
  bound<T>(call: Promise<T>): Promise<T>
  failAll(reason: Unavailable): void
}

interface Call {
  readonly dueAt: number
  readonly fail: (reason: Unavailable) => void
}

/** Limits each call to `msMax` milliseconds. */
export function openCallTimeout(msMax: number, clock: Clock): CallTimeout {
  const calls = new Set<Call>()
  const closing = new AbortController()
  let isWatching = false
  const watch = async () => {
    isWatching = true
    for (let [oldest] = calls; oldest !== undefined; [oldest] = calls) {
      // The sleep is aborted when the connection closes, which also ends the calls.
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
    // In the same turn as the last check. Else nobody would watch a call that begins in between.
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

/**
 * Resolves when all data received so far has been read. After a pause of this process, due timers run before pending responses are read.
 */
export async function afterPendingReads(): Promise<void> {
  await setImmediate()
}

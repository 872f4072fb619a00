/**
 * Checks repeatedly in the background whether Redis is available. All calls use the result, so no caller must wait to find out. Failed
 * calls are not counted: their number depends on the load, and there are none while nobody calls.
 */
import type { Clock } from '@platen/lib/clock.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { REDIS_HEALTH_CHECK_MS, REDIS_RECENTLY_DOWN_MS } from '../limit.ts'
import { afterPendingReads } from './call-timeout.ts'

export interface HealthCheck {
  /** Did the last check fail? */
  isDown(): boolean
  /** Is Redis down, or was it so recently that other processes may not know of its return? */
  wasRecentlyDown(): boolean
  /** Calls the listener at each change, until the disposal. `reason` is undefined when Redis is back. */
  watch(listener: (reason: Error | undefined) => void): Disposable
}

interface HealthCheckOptions {
  readonly ping: () => Promise<unknown>
  /** Milliseconds. */
  readonly answerMsMax: number
  readonly clock: Clock
}

/** Checks every `REDIS_HEALTH_CHECK_MS` until the disposal. Assumes at first that Redis is available. */
export function openHealthCheck({ ping, answerMsMax, clock }: HealthCheckOptions): HealthCheck & AsyncDisposable {
  const listeners = new Set<(reason: Error | undefined) => void>()
  const closing = new AbortController()
  let isAway = false
  let backAt = Number.NEGATIVE_INFINITY
  const check = async () => {
    const reason = await failureOf(ping(), { answerMsMax, clock, signal: closing.signal })
    if (closing.signal.aborted || isAway === (reason !== undefined)) return
    isAway = reason !== undefined
    if (!isAway) backAt = clock.monotonic()
    for (const listener of listeners) listener(reason)
  }
  const run = async () => {
    while (!closing.signal.aborted) {
      const dueAt = clock.monotonic() + REDIS_HEALTH_CHECK_MS
      await check()
      await clock.sleep(dueAt - clock.monotonic(), closing.signal).catch(() => undefined)
    }
  }
  const running = run()
  return {
    isDown: () => isAway,
    wasRecentlyDown: () => isAway || clock.monotonic() - backAt < REDIS_RECENTLY_DOWN_MS,
    watch(listener) {
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      await running
    },
  }
}

/** Returns undefined if the check succeeded or was aborted. */
async function failureOf(
  answer: Promise<unknown>,
  { answerMsMax, clock, signal }: Pick<HealthCheckOptions, 'answerMsMax' | 'clock'> & { readonly signal: AbortSignal },
): Promise<Error | undefined> {
  const over = new AbortController()
  const late = async () => {
    try {
      await clock.sleep(answerMsMax, AbortSignal.any([signal, over.signal]))
    } catch {
      return undefined
    }
    await afterPendingReads()
    return new Unavailable(`no answer within ${answerMsMax} ms`)
  }
  const failed = answer.then(
    () => undefined,
    (cause: unknown) => (cause instanceof Error ? cause : new Error(String(cause))),
  )
  try {
    return await Promise.race([failed, late()])
  } finally {
    over.abort()
  }
}

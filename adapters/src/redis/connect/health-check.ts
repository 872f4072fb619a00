/**
 * Is Redis there? One connection of a process asks so again and again, and all of its calls go by the answer: what is away is
 * found out once, in the background, instead of by every caller waiting for it. Failures of callers are not counted, as they come
 * in numbers that depend on the load, and stop when nobody dares to call.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { REDIS_HEALTH_CHECK_MS, REDIS_RECENTLY_DOWN_MS } from '@platen/contract/redis-limit.ts'
import { afterPendingReads } from './call-timeout.ts'

export interface HealthCheck {
  /** Was there no sign of life when it was asked for last? */
  isDown(): boolean
  /** Is it away, or was it so lately that other processes may not know yet that it is back? */
  wasRecentlyDown(): boolean
  /** Calls the listener at each change from now on, with the reason when Redis goes away, until it is disposed of. */
  watch(listener: (reason: Error | undefined) => void): Disposable
}

export interface HealthCheckOptions {
  /** Asks for a sign of life. */
  readonly ping: () => Promise<unknown>
  /** How long it may take. */
  readonly answerMsMax: number
  readonly clock: Clock
}

/** Asks every `REDIS_PULSE_MS`, until it is disposed of. Begins with the belief that Redis is there. */
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

/** Why there was no sign of life; undefined where there was one, or nobody waits for it any more. */
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
    return new Unavailable(`no sign of life within ${answerMsMax} ms`)
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

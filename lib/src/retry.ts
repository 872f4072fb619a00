/** Repeats calls of ports that cannot be reached, for callers that must not give up. */
import assert from 'node:assert/strict'
import { backOffMs } from './back-off.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import { Unavailable } from './unavailable.ts'

/** The first wait, which doubles up to `RETRY_MS_MAX` or the caller's maximum. */
const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 30_000

interface RetryPolicy {
  readonly clock: Clock
  readonly log: Log
  /** The called service, for the log: `artifact store`. */
  readonly dependency: string
  readonly waitMsMax?: number
  /** Also ends the repeats, with its reason. A running try goes on. */
  readonly repeatUntil?: AbortSignal
}

/** Methods that return a promise and take a signal last. */
type CallOf<Port> = {
  [Name in keyof Port]: Port[Name] extends (...values: infer Values) => Promise<unknown>
    ? Values extends [...unknown[], AbortSignal]
      ? Name
      : never
    : never
}[keyof Port]

/**
 * The same port, which repeats `calls` while they throw `Unavailable`. They must be idempotent. When the signal of a call aborts, the call
 * is not repeated again and rejects with the signal's reason.
 */
export function retrying<Port extends object>(port: Port, calls: readonly CallOf<Port>[], policy: RetryPolicy): Port {
  const repeated = new Set<PropertyKey>(calls)
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      // Calls the port itself: an object with private fields accepts no other `this`.
      const call = (...values: readonly unknown[]): unknown => Reflect.apply(member, target, values)
      if (!repeated.has(name)) return call
      return (...values: readonly unknown[]) => {
        const signal = values.at(-1)
        assert(signal instanceof AbortSignal, 'a call that is repeated takes a signal last')
        return retryWhileUnavailable(async () => call(...values), { ...policy, operation: String(name), signal })
      }
    },
  })
}

/**
 * Repeats an idempotent step while it throws `Unavailable`. Rejects with the reason of the signal that ended it, or with any other error of
 * the step.
 */
export async function retryWhileUnavailable<T>(
  step: () => Promise<T>,
  options: RetryPolicy & {
    /** What is repeated, for the log. */ readonly operation: string
    readonly signal: AbortSignal
  },
): Promise<T> {
  const { clock, log, dependency, operation, signal, waitMsMax = RETRY_MS_MAX, repeatUntil = signal } = options
  for (let tries = 1; ; tries++) {
    try {
      return await step()
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error
      const waitMs = backOffMs(tries, { msMin: Math.min(RETRY_MS_MIN, waitMsMax), msMax: waitMsMax })
      // Ever rarer, because an outage can be long, and the wait short.
      if (Number.isInteger(Math.log2(tries)))
        log.warn({ dependency, operation, tries, waitMs, err: error }, 'dependency call failed, retrying')
      await clock.sleep(waitMs, repeatUntil === signal ? signal : AbortSignal.any([signal, repeatUntil]))
    }
  }
}

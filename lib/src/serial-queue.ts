import { raceAbort } from './race.ts'

/**
 * Runs a call after all earlier ones, whether they succeeded or not. Settles as the call does. When `signal` aborts, rejects at once with
 * its reason; a call that has not started by then never does.
 */
type SerialQueue = <Answer>(call: () => Promise<Answer>, signal?: AbortSignal) => Promise<Answer>

export function openSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return (call, signal) => {
    const next = last.then(() => {
      signal?.throwIfAborted()
      return call()
    })
    last = next.catch(() => undefined)
    return signal === undefined ? next : raceAbort(next, signal)
  }
}

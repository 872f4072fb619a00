/** Runs calls one after the other. */
import { raceAbort } from '@platen/contract/race.ts'

/** Runs a call after all earlier ones. Rejects with the signal's reason at once; the call then does not start, or sees the signal. */
export type SerialQueue = <Answer>(
  call: (signal: AbortSignal) => Promise<Answer>,
  signal: AbortSignal,
) => Promise<Answer>

export function openSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return (call, signal) => {
    const next = last.then(() => {
      signal.throwIfAborted()
      return call(signal)
    })
    last = next.catch(() => undefined)
    return raceAbort(next, signal)
  }
}

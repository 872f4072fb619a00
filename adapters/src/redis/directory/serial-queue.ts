/** What has to be done one after the other. */
import { raceAbort } from '@platen/contract/race.ts'

/** Does a call when those before it are done, however they ended. Rejects with the signal's reason at once; the call is then not begun, or goes on until it meets the signal by itself. */
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

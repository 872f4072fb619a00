/** What has to be done one after the other. */
import { abortable } from '@platen/contract/bell.ts'

/** Does a call when those before it are done, however they ended. Rejects with the signal's reason at once; the call is then not begun, or goes on until it meets the signal by itself. */
export type InTurn = <Answer>(call: (signal: AbortSignal) => Promise<Answer>, signal: AbortSignal) => Promise<Answer>

export function openTurns(): InTurn {
  let last: Promise<unknown> = Promise.resolve()
  return (call, signal) => {
    const next = last.then(() => {
      signal.throwIfAborted()
      return call(signal)
    })
    last = next.catch(() => undefined)
    return abortable(next, signal)
  }
}

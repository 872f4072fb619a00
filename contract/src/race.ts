/** Waits for the first of several things. Leaves no listener and no unhandled rejection behind. */

/** Resolves when the first of the waits does. Ends the others, so that none leaves a waiter behind. */
export async function raceFirst(
  waits: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const waiting = waits.map((wait) => wait(either))
  try {
    await Promise.race(waiting)
  } finally {
    // With the default reason, a stack trace would be taken each time.
    over.abort('another wait was over first')
    await Promise.allSettled(waiting)
  }
}

/** Settles like `promise`, or rejects with the signal's reason, whichever is first. Leaves no listener on the signal. */
export async function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // Nobody awaits it any more, and an unhandled rejection ends the process.
    promise.catch(() => undefined)
    throw signal.reason
  }
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** Handles the rejection of a step that `signal` ends: throws the error unless the signal has aborted. */
export function throwUnlessAborted(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

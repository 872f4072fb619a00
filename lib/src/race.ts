/** Waits for the first of several things, without leaving a listener or an unhandled rejection. */

/** Ends the other waits, so that none leaves a waiter behind. */
export async function raceFirst(
  waits: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  using over = firstAborted([signal])
  const waiting = waits.map((wait) => wait(over.signal))
  try {
    await Promise.race(waiting)
  } finally {
    // The default reason would take a stack trace each time.
    over.abort('another wait was over first')
    await Promise.allSettled(waiting)
  }
}

/** Follows other signals until disposed. */
interface FirstAborted extends Disposable {
  readonly signal: AbortSignal
  /** Does nothing if one of the others was first. */
  abort(reason: unknown): void
}

/**
 * Aborts with the first of `signals`. `AbortSignal.any` needs no disposal, but costs five times as much and leaves garbage in the old
 * space.
 */
export function firstAborted(signals: readonly AbortSignal[]): FirstAborted {
  const first = new AbortController()
  const listening = signals.map((signal) => {
    const onAbort = () => first.abort(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    return { signal, onAbort }
  })
  return {
    signal: first.signal,
    abort: (reason) => first.abort(reason),
    [Symbol.dispose]() {
      for (const { signal, onAbort } of listening) signal.removeEventListener('abort', onAbort)
    },
  }
}

/** Settles like `promise`, or rejects with the signal's reason, whichever is first. Leaves no listener on the signal. */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    // If the signal was first, nobody handles a later rejection, which would end the process.
    const over = () => signal.removeEventListener('abort', onAbort)
    promise.then(over, over)
    promise.then(resolve, reject)
  })
}

/** For the rejection of a step that `signal` ends. */
export function throwUnlessAborted(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

/** Waits for the first of several things. Leaves no listener and no unhandled rejection behind. */

/** Resolves when the first of the waits does. Ends the others, so that none leaves a waiter behind. */
export async function raceFirst(
  waits: readonly ((signal: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  using over = firstAborted([signal])
  const waiting = waits.map((wait) => wait(over.signal))
  try {
    await Promise.race(waiting)
  } finally {
    // With the default reason, a stack trace would be taken each time.
    over.abort('another wait was over first')
    await Promise.allSettled(waiting)
  }
}

/** A signal that follows others until it is disposed of. */
interface FirstAborted extends Disposable {
  readonly signal: AbortSignal
  /** Aborts the signal, unless one of the others was first. */
  abort(reason: unknown): void
}

/**
 * Makes a signal that aborts with the first of `signals`. That of `AbortSignal.any` needs no disposal, but costs five times as much, and
 * leaves garbage in the old space.
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
    // If the signal was first, nobody hears of a rejection, and an unhandled one would end the process.
    const over = () => signal.removeEventListener('abort', onAbort)
    promise.then(over, over)
    promise.then(resolve, reject)
  })
}

/** Handles the rejection of a step that `signal` ends: throws the error unless the signal has aborted. */
export function throwUnlessAborted(signal: AbortSignal): (error: unknown) => void {
  return (error) => {
    if (!signal.aborted) throw error
  }
}

/**
 * How whoever makes something wakes the one who waits for it, within one process. Ports promise that no wake-up is lost, and that
 * is easy to get wrong: a ring between looking and waiting must count. Each waiter has a bell of its own, as two would take
 * each other's rings.
 */
export interface Bell {
  /** Wakes the one who waits; where nobody does, the next to wait. */
  ring(): void
  /** Resolves when it has rung since the last wait that resolved, which may be at once. Rejects with the signal's reason. */
  rung(signal: AbortSignal): Promise<void>
}

/** A bell that has already rung once, so that the first to wait looks first. */
export function bell(): Bell {
  let hasRung = true
  let next = Promise.withResolvers<void>()
  return {
    ring() {
      hasRung = true
      next.resolve()
    },
    async rung(signal) {
      signal.throwIfAborted()
      if (!hasRung) await abortable(next.promise, signal)
      hasRung = false
      next = Promise.withResolvers<void>()
    },
  }
}

/** Settles as `promise` does, or rejects with the signal's reason, whichever is first. Leaves no listener on the signal. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

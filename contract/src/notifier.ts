/**
 * How whoever makes something wakes the one who waits for it, within one process. Ports promise that no wake-up is lost, and that
 * is easy to get wrong: a ring between looking and waiting must count. Several may wait if each looks and waits in one turn of the
 * event loop; a party that does something in between needs a bell of its own. A wait somebody has walked away from (by
 * `Promise.race`, say) takes no ring from the next.
 */
export interface Notifier {
  /** Wakes the one who waits, or who waits next. */
  notify(): void
  /** Resolves when it has rung since the one who waits last looked; at times once more than that. Rejects with the signal's reason. */
  wait(signal: AbortSignal): Promise<void>
}

/** A bell that has already rung once, so that the first to wait looks first. */
export function openNotifier(): Notifier {
  let isNotified = true
  let next = Promise.withResolvers<void>()
  return {
    notify() {
      // Kept for the next to wait even if somebody is woken now: it may be a wait nobody listens to any more.
      isNotified = true
      next.resolve()
      next = Promise.withResolvers()
    },
    async wait(signal) {
      signal.throwIfAborted()
      if (!isNotified) return raceAbort(next.promise, signal)
      isNotified = false
    },
  }
}

/** Resolves when the first of the waits does. It ends the others, which would else each leave a waiter behind. */
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
    // Without a reason, a stack would be taken each time.
    over.abort('another wait was over first')
    await Promise.allSettled(waiting)
  }
}

/** Settles as `promise` does, or rejects with the signal's reason, whichever is first. Leaves no listener on the signal. */
export async function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    // Nobody looks at it any more, and a rejection nobody looks at ends the process.
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

/** Runs a step for each item, up to `max` at a time. Rejects after all started steps have ended. */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  max: number,
  step: (item: T) => Promise<void>,
): Promise<void> {
  // All workers share one iterator, so each item is taken once.
  const waiting = Iterator.from(items)
  const work = async () => {
    for (const item of waiting) await step(item)
  }
  const endings = await Promise.allSettled(Array.from({ length: max }, work))
  for (const ending of endings) if (ending.status === 'rejected') throw ending.reason
}

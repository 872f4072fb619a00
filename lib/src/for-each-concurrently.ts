/**
 * Runs a step for each item, at most `atOnce` at a time. No step starts after one has failed. Rejects with that error when all started
 * steps have ended.
 */
export async function forEachConcurrently<Item>(
  items: Iterable<Item>,
  atOnce: number,
  step: (item: Item) => Promise<unknown>,
): Promise<void> {
  const waiting = each(items)
  const work = async () => {
    for (const item of waiting) await step(item)
  }
  const endings = await Promise.allSettled(Array.from({ length: atOnce }, work))
  const failed = endings.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') throw failed.reason
}

/** All workers draw from this one generator, so each item is taken once. A loop that throws closes it for the others, too. */
function* each<Item>(items: Iterable<Item>): Generator<Item> {
  yield* items
}

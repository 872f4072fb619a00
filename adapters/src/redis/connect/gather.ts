/** Gathers the items of calls in one turn of the event loop, so that one call handles all of them. */
import { raceAbort } from '@platen/lib/race.ts'

/** Items of one call: Redis is busy with them for one or two milliseconds. */
const GATHERED_MAX = 100

interface Batch<Item> {
  readonly items: [Item, ...Item[]]
  readonly done: PromiseWithResolvers<void>
}

interface Gathering<Item> {
  /** Items with different names go into different calls. */
  readonly nameOf: (item: Item) => string
  readonly call: (items: readonly [Item, ...Item[]], signal: AbortSignal) => Promise<void>
}

/**
 * Returns a function that resolves or rejects as the call for its item does. Many records become durable at once, such as those of one
 * request to Kafka, and what follows for them begins in the same turn.
 */
export function gathered<Item>({ nameOf, call }: Gathering<Item>): (item: Item, signal: AbortSignal) => Promise<void> {
  const never = new AbortController().signal
  const open = new Map<string, Batch<Item>>()
  const begin = (name: string, first: Item) => {
    const batch: Batch<Item> = { items: [first], done: Promise.withResolvers() }
    open.set(name, batch)
    process.nextTick(() => {
      if (open.get(name) === batch) open.delete(name)
      call(batch.items, never).then(batch.done.resolve, batch.done.reject)
    })
    return batch
  }
  return async (item, signal) => {
    signal.throwIfAborted()
    const name = nameOf(item)
    const last = open.get(name)
    const isOpen = last !== undefined && last.items.length < GATHERED_MAX
    if (isOpen) last.items.push(item)
    const { done } = isOpen ? last : begin(name, item)
    await raceAbort(done.promise, signal)
  }
}

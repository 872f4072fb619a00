export interface Cache<Value> {
  /** Marks the value as used last. */
  get(key: string): Value | undefined
  /** Adds a value and returns it. Above the size, removes the values used longest ago, this one too if needed. */
  set(key: string, value: Value): Value
}

export interface LruCache<Value> extends Cache<Value> {
  /** Of all values. */
  readonly size: number
  /** Does not mark the value as used. */
  peek(key: string): Value | undefined
  drop(key: string): void
}

interface Entry<Value> {
  readonly value: Value
  readonly size: number
}

/** `sizeOf` is called when a value is set. By default each counts as 1. */
export function openLruCache<Value>(sizeMax: number, sizeOf: (value: Value) => number = () => 1): LruCache<Value> {
  const kept = new Map<string, Entry<Value>>()
  let size = 0
  const drop = (key: string) => {
    const entry = kept.get(key)
    if (entry !== undefined && kept.delete(key)) size -= entry.size
  }
  const dropOldest = () => {
    for (const oldest of kept.keys()) {
      drop(oldest)
      if (size <= sizeMax) return
    }
  }
  const put = (key: string, entry: Entry<Value>): Value => {
    drop(key)
    // Inserts it again, so that the first key is the one used longest ago.
    kept.set(key, entry)
    size += entry.size
    // Looks for the oldest only if needed: a map walks over the entries that were deleted before it.
    if (size > sizeMax) dropOldest()
    return entry.value
  }
  return {
    get size() {
      return size
    },
    get(key) {
      const entry = kept.get(key)
      return entry && put(key, entry)
    },
    peek: (key) => kept.get(key)?.value,
    drop,
    set: (key, value) => put(key, { value, size: sizeOf(value) }),
  }
}

/** Never finds values of other tenants, whatever the key. */
export function tenantPart<Value>(kept: Cache<Value>, tenant: string): Cache<Value> {
  const own = (key: string) => `${tenant}/${key}`
  return { get: (key) => kept.get(own(key)), set: (key, value) => kept.set(own(key), value) }
}

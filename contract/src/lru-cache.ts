import type { TenantId } from './tenant.ts'

/** Keeps recently used values in memory, up to a size. */
export interface LruCache<Value> {
  /** Marks the value as used last. */
  get(key: string): Value | undefined
  /** Adds a value and returns it. Above the size, removes the values used longest ago, this one too if needed. */
  set(key: string, value: Value): Value
}

/** Opens an empty cache. `sizeOf` returns the size of one value. */
export function openLruCache<Value>(sizeMax: number, sizeOf: (value: Value) => number): LruCache<Value> {
  const kept = new Map<string, Value>()
  let size = 0
  const drop = (key: string) => {
    const value = kept.get(key)
    if (value !== undefined && kept.delete(key)) size -= sizeOf(value)
    return value
  }
  const set = (key: string, value: Value) => {
    drop(key)
    // Insert again, so that the first key is the one used longest ago.
    kept.set(key, value)
    size += sizeOf(value)
    for (const oldest of kept.keys()) {
      if (size <= sizeMax) break
      drop(oldest)
    }
    return value
  }
  return {
    get(key) {
      const value = drop(key)
      return value === undefined ? undefined : set(key, value)
    },
    set,
  }
}

/** The part of `kept` that belongs to one tenant. It never finds what other tenants put there, whatever the key. */
export function tenantPart<Value>(kept: LruCache<Value>, tenant: TenantId): LruCache<Value> {
  const own = (key: string) => `${tenant}/${key}`
  return { get: (key) => kept.get(own(key)), set: (key, value) => kept.set(own(key), value) }
}

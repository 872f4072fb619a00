import type { TenantId } from '@platen/contract/tenant.ts'

/** What is kept at hand because it will be needed again soon, up to a size. */
export interface LruCache<Value> {
  /** Using a value keeps it. */
  get(key: string): Value | undefined
  /** Past the size the values used longest ago are given up, be it this one. Gives the value back. */
  set(key: string, value: Value): Value
}

/** Opens an empty one; `sizeOf` says what a value counts. */
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
    // Set anew, so that the first key is the one used longest ago.
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

/** The part of `kept` that is one tenant's: it finds nothing there that others have kept, under whatever key. */
export function tenantPart<Value>(kept: LruCache<Value>, tenant: TenantId): LruCache<Value> {
  const own = (key: string) => `${tenant}/${key}`
  return { get: (key) => kept.get(own(key)), set: (key, value) => kept.set(own(key), value) }
}

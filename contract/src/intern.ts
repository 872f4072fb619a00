/** An intern pool: keeps one object for all equal values. */

/** Returns a function that gives the first value made for each name. The pool is emptied when it holds `countMax` values. */
export function openInternPool<Value>(countMax: number): (name: string, make: () => Value) => Value {
  const interned = new Map<string, Value>()
  return (name, make) => {
    const found = interned.get(name)
    if (found !== undefined) return found
    if (interned.size >= countMax) interned.clear()
    const value = make()
    interned.set(name, value)
    return value
  }
}

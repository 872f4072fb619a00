/** Keeps once what many have in common. */

/** Answers the first of all values with a name; forgets them all when there are `countMax`. */
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

/** Keeps once what many have in common. */

/** Answers the first of all values with a name; forgets them all when there are `countMax`. */
export function keeper<Value>(countMax: number): (name: string, make: () => Value) => Value {
  const kept = new Map<string, Value>()
  return (name, make) => {
    const found = kept.get(name)
    if (found !== undefined) return found
    if (kept.size >= countMax) kept.clear()
    const value = make()
    kept.set(name, value)
    return value
  }
}

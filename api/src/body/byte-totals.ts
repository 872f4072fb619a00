/** Adds up the bytes that are held by name. */

export interface ByteTotals<Name> {
  /** Bytes held by a name. Undefined when it holds none. */
  readonly get: (name: Name) => number | undefined
  /** Adds bytes, or removes them where the number is negative. */
  readonly add: (name: Name, bytes: number) => void
}

/** Names without bytes are not kept, so that the totals do not grow with the number of names ever seen. */
export function openByteTotals<Name>(): ByteTotals<Name> {
  const totals = new Map<Name, number>()
  return {
    get: (name) => totals.get(name),
    add(name, bytes) {
      const left = (totals.get(name) ?? 0) + bytes
      if (left > 0) totals.set(name, left)
      else totals.delete(name)
    },
  }
}

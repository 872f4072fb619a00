/** Adds up the bytes that are held by name. */

interface ByteTotals {
  /** Bytes held by a name. */
  readonly get: (name: string) => number
  /** Adds bytes, or removes them where the number is negative. */
  readonly add: (name: string, bytes: number) => void
}

/**
 * Names without bytes are not kept, so that the totals do not grow with the number of names ever seen. `onChange` gets what was added, or
 * removed where the number is negative.
 */
export function openByteTotals(onChange: (bytes: number) => void): ByteTotals {
  const totals = new Map<string, number>()
  return {
    get: (name) => totals.get(name) ?? 0,
    add(name, bytes) {
      const left = (totals.get(name) ?? 0) + bytes
      if (left > 0) totals.set(name, left)
      else totals.delete(name)
      onChange(bytes)
    },
  }
}

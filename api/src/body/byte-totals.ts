interface ByteTotals {
  readonly get: (name: string) => number
  /** A negative number removes bytes. */
  readonly add: (name: string, bytes: number) => void
}

/**
 * Forgets names without bytes, so that the totals do not grow with every name ever seen. `onChange` gets the added bytes; a negative number
 * means removed ones.
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

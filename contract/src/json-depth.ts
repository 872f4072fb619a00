/** Do arrays and objects nest deeper than this? Walks without recursion, so any value may be asked about. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let depth = 0
  for (let level = nested([value]); level.length > 0; level = nested(level.flatMap((each) => Object.values(each)))) {
    depth++
    if (depth > levels) return true
  }
  return false
}

function nested(values: readonly unknown[]): readonly object[] {
  return values.filter((value) => typeof value === 'object' && value !== null)
}

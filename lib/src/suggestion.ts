/** Makes ` (did you mean color?)` for the end of a message if a known name is similar, else ''. */
export function suggestion(name: string, known: Iterable<string>): string {
  let best: string | undefined
  let distanceMin = Math.min(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase(), distanceMin)
    if (distance >= distanceMin) continue
    best = candidate
    distanceMin = distance
  }
  return best === undefined ? '' : ` (did you mean ${best}?)`
}

/** Counts letters to change, add, remove or swap with their neighbour. Returns `bound` as soon as the distance is at least that. */
function editDistance(left: string, right: string, bound: number): number {
  if (Math.abs(left.length - right.length) >= bound) return bound
  let above: readonly number[] = []
  let row: readonly number[] = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (const [index, letter] of left.split('').entries()) {
    const next = [index + 1]
    for (let column = 1; column <= right.length; column += 1) {
      const replaced = (row[column - 1] ?? bound) + (right[column - 1] === letter ? 0 : 1)
      const isSwapped = column > 1 && letter === right[column - 2] && left[index - 1] === right[column - 1]
      const swapped = isSwapped ? (above[column - 2] ?? bound) + 1 : bound
      next.push(Math.min(replaced, swapped, (row[column] ?? bound) + 1, (next[column - 1] ?? bound) + 1))
    }
    above = row
    row = next
  }
  return Math.min(row.at(-1) ?? bound, bound)
}

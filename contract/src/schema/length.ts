/** CSS lengths in options, in the units that both engines know. */
const POINTS_PER_UNIT = { pt: 1, px: 0.75, mm: 72 / 25.4, cm: 72 / 2.54, in: 72 } as const

export const LENGTH_PATTERN = '^\\d{1,5}(\\.\\d{1,4})?(pt|px|mm|cm|in)$'

/** A length in points. A number is points already; a string must match `LENGTH_PATTERN`, which the request schema checks. */
export function pointsOf(length: number | string): number {
  if (typeof length === 'number') return length
  const unit = length.slice(-2)
  const isUnit = (text: string): text is keyof typeof POINTS_PER_UNIT => Object.hasOwn(POINTS_PER_UNIT, text)
  if (!isUnit(unit)) throw new RangeError('a length needs one of the units pt, px, mm, cm, in')
  return Number(length.slice(0, -2)) * POINTS_PER_UNIT[unit]
}

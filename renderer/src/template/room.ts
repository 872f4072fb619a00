/** Whether the margins of a page leave room for anything. Pure. */
import { PAGE_SIDE_PT_MIN } from '@platen/contract/limit.ts'

interface Margins {
  readonly top: number
  readonly right: number
  readonly bottom: number
  readonly left: number
}

/** Why nothing can be laid out between these margins, all in points, as a sentence; undefined where there is room. */
export function roomFault(page: { width: number; height: number }, margin: Margins): string | undefined {
  const width = page.width - margin.left - margin.right
  const height = page.height - margin.top - margin.bottom
  if (Math.min(width, height) >= PAGE_SIDE_PT_MIN) return undefined
  const [left, whole] = [sides({ width, height }), sides(page)]
  return `options.margin leaves ${left} points of a page of ${whole}; at least ${PAGE_SIDE_PT_MIN} by ${PAGE_SIDE_PT_MIN} must remain`
}

function sides({ width, height }: { width: number; height: number }): string {
  return `${Math.round(width)} by ${Math.round(height)}`
}

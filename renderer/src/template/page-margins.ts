import { PAGE_SIDE_PT_MIN } from '@platen/contract/domain/limit.ts'
import type { Sides } from '@platen/contract/domain/render-options.ts'

/** In points. */
interface Page {
  readonly width: number
  readonly height: number
}
type Margin = { readonly [Side in keyof Sides]?: number | undefined }

/** Says what is wrong with the margin options on this page. Undefined if they leave enough space. */
export function marginFault(
  { width, height }: Page,
  { top = 0, right = 0, bottom = 0, left = 0 }: Margin,
): string | undefined {
  const room = { width: width - left - right, height: height - top - bottom }
  if (room.width >= PAGE_SIDE_PT_MIN && room.height >= PAGE_SIDE_PT_MIN) return undefined
  const [leaves, page] = [room, { width, height }].map((size) => `${points(size.width)} × ${points(size.height)}`)
  return `options.margin leaves ${leaves} of a page of ${page} points; at least ${PAGE_SIDE_PT_MIN} × ${PAGE_SIDE_PT_MIN} must be left`
}

function points(length: number): string {
  return String(Math.round(Math.max(0, length) * 10) / 10)
}

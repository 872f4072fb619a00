/** Rectangles on a page, in points. `top` is less than `bottom`. Pure. */

export interface Rectangle {
  readonly left: number
  readonly top: number
  readonly right: number
  readonly bottom: number
}

export function intersection(one: Rectangle, other: Rectangle | undefined): Rectangle | undefined {
  if (other === undefined) return one
  const left = Math.max(one.left, other.left)
  const right = Math.min(one.right, other.right)
  const top = Math.max(one.top, other.top)
  const bottom = Math.min(one.bottom, other.bottom)
  return left < right && top < bottom ? { left, top, right, bottom } : undefined
}

/** How far `inner` lies beyond `outer` at most. Not positive if it lies within. */
export function overhang(inner: Rectangle, outer: Rectangle): number {
  return Math.max(
    outer.left - inner.left,
    inner.right - outer.right,
    outer.top - inner.top,
    inner.bottom - outer.bottom,
  )
}

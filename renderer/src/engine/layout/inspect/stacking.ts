/**
 * Finds siblings that react-pdf stacks in another order than their `zIndex` says: it draws those with a `zIndex` first, from the highest to
 * the lowest. Pure.
 */
import { type LayoutNode, lengthOf } from './layout-node.ts'
import { intersection, type Rectangle } from './rectangle.ts'

/**
 * The children that are under a sibling with a lower `zIndex`. `children` are in drawing order. `budget.comparisons` is how many
 * comparisons are left.
 */
export function wronglyUnder(children: readonly LayoutNode[], budget: { comparisons: number }): readonly LayoutNode[] {
  if (!children.some((child) => indexOf(child) !== 0)) return []
  return children.filter((child, at) => {
    const index = indexOf(child)
    budget.comparisons -= children.length - at
    if (budget.comparisons < 0) return false
    const box = rectangleOf(child)
    return children.slice(at + 1).some((over) => indexOf(over) < index && intersection(box, rectangleOf(over)))
  })
}

function indexOf({ style }: LayoutNode): number {
  return lengthOf(style?.['zIndex'])
}

/** Relative to the parent. */
function rectangleOf({ box }: LayoutNode): Rectangle {
  const [left, top] = [lengthOf(box?.['left']), lengthOf(box?.['top'])]
  return { left, top, right: left + lengthOf(box?.['width']), bottom: top + lengthOf(box?.['height']) }
}

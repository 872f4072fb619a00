/** Finds lines of text that are outside of what should hold them, and blocks that had no room. Pure. */
import { type LayoutNode, lengthOf } from './layout-node.ts'
import { overhang, type Rectangle } from './rectangle.ts'
import type { Surroundings } from './surroundings.ts'
import type { InkedLine } from './text-ink.ts'

interface Overflow {
  /** In points. */
  readonly length: number
  readonly of: 'the page' | 'its box' | 'the box around it'
}

/** Where a line is outside of the page, of its own box, or of a visible box around it. */
export function overflowOf(line: InkedLine, around: Surroundings, paper: Rectangle): Overflow | undefined {
  const { core, fontSize } = line
  const { box, frame } = around
  const tolerance = Math.max(1, fontSize * TOLERANCE)
  const beyond = (length: number, of: Overflow['of']) => (length > tolerance ? ({ length, of } as const) : undefined)
  // A pale text across a page may begin before it, and so may one that was moved out of sight.
  const isHidden = around.isTransparent || core.right < paper.left || core.bottom < paper.top
  if (isHidden) return undefined
  return (
    beyond(overhang(core, paper), 'the page') ??
    (frame && beyond(overhang(core, frame), 'the box around it')) ??
    beyond(Math.max(box.left - core.left, core.right - box.right), 'its box') ??
    (line.below > BELOW_MAX && !around.isFlat ? beyond(core.bottom - box.bottom, 'its box') : undefined)
  )
}

/** How far a line may be outside, of its font size. Letters lean over, and sums of widths are rounded. */
const TOLERANCE = 0.25

/** How much of a line's height may be below the box of its text: there is little ink. */
const BELOW_MAX = 0.5

/** The block that was pressed together so that this text is lower than its lines. Undefined if there is none. */
export function squashedBlock(
  node: LayoutNode,
  { block, hasHeight }: Surroundings,
  paper: Rectangle,
): Surroundings['block'] {
  if (block === undefined || hasHeight || missingHeight(node) <= 1) return undefined
  // A block that is much lower than the page had room there.
  return lengthOf(block.node.box?.['height']) * 2 > paper.bottom ? block : undefined
}

/** The height that the lines of a text need beyond the one that its box has. */
function missingHeight({ box, lines }: LayoutNode): number {
  const [first, last] = [lines?.[0]?.box, lines?.at(-1)?.box]
  const height = lengthOf(last?.y) + lengthOf(last?.height) - lengthOf(first?.y)
  return height + lengthOf(box?.['paddingTop']) + lengthOf(box?.['paddingBottom']) - lengthOf(box?.['height'])
}

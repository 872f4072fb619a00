/** Finds lines of text outside of the boxes that should hold them, and blocks that had no room. Pure. */
import { type LayoutNode, lengthOf } from './layout-node.ts'
import { overhang, type Rectangle } from './rectangle.ts'
import type { Surroundings } from './surroundings.ts'
import type { InkedLine } from './text-ink.ts'

interface Overflow {
  /** In points. */
  readonly length: number
  readonly of: 'the page' | 'its box' | 'the box around it'
}

export function overflowOf(line: InkedLine, around: Surroundings, paper: Rectangle): Overflow | undefined {
  const { core, fontSize } = line
  const { box, frame } = around
  const tolerance = Math.max(1, fontSize * TOLERANCE)
  const beyond = (length: number, of: Overflow['of']) => (length > tolerance ? ({ length, of } as const) : undefined)
  // A pale text across a page may begin before it, and so may a text that was moved out of sight.
  const isHidden = around.isTransparent || core.right < paper.left || core.bottom < paper.top
  if (isHidden) return undefined
  return (
    beyond(overhang(core, paper), 'the page') ??
    (frame && beyond(overhang(core, frame), 'the box around it')) ??
    beyond(Math.max(box.left - core.left, core.right - box.right), 'its box') ??
    (line.below > BELOW_MAX && !around.isFlat ? beyond(core.bottom - box.bottom, 'its box') : undefined)
  )
}

/** Share of the font size that a line may be outside. Letters lean over, and sums of widths are rounded. */
const TOLERANCE = 0.25

/** Share of a line's height that may be below the box of its text: there is little ink. */
const BELOW_MAX = 0.5

/** The block whose compression made this text lower than its lines. */
export function squashedBlock(
  node: LayoutNode,
  { block, hasHeight }: Surroundings,
  paper: Rectangle,
): Surroundings['block'] {
  if (block === undefined || hasHeight || missingHeight(node) <= 1) return undefined
  // If a block is much lower than the page, there was room for it.
  return lengthOf(block.node.box?.['height']) * 2 > paper.bottom ? block : undefined
}

function missingHeight({ box, lines }: LayoutNode): number {
  const [first, last] = [lines?.[0]?.box, lines?.at(-1)?.box]
  const height = lengthOf(last?.y) + lengthOf(last?.height) - lengthOf(first?.y)
  return height + lengthOf(box?.['paddingTop']) + lengthOf(box?.['paddingBottom']) - lengthOf(box?.['height'])
}

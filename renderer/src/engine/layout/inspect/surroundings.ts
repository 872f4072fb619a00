/** What a laid-out node inherits from the nodes around it: where it is on the page, and what bounds its text. Pure. */

import { SOURCE_LINE } from '../../../template/element/pagination/page-layout.ts'
import { PRIMITIVES } from '../../../template/element/primitive.ts'
import type { ElementPosition } from '../../../template/tsx/transpile.ts'
import { isOpaque } from './color.ts'
import { type LayoutNode, lengthOf } from './layout-node.ts'
import { intersection, type Rectangle } from './rectangle.ts'

export interface Surroundings {
  /** The border box of the node itself, on the page. */
  readonly box: Rectangle
  readonly source?: ElementPosition | undefined
  /** Whether something draws it elsewhere than its layout says. Its geometry is then unknown. */
  readonly isTransformed: boolean
  readonly isTransparent: boolean
  /** Nothing is drawn outside of this. */
  readonly clip?: Rectangle | undefined
  /** The intersection of the visible boxes around it, except those that the author placed it across. A text outside looks wrong. */
  readonly frame?: Rectangle | undefined
  /** The outermost block around it that must not break. */
  readonly block?: Block | undefined
  /** Whether a style limits the height of `block`, or of a box between it and this node. */
  readonly hasHeight: boolean
  /** Whether the author gave it, or a box around it, a height of 0, so that it covers what follows. */
  readonly isFlat: boolean
}

interface Block {
  readonly node: LayoutNode
  readonly source: ElementPosition | undefined
}

export function pageSurroundings(page: LayoutNode): Surroundings {
  const box = { left: 0, top: 0, right: lengthOf(page.box?.['width']), bottom: lengthOf(page.box?.['height']) }
  const source = sourceOf(page)
  return {
    box,
    source,
    isTransformed: false,
    isTransparent: false,
    block: page.props?.['wrap'] === false ? { node: page, source } : undefined,
    hasHeight: false,
    isFlat: false,
  }
}

export function surroundingsOf(node: LayoutNode, parent: Surroundings): Surroundings {
  const { style = {}, props } = node
  const box = boxOf(node, parent)
  const isPlaced = isOutOfFlow(style)
  const isUnbroken = props?.['wrap'] === false && node.type !== 'TEXT' && !isPlaced
  const source = sourceOf(node) ?? parent.source
  const outer = isPlaced ? undefined : parent.block
  const block = outer ?? (isUnbroken ? { node, source } : undefined)
  const frame = isPlaced ? undefined : parent.frame
  const isClipped = style['overflow'] === 'hidden'
  const own = isClipped ? undefined : isVisible(style) ? intersection(box, frame) : frame
  return {
    box,
    source,
    isTransformed: parent.isTransformed || style['transform'] !== undefined,
    isTransparent: parent.isTransparent || lengthOf(style['opacity'] ?? 1) < 1,
    clip: isClipped ? (intersection(box, parent.clip) ?? NOWHERE) : parent.clip,
    frame: own,
    block,
    hasHeight: block !== undefined && ((outer !== undefined && parent.hasHeight) || isHeld(node)),
    isFlat: parent.isFlat || style['height'] === 0,
  }
}

const NOWHERE: Rectangle = { left: 0, top: 0, right: 0, bottom: 0 }

function boxOf({ box }: LayoutNode, { box: { left, top } }: Surroundings): Rectangle {
  const x = left + lengthOf(box?.['left'])
  const y = top + lengthOf(box?.['top'])
  return { left: x, top: y, right: x + lengthOf(box?.['width']), bottom: y + lengthOf(box?.['height']) }
}

/** Whether its author placed it outside of the flow. */
function isOutOfFlow(style: Style): boolean {
  return style['position'] === 'absolute' || MOVES.some((name) => isMoved(name, style[name]))
}

type Style = Readonly<Record<string, unknown>>

const MOVES = ['top', 'left', 'right', 'bottom', 'marginTop', 'marginLeft', 'marginRight', 'marginBottom'] as const

/** A margin moves an element out of its place only if it is negative. */
function isMoved(name: string, value: unknown): boolean {
  if (value === undefined || value === 0) return false
  if (!name.startsWith('margin')) return true
  return typeof value === 'string' ? value.startsWith('-') : lengthOf(value) < 0
}

/** Whether a style sets its height, and the layout did not press it below that. */
function isHeld({ style, box }: LayoutNode): boolean {
  const height = style?.['height']
  if (style?.['maxHeight'] !== undefined) return true
  return height !== undefined && !(typeof height === 'number' && lengthOf(box?.['height']) < height - 1)
}

/** Whether a reader sees where the box ends. */
function isVisible(style: Style): boolean {
  return isOpaque(style['backgroundColor']) || BORDERS.some((name) => lengthOf(style[name]) > 0)
}

const BORDERS = ['borderTopWidth', 'borderRightWidth', 'borderBottomWidth', 'borderLeftWidth'] as const

export function sourceOf({ type = '', props }: LayoutNode): ElementPosition | undefined {
  const line = props?.[SOURCE_LINE]
  return typeof line === 'number' ? { line, element: NAMES.get(type) } : undefined
}

const NAMES = new Map(Object.entries(PRIMITIVES).map(([name, { tag }]): [string, string] => [tag, name]))

/**
 * What the direction of text means for a style: the names that say start and end become left and right, as react-pdf knows them. The layout
 * itself follows the direction (see `correction.ts` of the engine). Pure.
 */
import type { Node } from './node.ts'
import { STYLES } from './primitive.ts'

export type Direction = 'ltr' | 'rtl'

type Style = Readonly<Record<string, unknown>>

/** Styles named as React Native and Yoga name them, which react-pdf does not know. */
export const LOGICAL_STYLES: ReadonlySet<string> = new Set(
  `start end marginStart marginEnd paddingStart paddingEnd borderStart borderStartColor borderStartStyle borderStartWidth
  borderEnd borderEndColor borderEndStyle borderEndWidth borderTopStartRadius borderTopEndRadius borderBottomStartRadius
  borderBottomEndRadius`.split(/\s+/),
)

/** Every style that a template may name. */
export const STYLE_NAMES: ReadonlySet<string> = new Set([...STYLES, ...LOGICAL_STYLES])

/** The direction that a style sets. react-pdf ignores other values, and so do we. */
export function directionOf(style: Style): Direction | undefined {
  const { direction } = style as { direction?: unknown }
  return direction === 'ltr' || direction === 'rtl' ? direction : undefined
}

/** The style with left and right in place of start and end. A name keeps its place, because of two names for one edge the last wins. */
export function physicalStyle(style: Style, direction: Direction): Style {
  const entries = Object.entries(style)
  if (!entries.some(([name]) => LOGICAL_STYLES.has(name) || name.startsWith('@'))) return style
  return Object.fromEntries(
    entries.map(([name, value]) => {
      // `propValue` makes a flat style of what is under a media query.
      if (name.startsWith('@')) return [name, physicalStyle(value as Style, direction)] as const
      return [physicalName(name, direction), value] as const
    }),
  )
}

/** The name that react-pdf knows for a style, of text in this direction. */
export function physicalName(name: string, direction: Direction): string {
  if (!LOGICAL_STYLES.has(name)) return name
  const [start, end] = direction === 'ltr' ? (['Left', 'Right'] as const) : (['Right', 'Left'] as const)
  if (name === 'start' || name === 'end') return (name === 'start' ? start : end).toLowerCase()
  return name.replace('Start', start).replace('End', end)
}

interface Place {
  /** The direction of the parent. */
  readonly direction: Direction
  /** Whether the element is a part of a paragraph. */
  readonly isInline: boolean
  /** Whether it is inside a drawing, where nothing follows the direction. */
  readonly isDrawing: boolean
}

interface Directed {
  readonly direction: Direction
  readonly content: Node
  readonly style?: Style
}

/**
 * The direction of an element, and its style and content for react-pdf. There a paragraph has one direction. So text within a text that has
 * another one gets the characters that set it apart from the text around: it counts there as one neutral character, as `<bdi dir>` of HTML.
 */
export function directed(node: Node, props: Style, { direction: outer, isInline, isDrawing }: Place): Directed {
  if (props['style'] === undefined || isDrawing) return { content: node, direction: outer }
  // `propValue` turns every style into a flat record.
  const own = props['style'] as Style
  const direction = directionOf(own) ?? outer
  const style = physicalStyle(own, direction)
  if (direction === outer || !isInline) return { content: node, direction, style }
  const { direction: _, ...others } = style as { direction?: unknown }
  const isolate = direction === 'ltr' ? LEFT_TO_RIGHT_ISOLATE : RIGHT_TO_LEFT_ISOLATE
  return { content: { ...node, children: [isolate, ...node.children, POP_ISOLATE] }, direction, style: others }
}

const LEFT_TO_RIGHT_ISOLATE = '\u2066'
const RIGHT_TO_LEFT_ISOLATE = '\u2067'
const POP_ISOLATE = '\u2069'

/**
 * Turns start and end in the names of styles into left and right, which react-pdf knows, by the direction of the text. The layout itself
 * follows the direction (see `correction.ts` of the engine). Pure.
 */
import type { Node } from './node.ts'
import { STYLES } from './primitive.ts'

export type Direction = 'ltr' | 'rtl'

type Style = Readonly<Record<string, unknown>>

/** Names of React Native and Yoga that react-pdf does not know. */
export const LOGICAL_STYLES: ReadonlySet<string> = new Set(
  `start end marginStart marginEnd paddingStart paddingEnd borderStart borderStartColor borderStartStyle borderStartWidth
  borderEnd borderEndColor borderEndStyle borderEndWidth borderTopStartRadius borderTopEndRadius borderBottomStartRadius
  borderBottomEndRadius`.split(/\s+/),
)

export const STYLE_NAMES: ReadonlySet<string> = new Set([...STYLES, ...LOGICAL_STYLES])

/** Ignores other values, as react-pdf does. */
export function directionOf(style: Style): Direction | undefined {
  const { direction } = style as { direction?: unknown }
  return direction === 'ltr' || direction === 'rtl' ? direction : undefined
}

/** Each name keeps its place: if two names set one edge, the last wins. */
export function physicalStyle(style: Style, direction: Direction): Style {
  const entries = Object.entries(style)
  if (!entries.some(([name]) => LOGICAL_STYLES.has(name) || name.startsWith('@'))) return style
  return Object.fromEntries(
    entries.map(([name, value]) => {
      // `propValue` flattens the styles under a media query.
      if (name.startsWith('@')) return [name, physicalStyle(value as Style, direction)] as const
      return [physicalName(name, direction), value] as const
    }),
  )
}

export function physicalName(name: string, direction: Direction): string {
  if (!LOGICAL_STYLES.has(name)) return name
  const [start, end] = direction === 'ltr' ? (['Left', 'Right'] as const) : (['Right', 'Left'] as const)
  if (name === 'start' || name === 'end') return (name === 'start' ? start : end).toLowerCase()
  return name.replace('Start', start).replace('End', end)
}

interface Place {
  readonly direction: Direction
  readonly isInline: boolean
  /** Inside a drawing, nothing follows the direction. */
  readonly isDrawing: boolean
}

interface Directed {
  readonly direction: Direction
  readonly content: Node
  readonly style?: Style
}

/**
 * The direction, style and content of an element for react-pdf, where a paragraph has one direction. So text of another direction within a
 * text gets isolating characters: it counts as one neutral character there, like `<bdi dir>` in HTML.
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

/** Figures as elements of react_pdf: each becomes an `<Svg>` of primitives, which is translated like any other. */
import type { JsonObject } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import type { Node } from '../element/node.ts'
import type { Faults } from '../element/prop.ts'
import { FigureFault, figureNode } from './figure.ts'
import { drawFigure, FIGURES, type FigureName } from './figures.ts'

/** Passed to the `<Svg>`. */
const FRAME_PROPS: ReadonlySet<string> = new Set([
  'id',
  'style',
  'fixed',
  'break',
  'minPresenceAhead',
  'debug',
  'bookmark',
])

/** Undefined if the figure has the prop. */
export function unknownProp(name: FigureName, prop: string): string | undefined {
  const known = [...FIGURES[name].properties, ...FRAME_PROPS]
  return known.includes(prop) ? undefined : `<${name} ${prop}>: there is no such prop${suggestion(prop, known)}`
}

interface FigureContext {
  readonly faults: Faults
  readonly locale: string | undefined
}

/** Returns the `<Svg>` in place of a figure. Throws the errors of `faults` for unknown props, and for values that cannot be drawn. */
export function figureElement(name: FigureName, node: Node, { faults, locale }: FigureContext): Node {
  const { properties } = FIGURES[name]
  for (const prop of Object.keys(node.props)) {
    const fault = unknownProp(name, prop)
    if (fault !== undefined) throw faults(fault, prop)
  }
  if (node.children.length > 0) throw faults(`<${name}> takes no children`)
  if (node.render !== undefined) throw faults(`<${name} render>: there is no such prop`, 'render')
  const own: JsonObject = Object.fromEntries(Object.entries(node.props).filter(([prop]) => properties.has(prop)))
  try {
    return figureNode(drawFigure(name, own, locale), node, properties)
  } catch (cause) {
    throw cause instanceof FigureFault ? faults(`<${name}>: ${cause.message}`) : cause
  }
}

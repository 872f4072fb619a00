/** Which children of a page repeat on every page, and how. Pure. */
import type { Json } from '@platen/contract/brand.ts'
import type { Node } from '../elements.ts'

type Child = Node | string

/** Repeats, and stands where its style says: its place among its siblings means nothing. */
export function isPinned(child: Child): boolean {
  return isFixed(child) && isAbsolute(child)
}

/** The children at the end of a page that repeat and take space: a footer. A page of nothing else has none: they are its content. */
export function chromeOf(children: readonly Child[]): readonly Child[] {
  const contentEnd = children.findLastIndex((child) => typeof child !== 'string' && !isFixed(child)) + 1
  return contentEnd === 0 ? [] : children.slice(contentEnd).filter((child) => isFixed(child) && !isAbsolute(child))
}

function isFixed(child: Child): child is Node {
  return typeof child !== 'string' && child.props['fixed'] === true
}

function isAbsolute(child: Child): boolean {
  return typeof child !== 'string' && lastOf(child.props['style'], 'position') === 'absolute'
}

/** The value a style or a list of styles ends up with. */
function lastOf(style: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(style))
    return style.map((part: Json) => lastOf(part, name)).findLast((value) => value !== undefined)
  return typeof style === 'object' && style !== null && !Array.isArray(style)
    ? (style as { [key: string]: Json })[name]
    : undefined
}

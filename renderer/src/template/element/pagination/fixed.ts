/** Decides which children of a page repeat on every page, and how. Pure. */
import type { Json } from '@platen/lib/brand.ts'

import type { PixelImage } from '../image.ts'
import type { Node } from '../node.ts'
import type { Props } from '../prop.ts'

type Child = Node | string

/** Whether a child repeats and is positioned absolutely. Its place among its siblings then does not count. */
export function isPinned(child: Child): boolean {
  return isFixed(child) && isAbsolute(child)
}

/** Whether a child, or something in it, is made again for every page. */
export function isDynamic(child: Child): boolean {
  return typeof child !== 'string' && (child.render !== undefined || child.children.some(isDynamic))
}

/**
 * The footer: the children at the end of a page that repeat and take space. A page with only such children has no footer, because they are
 * its content.
 */
export function footerOf(children: readonly Child[]): readonly Child[] {
  const contentEnd = children.findLastIndex((child) => typeof child !== 'string' && !isFixed(child)) + 1
  return contentEnd === 0 ? [] : children.slice(contentEnd).filter((child) => isFixed(child) && !isAbsolute(child))
}

export function hasContent(children: readonly Child[]): boolean {
  return children.some((child) => typeof child !== 'string' && !isFixed(child))
}

export function hasHead(children: readonly Child[]): boolean {
  return children.some((child) => isFixed(child) && !isAbsolute(child))
}

/**
 * Whether a child repeats, takes space and is made again for each page. react-pdf measures the page before it makes this child, and then
 * squeezes everything on the page.
 */
export function isDynamicHead(child: Child): boolean {
  return isFixed(child) && child.render !== undefined && !isAbsolute(child)
}

export function beginsWithBreak(children: readonly Child[]): boolean {
  const first = children.find((child) => typeof child !== 'string' && !isAbsolute(child))
  return first !== undefined && typeof first !== 'string' && Boolean(first.props['break'])
}

/**
 * The style of an image or drawing that repeats. Pagination measures it again for every page, and then ignores the pixels of an image and
 * the attributes of a drawing. So the size must be in the style.
 */
export function sizedStyle(tag: string, props: Props): Props {
  // `propValue` has flattened the style, and the source is an image that was read.
  const style = (props['style'] ?? {}) as Props
  if (tag === 'SVG') return { ...sizeOf(props), ...style }
  if (tag !== 'IMAGE' || (style['width'] !== undefined && style['height'] !== undefined)) return style
  const { width, height } = props['src'] as PixelImage
  const isFree = style['width'] === undefined && style['height'] === undefined
  return { aspectRatio: width / height, ...(isFree ? { width } : {}), ...style }
}

function sizeOf(props: Props): Props {
  const lengths = ['width', 'height'].map((name) => [name, props[name]] as const)
  // An attribute in quotes without a unit is also a number of points.
  return Object.fromEntries(
    lengths.flatMap(([name, length]) => (length === undefined ? [] : [[name, Number(length) || length] as const])),
  )
}

function isFixed(child: Child): child is Node {
  return typeof child !== 'string' && child.props['fixed'] === true
}

function isAbsolute(child: Child): boolean {
  return typeof child !== 'string' && lastOf(child.props['style'], 'position') === 'absolute'
}

/** The last value wins in a list of styles. */
export function lastOf(style: Json | undefined, name: string): Json | undefined {
  if (Array.isArray(style))
    return style.map((part: Json) => lastOf(part, name)).findLast((value) => value !== undefined)
  return typeof style === 'object' && style !== null && !Array.isArray(style)
    ? (style as { [key: string]: Json })[name]
    : undefined
}

/**
 * The element tree a tenant's component gave (see `evaluate.ts`) → React elements for react-pdf.
 *
 * The tree is untrusted JSON. Only what `element/primitive.ts` lists passes, value by value, so that nothing in it is a key, a function
 * or an address to react-pdf: no prototype, no path or URL to read from, no event. On the way the render's options are laid over
 * every page, fonts get their fallback, and fixed elements are put where the fast pagination wants them.
 */
import type { Json, JsonObject } from '@platen/contract/brand.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { ELEMENT_DEPTH_MAX, ELEMENTS_MAX } from '@platen/contract/limit.ts'
import type { RenderOptions } from '@platen/contract/render.ts'
import type { TemplateSource } from '@platen/contract/tenant.ts'
import { createElement, type ReactElement, type ReactNode } from 'react'
import { DEFAULT_FAMILY, type Families, plainText, withFallback } from './asset/fonts.ts'
import { chromeOf, framedStyle, isPinned } from './element/fixed.ts'
import type { ImageSource, ReadImage } from './element/image.ts'
import { documentProps, pageProps } from './element/page.ts'
import { type Place, PRIMITIVES, type Primitive, primitiveOf, suggestion, TEXT_PLACES } from './element/primitive.ts'
import { type Faults, type Props, propValue } from './element/prop.ts'
import { TEMPLATE_FILE } from './transpile.ts'

export interface Translation {
  /** What was asked for: page options, and the template whose metadata the document carries. */
  readonly template: Pick<TemplateSource, 'code' | 'name' | 'version' | 'locale'>
  readonly options: RenderOptions
  readonly image: ReadImage
  readonly families: Families
  /** Runs a `render` function of the tree; called back during layout. */
  readonly call: (id: number, page: PageNumbers) => Json
}

/** What react-pdf tells a `render` function. The totals are missing in the first round of layout. */
export type PageNumbers = Readonly<Partial<Record<(typeof PAGE_NUMBERS)[number], number>>>
const PAGE_NUMBERS = ['pageNumber', 'totalPages', 'subPageNumber', 'subPageTotalPages'] as const

/**
 * Translates the nodes of a component into one document element. Throws `ServiceError` with `template_error` for anything that is
 * not listed, in the wrong place, or too much, and with `asset_unavailable` for an image that cannot be used; `render` functions
 * throw the same later, during layout.
 */
export function translate(nodes: Json, translation: Translation): ReactElement<Props> {
  const faults: Faults = (message) => new ServiceError('template_error', `${TEMPLATE_FILE}: ${message}`)
  const [root, ...others] = listOf(nodes, 0, faults)
  if (root === undefined || typeof root === 'string' || others.length > 0) {
    throw faults('the component must return exactly one <Document>')
  }
  const images = new Map<string, ImageSource>()
  const image = (src: string) => {
    const known = images.get(src) ?? translation.image(src)
    images.set(src, known)
    return known
  }
  const family = withFallback([DEFAULT_FAMILY], translation.families)
  const spot: Spot = { place: 'root', depth: 0, faults, family, isDrawing: false, isWithinText: false }
  return elementOf(root, spot, { ...translation, image, budget: { left: ELEMENTS_MAX } })
}

/** A node of the tree after a look at its frame; its props and children are looked at on the way down. */
export interface Node {
  readonly type: string
  readonly props: JsonObject
  readonly children: readonly (Node | string)[]
  readonly line?: number
  readonly render?: number
}

interface Context extends Translation {
  readonly budget: { left: number }
  /** Set while the parts of a page that repeat are made for one page: `render` functions then run at once. */
  readonly page?: PageNumbers
}

interface Spot {
  readonly place: Place
  readonly depth: number
  /** Makes an error that says where in the source its parent is. */
  readonly faults: Faults
  readonly family: readonly string[]
  /** Is it within <Svg>? */
  readonly isDrawing: boolean
  /** Is the text it is in a part of another? */
  readonly isWithinText: boolean
}

function translateAll(nodes: readonly (Node | string)[], spot: Spot, context: Context): ReactNode[] {
  return nodes.flatMap((node) =>
    typeof node === 'string' ? textOf(node, spot, context) : elementOf(node, spot, context),
  )
}

function textOf(text: string, spot: Spot, context: Context): ReactNode[] | string | null {
  spend(spot, context)
  if (TEXT_PLACES.includes(spot.place)) {
    // Neither a drawing nor a note takes a text within a text.
    const isWhole = spot.isDrawing || spot.place === 'note'
    const [first = '', ...others] = isWhole ? [plainText(text)] : plainText(text).split(AFTER_EMOJI)
    if (others.length === 0) return first
    const texts = others.map((part) => {
      spend(spot, context)
      // A text within a text inherits its background, and would lay it over that of the box.
      return createElement('TEXT', spot.isWithinText ? null : { style: { backgroundColor: 'transparent' } }, part)
    })
    return [first, ...texts]
  }
  // `{count && <Text/>}` leaves a 0 behind, and JSX its blanks: everybody's habit, and nothing to print.
  if (['', '0', 'NaN'].includes(text.trim())) return null
  throw spot.faults('text stands outside <Text>')
}

/**
 * react-pdf cuts a text behind every emoji and gives what follows the first font of the chain, letters it has not included
 * (in Helvetica, the second of two stars comes out as P). What follows is a text of its own here, which is drawn right.
 */
const AFTER_EMOJI = /(?<=[\p{Emoji}--[#*0-9]]|\uFE0F|\u20E3)(?!\u200D|\uFE0F|\u20E3|\p{Emoji_Modifier}|$)/v

function spend({ faults }: Pick<Spot, 'faults'>, { budget }: Context): void {
  budget.left -= 1
  if (budget.left < 0) throw faults(`the document has more than ${ELEMENTS_MAX} elements`)
}

function elementOf(node: Node, spot: Spot, context: Context): ReactElement<Props> {
  const { type } = node
  const at = node.line === undefined ? TEMPLATE_FILE : `${TEMPLATE_FILE}:${node.line}`
  const faults: Faults = (message) => new ServiceError('template_error', `${at}: ${message}`)
  spend({ faults }, context)
  const primitive = primitiveOf(type, spot.place)
  if (primitive === undefined)
    throw faults(`<${type}> is not an element here${suggestion(type, Object.keys(PRIMITIVES))}`)
  if (!primitive.within.includes(spot.place)) throw faults(`<${type}> cannot stand ${PLACE_NAMES[spot.place]}`)
  const props = propsOf(node, primitive, { faults, context })
  Object.assign(props, drawingProps(props, primitive, spot))
  if (context.page !== undefined) props['style'] = framedStyle(primitive.tag, props)
  const inner: Spot = {
    place: primitive.holds ?? spot.place,
    depth: spot.depth + 1,
    faults,
    family: familyOf(props) ?? spot.family,
    isDrawing: spot.isDrawing || primitive.tag === 'SVG',
    isWithinText: spot.isWithinText || spot.place === 'text',
  }
  if (primitive.holds === undefined && node.children.length > 0) throw faults(`<${type}> takes no children`)
  if (primitive.tag === 'DOCUMENT') Object.assign(props, documentProps(props, context.template))
  if (primitive.tag === 'PAGE') {
    Object.assign(props, pageProps(props, { ...context, faults, family: spot.family }))
    Object.assign(props, repeatingProps(node, inner, context))
  }
  return createElement(primitive.tag, { ...props, ...contentOf(node, primitive, { spot, inner, context }) })
}

const PLACE_NAMES: Readonly<Record<Place, string>> = {
  root: 'at the root: a component returns a <Document>',
  document: 'in <Document>: it holds <Page> only',
  flow: 'here',
  link: 'in <Link>',
  text: 'in <Text>',
  note: 'in <Note>',
  svg: 'in <Svg>',
}

function propsOf(node: Node, primitive: Primitive, { faults, context }: { faults: Faults; context: Context }): Props {
  const props: Props = {}
  for (const [name, value] of Object.entries(node.props)) {
    if (value === null) continue
    const kind = Object.hasOwn(primitive.props, name) ? primitive.props[name] : undefined
    const named: Faults = (message) => faults(`<${node.type} ${name}>: ${message}`)
    if (kind === undefined) throw named(`there is no such prop${suggestion(name, Object.keys(primitive.props))}`)
    if (kind === 'image') props['src'] = context.image(addressOf(value, named))
    else props[name] = propValue(kind, value, { faults: named, families: context.families })
  }
  // Off: react-pdf's image cache is shared by all renders of a thread.
  if (primitive.tag === 'IMAGE') props['cache'] = false
  return props
}

/** An image is named by a text, or by the `uri` of what react-pdf calls a source. */
function addressOf(value: Json, faults: Faults): string {
  const address = isObject(value) ? value['uri'] : value
  if (typeof address === 'string') return address
  throw new ServiceError('asset_unavailable', faults('must be a text such as asset:logo.png, or { uri }').message)
}

/** The children, or for a `render` prop what makes them. */
function contentOf(
  node: Node,
  primitive: Primitive,
  { spot, inner, context }: { spot: Spot; inner: Spot; context: Context },
): Props {
  const { render } = node
  if (render !== undefined) {
    if (!DYNAMIC.includes(primitive.tag)) throw inner.faults(`<${node.type} render>: there is no such prop`)
    const draw = (page: PageNumbers) => {
      const nodes = listOf(context.call(render, numbersOf(page)), inner.depth, inner.faults)
      return translateAll(nodes, inner, { ...context, budget: { left: ELEMENTS_MAX } })
    }
    return context.page === undefined ? { render: draw } : { children: draw(context.page) }
  }
  const chrome = new Set(primitive.tag === 'PAGE' ? chromeOf(node.children) : [])
  const children = node.children.filter((child) => !chrome.has(child))
  if (inner.place === 'flow') {
    // The fast pagination shows a fixed element from its place in the document on; one that is positioned absolutely can stand first.
    children.sort((left, right) => Number(isPinned(right)) - Number(isPinned(left)))
  }
  const translated = translateAll(children, inner, context)
  // react-pdf does the same to a link of text, but not to one it meets only during pagination.
  const isLooseText =
    primitive.tag === 'LINK' && spot.place !== 'text' && children.every((child) => typeof child === 'string')
  return { children: isLooseText ? createElement('TEXT', { children: translated }) : translated }
}

const DYNAMIC = ['VIEW', 'TEXT', 'LINK']

function numbersOf(page: PageNumbers): PageNumbers {
  return Object.fromEntries(PAGE_NUMBERS.map((name) => [name, page[name]] as const))
}

/** A page that ends with fixed elements in the flow (a footer) gets them as a frame around its content, with space set aside on every page. */
function repeatingProps(node: Node, inner: Spot, context: Context): Props {
  const chrome = chromeOf(node.children)
  if (chrome.length === 0) return {}
  const layout = ({ children, ...page }: PageNumbers & { readonly children?: ReactNode }) => [
    children,
    ...translateAll(chrome, inner, { ...context, budget: { left: ELEMENTS_MAX }, page }),
  ]
  return { layout }
}

/** Within <Svg> a font is inherited as an attribute, which wins over a style, and not from outside. */
function drawingProps(props: Props, { tag }: Primitive, spot: Spot): Props {
  const isRoot = tag === 'SVG'
  if (!isRoot && tag !== 'TSPAN' && spot.place !== 'svg') return {}
  const fontFamily = familyOf(props) ?? (isRoot ? spot.family : undefined)
  return fontFamily === undefined ? {} : { fontFamily }
}

function styleOf(props: Props): Props {
  // `propValue` makes every style a flat record.
  return (props['style'] ?? {}) as Props
}

function familyOf(props: Props): readonly string[] | undefined {
  // `propValue` makes every font family a list.
  return styleOf(props)['fontFamily'] as readonly string[] | undefined
}

/** The frame of the nodes, which everything below can then rely on: depth and fields, but not what the props are. */
function listOf(nodes: Json | undefined, depth: number, faults: Faults): readonly (Node | string)[] {
  if (!Array.isArray(nodes)) throw faults('the component gave no element tree')
  if (depth > ELEMENT_DEPTH_MAX && nodes.length > 0) {
    throw faults(`elements are nested more than ${ELEMENT_DEPTH_MAX} deep`)
  }
  return nodes.map((node: Json) => (typeof node === 'string' ? node : nodeOf(node, depth, faults)))
}

function nodeOf(node: Json, depth: number, faults: Faults): Node {
  if (!isObject(node)) throw faults('the component gave no element tree')
  const { type, props, children, line, render } = node
  if (typeof type !== 'string' || !isObject(props)) throw faults('the component gave no element tree')
  return {
    type,
    props,
    children: listOf(children, depth + 1, faults),
    ...(typeof line === 'number' ? { line } : {}),
    ...(typeof render === 'number' ? { render } : {}),
  }
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

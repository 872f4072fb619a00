/**
 * Translates the element tree of a tenant's component (see `evaluate.ts`) into React elements for react-pdf.
 *
 * The tree is untrusted JSON. Only what `element/primitive.ts` lists passes, value by value. So nothing in the tree becomes a key, a
 * function or an address for react-pdf: no prototype, no path or URL to read from, no event. The translation also applies the render's
 * options to every page, adds font fallbacks, and places fixed elements where the fast pagination needs them.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { RenderOptions } from '@platen/contract/domain/render-options.ts'
import type { TemplateSource } from '@platen/contract/domain/tenant.ts'
import type { WarningCode } from '@platen/contract/domain/warning.ts'
import { isJsonObject, type Json } from '@platen/lib/brand.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { createElement, type ReactElement, type ReactNode } from 'react'
import { DEFAULT_FAMILY } from './asset/font/default-fonts.ts'
import { type Families, plainText, withFallback } from './asset/fonts.ts'
import { type Direction, directed } from './element/direction.ts'
import { type EffectPlace, elementWords, openUndrawn, propWithoutEffect, stylesDrawn } from './element/effect.ts'
import { drawingOf, hasNoAddress, pixelImageOf, type ReadImage } from './element/image.ts'
import { lineHeightOf } from './element/line-height.ts'
import type { Node } from './element/node.ts'
import { documentProps, isGrowing, pageProps } from './element/page.ts'
import {
  beginsWithBreak,
  footerOf,
  hasContent,
  hasHead,
  isDynamicHead,
  lastOf,
  sizedStyle,
} from './element/pagination/fixed.ts'
import {
  DYNAMIC_MARK,
  FOOTER_MARK,
  footerHolderOf,
  indexProps,
  type LayoutPage,
  overlayOf,
  PAGE_GROUP_MARK,
  type PageGroup,
  pageLayoutOf,
  pinnedFirst,
  SECTION_MARK,
  SOURCE_LINE,
} from './element/pagination/page-layout.ts'
import {
  type ParentKind,
  PRIMITIVES,
  type Primitive,
  primitiveOf,
  REFUSED_PROPS,
  TEXT_PARENTS,
} from './element/primitive.ts'
import { brokenLink, type Faults, gradientZeros, openStyles, type Props, propValue } from './element/prop.ts'
import { figureElement } from './figure/element.ts'
import { isFigureName } from './figure/figures.ts'
import { ELEMENT_DEPTH_MAX, ELEMENTS_MAX } from './limit.ts'
import { type ElementPosition, type Program, TEMPLATE_FILE } from './tsx/transpile.ts'
import { type WrappingStyle, wrappingOf, wrappingStyleOf } from './wrapping.ts'

export interface Translation {
  readonly template: Pick<TemplateSource, 'code' | 'name' | 'version' | 'locale'>
  readonly options: RenderOptions
  readonly image: ReadImage
  readonly families: Families
  /** See `PropScope`. */
  readonly isCheck?: boolean
  /** Told of everything that has no effect or is not drawn, with its position. */
  readonly onIgnored?: (source: ElementPosition | undefined, message: string, code?: WarningCode) => void
  /** Runs a `render` function of the tree. Called during layout. */
  readonly call: (id: number, page: PageNumbers) => Json
  readonly find?: Program['find']
  /** Makes a page's guard for react-pdf's own pagination. Absent for the fast pagination. See `plain.ts` of the engine. */
  readonly paginationGuard?: () => ReactElement
  /** Numbers of sections that must begin a page. See `SECTION_MARK`. */
  readonly breaks?: ReadonlySet<number>
}

/** react-pdf's arguments of a `render` function. The totals are missing in the first pass of layout. */
export type PageNumbers = Readonly<Partial<Record<(typeof PAGE_NUMBERS)[number], number>>>
const PAGE_NUMBERS = ['pageNumber', 'totalPages', 'subPageNumber', 'subPageTotalPages'] as const

/**
 * Returns the document element. Throws `ServiceError` with `template_error` for anything that is not listed, in the wrong place, or too
 * much. Throws `asset_unavailable` for an image that cannot be used. `render` functions throw the same errors later, during layout.
 */
export function translate(nodes: Json, translation: Translation): ReactElement<Props> {
  const faults: Faults = (message) => new ServiceError('template_error', `${TEMPLATE_FILE}: ${message}`)
  const [root, ...others] = listOf(nodes, 0, faults)
  if (root === undefined || typeof root === 'string' || others.length > 0) {
    throw faults('the component must return exactly one <Document>')
  }
  const family = withFallback([DEFAULT_FAMILY], translation.families)
  const outside = { isDrawing: false, isWithinText: false, direction: 'ltr', wrapping: {} } as const
  const spot: ElementContext = { parentKind: 'root', depth: 0, faults, family, ...outside }
  return elementOf(root, spot, {
    ...translation,
    budget: { left: ELEMENTS_MAX },
    sections: { count: 0 },
    flow: { isMoved: false },
    checkStyle: openStyles(),
    undrawn: openUndrawn(),
  })
}

interface TranslationContext extends Translation {
  readonly budget: { left: number }
  readonly sections: { count: number }
  readonly checkStyle: ReturnType<typeof openStyles>
  readonly undrawn: ReturnType<typeof openUndrawn>
  /** A child of the page's flow was moved from its place. */
  readonly flow: { isMoved: boolean }
  /** Set while the repeating parts of a page are made for one page. `render` functions then run at once. */
  readonly page?: PageNumbers
  /** Set while a `render` function makes elements for this page. react-pdf calls no function within them. */
  readonly latePage?: PageNumbers
}

interface ElementContext {
  readonly parentKind: ParentKind
  readonly depth: number
  readonly faults: Faults
  readonly family: readonly string[]
  readonly isDrawing: boolean
  readonly isWithinText: boolean
  /** Passed on here, because react-pdf passes on only the styles that it knows. */
  readonly wrapping: WrappingStyle
  readonly direction: Direction
  /** The inherited line height, which react-pdf may have lost. */
  readonly lineHeight?: string | undefined
  readonly mark?: Props
  /** Keeps its height where the page has too little space. */
  readonly isRigid?: boolean
}

function translateAll(
  nodes: readonly (Node | string)[],
  spot: ElementContext,
  context: TranslationContext,
): ReactNode[] {
  return nodes.flatMap((node) =>
    typeof node === 'string' ? textOf(node, spot, context) : elementOf(node, spot, context),
  )
}

function textOf(text: string, spot: ElementContext, context: TranslationContext): ReactNode[] | string | null {
  spendElement(spot, context)
  if (TEXT_PARENTS.includes(spot.parentKind)) {
    // Drawings and notes do not accept a text within a text.
    const isWhole = spot.isDrawing || spot.parentKind === 'note'
    const [first = '', ...others] = isWhole ? [plainText(text)] : plainText(text).split(AFTER_EMOJI)
    if (others.length === 0) return first
    const texts = others.map((part) => {
      spendElement(spot, context)
      // A nested text inherits the background of its text, and would draw it over that of the box.
      return createElement('TEXT', spot.isWithinText ? null : { style: { backgroundColor: 'transparent' } }, part)
    })
    return [first, ...texts]
  }
  // `{count && <Text/>}` leaves a 0, and JSX leaves blanks. Both are common and must not be printed.
  if (['', '0', 'NaN'].includes(text.trim())) return null
  throw spot.faults('text must be inside <Text>')
}

/**
 * react-pdf cuts a text after every emoji and draws the rest with the first font of the chain, with letters it has not included. (In
 * Helvetica, the second of two stars comes out as P.) So we make the rest a text of its own, which is drawn correctly.
 */
const AFTER_EMOJI = /(?<=[\p{Emoji}--[#*0-9]]|\uFE0F|\u20E3)(?!\u200D|\uFE0F|\u20E3|\p{Emoji_Modifier}|$)/v

function spendElement({ faults }: Pick<ElementContext, 'faults'>, { budget }: TranslationContext): void {
  budget.left -= 1
  if (budget.left < 0) throw faults(`the document has more than ${ELEMENTS_MAX} elements`)
}

function elementOf(given: Node, spot: ElementContext, context: TranslationContext): ReactElement<Props> {
  const node = withoutAbsentImage(given, spot, context)
  const { type } = node
  const faults = faultsOf(node, context)
  if (isFigureName(type))
    return elementOf(figureElement(type, node, { faults, locale: context.template.locale }), spot, context)
  spendElement({ faults }, context)
  const drawing = type === 'Image' ? drawingOf(node, context.image, faults) : undefined
  if (drawing !== undefined) return elementOf(drawing, spot, context)
  const primitive = primitiveOf(type, spot.parentKind)
  if (primitive === undefined)
    throw faults(`<${type}> is not an element here${suggestion(type, Object.keys(PRIMITIVES))}`)
  if (!primitive.within.includes(spot.parentKind)) throw faults(`<${type}> cannot be ${PARENT_NAMES[spot.parentKind]}`)
  const props = { ...propsOf(node, primitive, { faults, context, place: placeOf(spot) }), ...spot.mark }
  if (node.line !== undefined && HAVE_BOXES.includes(spot.parentKind)) props[SOURCE_LINE] = node.line
  Object.assign(props, drawingProps(props, primitive, spot))
  const { content, direction, style } = directed(node, props, { ...spot, isInline: isInline(spot) })
  if (style !== undefined) props['style'] = style
  if (context.page !== undefined) props['style'] = sizedStyle(primitive.tag, props)
  const isHead = isDynamicHead(node)
  if ((isHead || spot.isRigid === true) && primitive.tag === 'VIEW')
    props['style'] = { flexShrink: HARDLY, ...styleOf(props) }
  const isLate = context.latePage !== undefined || context.page !== undefined
  if (isLate && primitive.tag === 'TEXT' && spot.parentKind !== 'text' && spot.parentKind !== 'svg')
    props['style'] = { ...(spot.lineHeight === undefined ? {} : { lineHeight: spot.lineHeight }), ...styleOf(props) }
  if (primitive.tag === 'DOCUMENT') Object.assign(props, documentProps(props, context.template))
  const wrapping = wrappingStyleOf(props, spot.wrapping)
  if (primitive.tag === 'TEXT') props['hyphenationCallback'] = wrappingOf(wrapping)
  const inner: ElementContext = {
    parentKind: primitive.holds ?? spot.parentKind,
    depth: spot.depth + 1,
    faults,
    family: familyOf(props) ?? spot.family,
    isDrawing: spot.isDrawing || primitive.tag === 'SVG',
    isWithinText: isInline(spot),
    wrapping,
    direction,
    lineHeight: lineHeightOf(styleOf(props)) ?? spot.lineHeight,
    isRigid: isHead,
  }
  if (primitive.holds === undefined && node.children.length > 0) throw faults(`<${type}> takes no children`)
  warnOfStacking(node, context)
  if (primitive.tag === 'PAGE') {
    Object.assign(props, pageProps(props, { ...context, faults, family: spot.family }), {
      experimentalPagination: context.paginationGuard === undefined,
      [PAGE_GROUP_MARK]: { hasContent: hasContent(node.children) } satisfies PageGroup,
    })
    if (context.paginationGuard === undefined && isGrowing(props)) props['wrap'] = false
    return createElement(primitive.tag, { ...props, ...pageContentOf(node, props, { inner, context }) })
  }
  if (inner.parentKind === 'flow' && hasHead(node.children)) Object.assign(props, sectionProps(context))
  // react-pdf never ends a document with a set without fields.
  const tag = primitive.tag === 'FIELD_SET' && !mayHoldField(node) ? PRIMITIVES.View.tag : primitive.tag
  return createElement(tag, { ...props, ...contentOf(content, primitive, { spot, inner, context }) })
}

/** Replaces an image without an address by its box and content. */
function withoutAbsentImage(node: Node, spot: ElementContext, { onIgnored }: TranslationContext): Node {
  if (!['Image', 'ImageBackground'].includes(node.type) || !hasNoAddress(node.props)) return node
  const { src: _src, source: _source, cache: _cache, imageStyle: _style, ...props } = node.props
  onIgnored?.(positionOf(node, 'src'), `<${node.type} src>: it has no address, so nothing is drawn`, 'image_absent')
  const others = node.line === undefined ? {} : { line: node.line }
  if (spot.parentKind === 'text') return { type: 'Text', props: {}, children: [], ...others }
  return { ...node, type: 'View', props }
}

function mayHoldField({ children, render }: Node): boolean {
  if (render !== undefined) return true
  return children.some((child) => typeof child !== 'string' && (FIELDS.includes(child.type) || mayHoldField(child)))
}

const FIELDS = ['TextInput', 'Select', 'List', 'Checkbox']

/** `zIndex` orders siblings only. Whether siblings overlap is known only after the layout. */
function warnOfStacking({ children: [only, ...others] }: Node, { onIgnored }: TranslationContext): void {
  if (others.length > 0 || only === undefined || typeof only === 'string') return
  if (!Number(lastOf(only.props['style'], 'zIndex') ?? 0)) return
  const reason = 'the style zIndex has no effect, because the element has no siblings'
  onIgnored?.(positionOf(only, 'style'), `<${only.type} style>: ${reason}`)
}

/** The number, in source order, identifies the section after layout. */
function sectionProps({ sections, breaks }: TranslationContext): Props {
  sections.count += 1
  return { [SECTION_MARK]: sections.count, ...(breaks?.has(sections.count) === true && { break: true }) }
}

/** react-pdf reads a `flexShrink` of 0 as 1. */
const HARDLY = 1e-6

function isInline(spot: ElementContext): boolean {
  return spot.isWithinText || spot.parentKind === 'text'
}

function placeOf(spot: ElementContext): EffectPlace {
  return { isDrawing: spot.isDrawing, isInline: isInline(spot) }
}

/** Children of these have a box. */
const HAVE_BOXES: readonly ParentKind[] = ['document', 'flow', 'link']

function faultsOf({ type, line }: Node, { find }: Pick<TranslationContext, 'find'>): Faults {
  return (message, prop) => {
    const bare = line === undefined ? TEMPLATE_FILE : `${TEMPLATE_FILE}:${line}`
    const place = line === undefined ? undefined : find?.({ line, element: type, prop })
    return new ServiceError('template_error', `${place ?? bare}: ${message}`)
  }
}

function positionOf({ type, line }: Node, prop: string): ElementPosition | undefined {
  return line === undefined ? undefined : { line, element: type, prop }
}

const PARENT_NAMES: Readonly<Record<ParentKind, string>> = {
  root: 'at the root: a component returns a <Document>',
  document: 'in <Document>: it holds <Page> only',
  flow: 'here',
  link: 'in <Link>',
  text: 'in <Text>',
  note: 'in <Note>',
  svg: 'in <Svg>',
}

function propsOf(
  node: Node,
  primitive: Primitive,
  { faults, context, place }: { faults: Faults; context: TranslationContext; place: EffectPlace },
): Props {
  const props: Props = {}
  const element = { drawn: stylesDrawn(primitive, place), of: elementWords(node.type, place) }
  for (const [name, value] of Object.entries(node.props)) {
    if (value === null) continue
    const kind = Object.hasOwn(primitive.props, name) ? primitive.props[name] : undefined
    const named: Faults = (message) => faults(`<${node.type} ${name}>: ${message}`, name)
    if (kind === undefined) {
      const refusal = Object.hasOwn(REFUSED_PROPS, name) ? REFUSED_PROPS[name] : undefined
      throw named(refusal ?? `there is no such prop${suggestion(name, Object.keys(primitive.props))}`)
    }
    if (kind === 'image') {
      props['src'] = pixelImageOf(value, context.image, named)
      continue
    }
    const scope = { faults: named, families: context.families, isCheck: context.isCheck === true }
    const ignore = (fault: string) => context.onIgnored?.(positionOf(node, name), `<${node.type} ${name}>: ${fault}`)
    if (kind !== 'style') {
      props[name] = propValue(kind, value, scope)
      const fault = propWithoutEffect(primitive, name, { value, isDrawing: place.isDrawing })
      if (fault !== undefined) ignore(fault)
      const broken = kind === 'link' ? brokenLink(value) : undefined
      if (broken !== undefined)
        context.onIgnored?.(positionOf(node, name), `<${node.type} ${name}>: ${broken}`, 'link_broken')
      continue
    }
    const { style, ignored } = context.checkStyle(value, scope)
    props[name] = style
    for (const fault of ignored) ignore(fault)
    for (const fault of context.undrawn(style, name === 'style' ? element : NOTHING_DRAWN)) ignore(fault)
  }
  if (primitive.tag.endsWith('_GRADIENT')) Object.assign(props, gradientZeros(props))
  const { required } = primitive
  if (required !== undefined && props[required] === undefined)
    throw faults(`<${node.type}> needs the prop ${required}, which is missing or has no value`)
  // All renders of a thread share react-pdf's image cache.
  if (primitive.tag === 'IMAGE' || primitive.tag === 'IMAGE_BACKGROUND') props['cache'] = false
  return props
}

/** react-pdf ignores `imageStyle`. */
const NOTHING_DRAWN = { drawn: new Set<string>(), of: 'the image of <ImageBackground>' }

function isString(child: Node | string): child is string {
  return typeof child === 'string'
}

function contentOf(
  node: Node,
  primitive: Primitive,
  { spot, inner, context }: { spot: ElementContext; inner: ElementContext; context: TranslationContext },
): Props {
  const { render } = node
  if (render !== undefined) {
    if (!DYNAMIC.includes(primitive.tag)) throw inner.faults(`<${node.type} render>: there is no such prop`, 'render')
    const draw = (page: PageNumbers) => {
      const nodes = listOf(context.call(render, numbersOf(page)), inner.depth, inner.faults)
      const late = translateAll(nodes, inner, { ...context, budget: { left: ELEMENTS_MAX }, latePage: page })
      const { lineHeight } = inner
      const isText = primitive.tag === 'TEXT' && lineHeight !== undefined
      return isText ? createElement('TEXT', { style: { lineHeight } } as Props, ...late) : late
    }
    if (context.page !== undefined) return { children: draw(context.page) }
    const { latePage } = context
    return { ...(latePage === undefined ? { render: draw } : { children: draw(latePage) }), [DYNAMIC_MARK]: true }
  }
  // react-pdf shows only the first text of a note, so join them.
  if (primitive.tag === 'NOTE' && node.children.every(isString))
    return { children: textOf(node.children.join('') || ' ', inner, context) }
  const children =
    inner.parentKind === 'flow' ? flowOf(node.children, inner, context) : translateAll(node.children, inner, context)
  // react-pdf also does this, but not for a link that it first meets during pagination.
  const isLooseText = primitive.tag === 'LINK' && spot.parentKind !== 'text' && node.children.every(isString)
  if (!isLooseText) return { children }
  return { children: createElement('TEXT', { hyphenationCallback: wrappingOf(inner.wrapping), children } as Props) }
}

const DYNAMIC = ['VIEW', 'TEXT', 'LINK']

function numbersOf(page: PageNumbers): PageNumbers {
  return Object.fromEntries(PAGE_NUMBERS.map((name) => [name, page[name]] as const))
}

/** Reorders children for the fast pagination. See `page-layout.ts`. */
function flowOf(children: readonly (Node | string)[], inner: ElementContext, context: TranslationContext): ReactNode[] {
  if (context.paginationGuard !== undefined) return translateAll(children, inner, context)
  const { order, isMoved } = pinnedFirst(children)
  if (isMoved) context.flow.isMoved = true
  return order.map((place) => {
    const child = children[place] ?? ''
    return typeof child === 'string'
      ? textOf(child, inner, context)
      : elementOf(child, isMoved ? { ...inner, mark: indexProps(place) } : inner, context)
  })
}

function pageContentOf(
  node: Node,
  props: Props,
  { inner, context }: { inner: ElementContext; context: TranslationContext },
): Props {
  const { paginationGuard } = context
  if (paginationGuard !== undefined)
    return { children: [paginationGuard(), ...translateAll(node.children, inner, context)] }
  const footer = footerOf(node.children)
  const content = node.children.filter((child) => !footer.includes(child))
  const flow = { isMoved: false }
  const children = flowOf(content, inner, { ...context, flow })
  const { dynamicCount } = pinnedFirst(content)
  const needsOverlay = dynamicCount > 1
  const pinned = children.slice(0, dynamicCount)
  const rest = children.slice(dynamicCount)
  // Unlike the plain pagination, the fast one makes no page before the first element.
  const start = beginsWithBreak(content) ? [createElement('VIEW', { key: 'start' })] : []
  const front = [...(needsOverlay ? [overlayOf(pinned)] : pinned), ...start]
  if (footer.length === 0)
    return { children: [...front, ...rest], ...(flow.isMoved || needsOverlay ? { layout: pageLayoutOf() } : {}) }
  const measured = (page: LayoutPage) =>
    translateAll(footer, inner, { ...context, budget: { left: ELEMENTS_MAX }, page: numbersOf(page) })
  const footerHolder = isArranged(styleOf(props)) ? [] : [footerHolderOf(translateAll(footer, inner, context))]
  return { children: [...front, ...footerHolder, ...rest], layout: pageLayoutOf(measured), [FOOTER_MARK]: true }
}

/** The style does not simply stack the children, so an additional element would be visible. */
function isArranged(style: Props): boolean {
  return ['gap', 'rowGap', 'columnGap', 'flexDirection', 'flexWrap'].some((name) => style[name] !== undefined)
}

/** Inside <Svg> a font is inherited as an attribute, which overrides a style. react-pdf does not inherit it from outside. */
function drawingProps(props: Props, { tag }: Primitive, spot: ElementContext): Props {
  const isRoot = tag === 'SVG'
  if (!isRoot && tag !== 'TSPAN' && spot.parentKind !== 'svg') return {}
  const fontFamily = familyOf(props) ?? (isRoot ? spot.family : undefined)
  return fontFamily === undefined ? {} : { fontFamily }
}

function styleOf(props: Props): Props {
  // `propValue` has flattened the style.
  return (props['style'] ?? {}) as Props
}

function familyOf(props: Props): readonly string[] | undefined {
  return styleOf(props)['fontFamily'] as readonly string[] | undefined
}

/** Checks the depth and the fields of the nodes, but not the props. */
function listOf(nodes: Json | undefined, depth: number, faults: Faults): readonly (Node | string)[] {
  if (!Array.isArray(nodes)) throw faults('the component returned no element tree')
  if (depth > ELEMENT_DEPTH_MAX && nodes.length > 0) {
    throw faults(`elements are nested more than ${ELEMENT_DEPTH_MAX} deep`)
  }
  return nodes
    .map((node: Json) => (typeof node === 'string' ? node : nodeOf(node, depth, faults)))
    .filter((node) => !isHidden(node))
}

/** react-pdf would only remove the space of such an element, and draw its texts over others. */
function isHidden(node: Node | string): boolean {
  return typeof node !== 'string' && lastOf(node.props['style'], 'display') === 'none'
}

function nodeOf(node: Json, depth: number, faults: Faults): Node {
  if (!isJsonObject(node)) throw faults('the component returned no element tree')
  const { type, props, children, line, render } = node
  if (typeof type !== 'string' || !isJsonObject(props)) throw faults('the component returned no element tree')
  return {
    type,
    props,
    children: listOf(children, depth + 1, faults),
    ...(typeof line === 'number' ? { line } : {}),
    ...(typeof render === 'number' ? { render } : {}),
  }
}

/**
 * Adapts a page to the fast pagination, so that it looks as it does under react-pdf's own. The fast one shows a fixed element only from its
 * place in the page on. So we move positioned fixed elements to the front before pagination. After a page is filled, we move them back,
 * because their order decides which covers which.
 *
 * A footer repeats at the end of the flow. We carry it to the front the same way, in a box without height. Then we put it below the
 * content, where its space is reserved.
 */
import { createElement, type ReactElement, type ReactNode } from 'react'
import type { Props } from '../prop.ts'
import { isDynamic, isPinned } from './fixed.ts'

/** A node of react-pdf after its layout. */
interface ResolvedNode {
  readonly type: string
  readonly props?: Props
  readonly children?: readonly ResolvedNode[]
}

/** The form in which react-pdf's page layouts receive and return nodes after their layout. */
type ResolvedElement = ReactElement<{ readonly node: ResolvedNode }>

/** The arguments that react-pdf gives to a page layout. */
export interface LayoutPage {
  readonly children?: readonly ResolvedElement[]
  readonly pageNumber?: number
  readonly subPageNumber?: number
}

/** The element type of such a part. */
const FRAGMENT = 'FRAGMENT'

/**
 * Props that we add to react-pdf's nodes: the place of a node among its siblings, and marks of the boxes that carry others to the front.
 */
const INDEX = 'siblingIndex'
const FOOTER_HOLDER = 'holdsFooter'
const OVERLAY = 'isOverlay'
/** Marks a node with a `render` function. react-pdf removes the function after it has run. */
export const DYNAMIC_MARK = 'isDynamic'
/** Marks a page that reserves space for a footer. */
export const FOOTER_MARK = 'hasFooter'
/** The line in the source of an element with a box, so that a warning about its layout can name it. */
export const SOURCE_LINE = 'sourceLine'
/** Marks a box with a head that repeats on each of its pages. The value is its number. */
export const SECTION_MARK = 'sectionNumber'
/** Marks all pages of one `<Page>`. The value is an object that they share. */
export const PAGE_GROUP_MARK = 'pageGroup'

export interface PageGroup {
  /** Whether the `<Page>` has something that does not repeat. */
  readonly hasContent: boolean
}

type Child = Parameters<typeof isPinned>[0]

/**
 * Orders children: pinned ones first, and of these the ones that are made again for each page (`dynamicCount` of them) before the others.
 * `isMoved` says whether the order changed.
 */
export function pinnedFirst(children: readonly Child[]): {
  readonly order: readonly number[]
  readonly isMoved: boolean
  readonly dynamicCount: number
} {
  const ranks = children.map((child) => (!isPinned(child) ? 2 : isDynamic(child) ? 0 : 1))
  const order = ranks.map((_, place) => place).toSorted((one, other) => (ranks[one] ?? 0) - (ranks[other] ?? 0))
  return {
    order,
    isMoved: order.some((place, at) => place !== at),
    dynamicCount: ranks.filter((rank) => rank === 0).length,
  }
}

/** The props that later bring a child back to its place. */
export function indexProps(place: number): Props {
  return { [INDEX]: place }
}

/** The box that carries a footer to the front: as wide as the content, with no height. */
export function footerHolderOf(footer: readonly ReactNode[]): ReactElement {
  const inner = createElement(
    'VIEW',
    { style: { position: 'absolute', top: 0, left: 0, right: 0 } } as Props,
    ...footer,
  )
  return createElement(
    'VIEW',
    { key: FOOTER_HOLDER, [FOOTER_HOLDER]: true, fixed: true, wrap: false, style: { height: 0 } } as Props,
    inner,
  )
}

/**
 * Puts the pinned elements that are made again for each page into one element. The fast pagination would treat each of them as part of the
 * flow, and the distance between two of them as space.
 */
export function overlayOf(pinned: readonly ReactNode[]): ReactElement {
  const style = { position: 'absolute', top: 0, right: 0, bottom: 0, left: 0 }
  return createElement('VIEW', { key: OVERLAY, [OVERLAY]: true, fixed: true, style } as Props, ...pinned)
}

/**
 * The layout of a page. `measured` makes the footer again when react-pdf measures the space that it leaves. At that time react-pdf does not
 * know the page's content yet.
 */
export function pageLayoutOf(measured?: (page: LayoutPage) => readonly ReactNode[]): (page: LayoutPage) => ReactNode {
  return ({ children = [], ...page }) => {
    // The first pass: the content has no layout yet.
    if (page.subPageNumber === undefined) return children
    const footerHolder = children.find(({ props }) => props.node.props?.[FOOTER_HOLDER] === true)
    const nodes = children.filter((part) => part !== footerHolder).map(({ props }) => props.node)
    const content = inOriginalOrder(nodes.flatMap(withoutOverlay)).map(restored)
    const footer = footerHolder?.props.node.children?.[0]?.children
    return [...content.map(partOf), ...(footer?.map(partOf) ?? measured?.(page) ?? [])]
  }
}

function withoutOverlay(node: ResolvedNode): readonly ResolvedNode[] {
  return node.props?.[OVERLAY] === true ? (node.children ?? []) : [node]
}

function partOf(node: ResolvedNode): ResolvedElement {
  return createElement(FRAGMENT, { node })
}

function restored(node: ResolvedNode): ResolvedNode {
  if (node.children === undefined || LEAVES.has(node.type)) return node
  const children = inOriginalOrder(node.children.map(restored))
  return children.every((child, at) => child === node.children?.[at]) ? node : { ...node, children }
}

/** These contain nothing fixed. */
const LEAVES = new Set(['TEXT', 'SVG', 'NOTE'])

function inOriginalOrder(nodes: readonly ResolvedNode[]): readonly ResolvedNode[] {
  // Nothing was moved. It has no index then, and most lists have none.
  if (!nodes.some(({ props }) => props?.[INDEX] !== undefined)) return nodes
  const indexOf = ({ props }: ResolvedNode) => Number(props?.[INDEX] ?? 0)
  return nodes.toSorted((one, other) => indexOf(one) - indexOf(other))
}

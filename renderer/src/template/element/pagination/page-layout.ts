/**
 * Adapts a page to the fast pagination, so that it looks as it does under react-pdf's own. The fast one shows a fixed element only on the
 * pages from its place on. So we move pinned elements to the front before pagination. After a page is filled, we move them back, because
 * later elements cover earlier ones.
 *
 * A footer repeats at the end of the flow. We carry it to the front the same way, in a box without height. Then we put it below the
 * content, where its space is reserved.
 */
import { createElement, type ReactElement, type ReactNode } from 'react'
import type { Props } from '../prop.ts'
import { isDynamic, isPinned } from './fixed.ts'

interface ResolvedNode {
  readonly type: string
  readonly props?: Props
  readonly children?: readonly ResolvedNode[]
}

/** What react-pdf's page layouts receive and return. */
type ResolvedElement = ReactElement<{ readonly node: ResolvedNode }>

/** react-pdf's arguments of a page layout. */
export interface LayoutPage {
  readonly children?: readonly ResolvedElement[]
  readonly pageNumber?: number
  readonly subPageNumber?: number
}

const FRAGMENT = 'FRAGMENT'

/** Props that we add to nodes: the place among the siblings, and marks of the boxes that carry others to the front. */
const INDEX = 'siblingIndex'
const FOOTER_HOLDER = 'holdsFooter'
const OVERLAY = 'isOverlay'
/** Marks a node with a `render` function. react-pdf removes the function after it has run. */
export const DYNAMIC_MARK = 'isDynamic'
export const FOOTER_MARK = 'hasFooter'
/** The source line of an element with a box, for warnings about its layout. */
export const SOURCE_LINE = 'sourceLine'
/** Marks a box with a head that repeats on each of its pages. The value is its number. */
export const SECTION_MARK = 'sectionNumber'
/** Marks all pages of one `<Page>`. The value is an object that they share. */
export const PAGE_GROUP_MARK = 'pageGroup'

export interface PageGroup {
  readonly hasContent: boolean
}

type Child = Parameters<typeof isPinned>[0]

/** Pinned children come first: the dynamic ones (`dynamicCount`), then the others. `isMoved` says whether the order changed. */
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
 * Puts the pinned dynamic elements into one. The fast pagination would treat each of them as part of the flow, and the distance between two
 * of them as space.
 */
export function overlayOf(pinned: readonly ReactNode[]): ReactElement {
  const style = { position: 'absolute', top: 0, right: 0, bottom: 0, left: 0 }
  return createElement('VIEW', { key: OVERLAY, [OVERLAY]: true, fixed: true, style } as Props, ...pinned)
}

/** `measured` makes the footer again while react-pdf measures the space for the content, which it does not know yet. */
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
  // Nothing was moved, as in most lists.
  if (!nodes.some(({ props }) => props?.[INDEX] !== undefined)) return nodes
  const indexOf = ({ props }: ResolvedNode) => Number(props?.[INDEX] ?? 0)
  return nodes.toSorted((one, other) => indexOf(one) - indexOf(other))
}

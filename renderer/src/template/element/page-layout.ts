/**
 * What the fast pagination needs done to a page so that it looks as it does under react-pdf's own. The fast one shows a fixed
 * element from its place in the page on, and so those that stand anywhere are moved to the front before it, and back into their
 * places, which decide what covers what, when it has filled a page. What repeats at the end of the flow, a footer, is carried to
 * the front the same way, in a box without height, and set down below the content, with space set aside for it.
 */
import { createElement, type ReactElement, type ReactNode } from 'react'
import { isDynamic, isPinned } from './fixed.ts'
import type { Props } from './prop.ts'

/** A node of react-pdf's, after layout has resolved it. */
interface ResolvedNode {
  readonly type: string
  readonly props?: Props
  readonly children?: readonly ResolvedNode[]
}

/** How react-pdf's page layouts get and give nodes that are resolved already. */
type ResolvedElement = ReactElement<{ readonly node: ResolvedNode }>

/** What react-pdf tells a page layout. */
export interface LayoutPage {
  readonly children?: readonly ResolvedElement[]
  readonly pageNumber?: number
  readonly subPageNumber?: number
}

/** The type of such a part. */
export const FRAGMENT = 'FRAGMENT'

/** Props of ours on react-pdf's nodes: the place of one among its siblings, and what others were put into for the way. */
const INDEX = 'placeAmongSiblings'
const FOOTER_HOLDER = 'isCarrier'
const OVERLAY = 'isCover'
/** On what has a `render` function, which react-pdf takes off when it has run. */
export const DYNAMIC_MARK = 'isDynamic'
/** On a page that has space set aside for a footer. */
export const FOOTER_MARK = 'hasFooter'
/** On all pages that come of one `<Page>`: an object that is theirs. */
export const PAGE_GROUP_MARK = 'sheet'

type Child = Parameters<typeof isPinned>[0]

/**
 * The order of children with what is pinned at the front, first of it what is made anew for each page, of which there are
 * `dynamicCount`; and whether the order is another one.
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

/** The props by which a child is put back into its place. */
export function indexProps(place: number): Props {
  return { [INDEX]: place }
}

/** A footer on its way: as wide as the content, and of no height. */
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
 * Pinned elements that are made anew for each page, as one. The fast pagination takes each for a part of the flow, and what lies
 * between two of them for space.
 */
export function overlayOf(pinned: readonly ReactNode[]): ReactElement {
  const style = { position: 'absolute', top: 0, right: 0, bottom: 0, left: 0 }
  return createElement('VIEW', { key: OVERLAY, [OVERLAY]: true, fixed: true, style } as Props, ...pinned)
}

/**
 * The layout of a page. `measured` makes the footer anew where react-pdf measures how much space it leaves, and knows nothing of
 * the page's content yet.
 */
export function pageLayoutOf(measured?: (page: LayoutPage) => readonly ReactNode[]): (page: LayoutPage) => ReactNode {
  return ({ children = [], ...page }) => {
    // The first round: the content is not yet laid out.
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
  return { ...node, children: inOriginalOrder(node.children.map(restored)) }
}

/** Nothing in them is fixed. */
const LEAVES = new Set(['TEXT', 'SVG', 'NOTE'])

function inOriginalOrder(nodes: readonly ResolvedNode[]): readonly ResolvedNode[] {
  const indexOf = ({ props }: ResolvedNode) => Number(props?.[INDEX] ?? 0)
  return nodes.toSorted((one, other) => indexOf(one) - indexOf(other))
}

/**
 * What the fast pagination needs done to a page so that it looks as it does under react-pdf's own. The fast one shows a fixed
 * element from its place in the page on, and so those that stand anywhere are moved to the front before it, and back into their
 * places, which decide what covers what, when it has filled a page. What repeats at the end of the flow, a footer, is carried to
 * the front the same way, in a box without height, and set down below the content, with space set aside for it.
 */
import { createElement, type ReactElement, type ReactNode } from 'react'
import { isPinned } from './fixed.ts'
import type { Props } from './prop.ts'

/** A node of react-pdf's, after layout has resolved it. */
interface LaidOut {
  readonly type: string
  readonly props?: Props
  readonly children?: readonly LaidOut[]
}

/** How react-pdf's page layouts get and give nodes that are resolved already. */
type Part = ReactElement<{ readonly node: LaidOut }>

/** What react-pdf tells a page layout. */
export interface FramedPage {
  readonly children?: readonly Part[]
  readonly pageNumber?: number
  readonly subPageNumber?: number
}

/** Props of ours on react-pdf's nodes: the place of one among its siblings, and the carrier of a footer. */
const PLACE = 'placeAmongSiblings'
const CARRIER = 'isCarrier'
/** On what has a `render` function, which react-pdf takes off when it has run. */
export const DYNAMIC_MARK = 'isDynamic'
/** On all pages that come of one `<Page>`: an object that is theirs. */
export const SHEET_MARK = 'sheet'

/** Children with what is pinned moved to the front, and whether that changes anything. */
export function pinnedFirst(children: readonly Parameters<typeof isPinned>[0][]): {
  readonly order: readonly number[]
  readonly isMoved: boolean
} {
  const places = children.map((_, place) => place)
  const isPinnedAt = (place: number) => Number(isPinned(children[place] ?? ''))
  const order = places.toSorted((one, other) => isPinnedAt(other) - isPinnedAt(one))
  return { order, isMoved: order.some((place, at) => place !== at) }
}

/** The props by which a child is put back into its place. */
export function placeProps(place: number): Props {
  return { [PLACE]: place }
}

/** A footer on its way: as wide as the content, and of no height. */
export function carrierOf(footer: readonly ReactNode[]): ReactElement {
  const inner = createElement(
    'VIEW',
    { style: { position: 'absolute', top: 0, left: 0, right: 0 } } as Props,
    ...footer,
  )
  return createElement(
    'VIEW',
    { key: CARRIER, [CARRIER]: true, fixed: true, wrap: false, style: { height: 0 } } as Props,
    inner,
  )
}

/**
 * The layout of a page. `measured` makes the footer anew where react-pdf measures how much space it leaves, and knows nothing of
 * the page's content yet.
 */
export function frameOf(measured?: (page: FramedPage) => readonly ReactNode[]): (page: FramedPage) => ReactNode {
  return ({ children = [], ...page }) => {
    // The first round: the content is not yet laid out.
    if (page.subPageNumber === undefined) return children
    const carrier = children.find(({ props }) => props.node.props?.[CARRIER] === true)
    const content = inPlace(
      children.filter((part) => part !== carrier),
      ({ props }) => props.node,
    ).map((part) => createElement(part.type, { ...part.props, node: restored(part.props.node) }))
    const footer = carrier?.props.node.children?.[0]?.children
    const below = footer?.map((node) => createElement('FRAGMENT', { node } as Props)) ?? measured?.(page) ?? []
    return [...content, ...below]
  }
}

function restored(node: LaidOut): LaidOut {
  if (node.children === undefined || LEAVES.has(node.type)) return node
  return { ...node, children: inPlace(node.children.map(restored), (child) => child) }
}

/** Nothing in them is fixed. */
const LEAVES = new Set(['TEXT', 'SVG', 'NOTE'])

function inPlace<Item>(items: readonly Item[], nodeOf: (item: Item) => LaidOut): readonly Item[] {
  const placeOf = (item: Item) => Number(nodeOf(item).props?.[PLACE] ?? 0)
  return items.toSorted((one, other) => placeOf(one) - placeOf(other))
}

/**
 * Finds why content fits on none of its pages. react-pdf itself says only that there is no room, or makes pages for ever. Pure: reads the
 * tree that react-pdf returns for pages that do not wrap, where every node has the height that it asks for.
 */
import type { ElementPosition } from '../../../template/tsx/transpile.ts'
import { type LayoutNode, lengthOf } from '../inspect/layout-node.ts'
import { sourceOf } from '../inspect/surroundings.ts'
import type { Instance } from '../instance.ts'
import { childrenOf, edgesOf, isAbsolute } from './plain.ts'

export interface RoomFault {
  readonly message: string
  readonly source?: ElementPosition | undefined
}

export function unwrapped(document: Instance): Instance {
  const pages = document.children?.map((page) => ({ ...page, props: { ...page.props, wrap: false } }))
  return { ...document, children: pages ?? [] }
}

/** About how many pages the content of an unwrapped document fills. */
export function expectedPages(document: LayoutNode): number {
  const counts = childrenOf(document).map((page) => {
    const room = roomOf(page)
    const filled = room > 0 ? Math.ceil((lengthOf(page.box?.['height']) - edgesOf(page)) / room) : 1
    return Math.max(1, filled) + breaksIn(page)
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

function breaksIn(node: LayoutNode): number {
  return childrenOf(node).reduce((sum, child) => sum + breaksIn(child), node.props?.['break'] === true ? 1 : 0)
}

/** Why the paddings of a page leave no room for its content. Undefined if they leave some, or if the page has no content. */
export function paddingFault(document: LayoutNode): RoomFault | undefined {
  const page = childrenOf(document).find((page) => roomOf(page) <= 0 && childrenOf(page).some(isContent))
  if (page === undefined) return undefined
  const height = points(lengthOf(page.style?.['height']))
  const message = `the page leaves no room for content: its paddings take ${points(edgesOf(page))} of its ${height} points`
  return { message, source: sourceOf(page) }
}

export function roomFault(document: LayoutNode): RoomFault {
  const faults = (document.children ?? []).map((page) => repeatedFault(page) ?? contentFault(page, roomOf(page)))
  return faults.find((fault) => fault !== undefined) ?? { message: 'its pages do not come to an end' }
}

function repeatedFault(page: LayoutNode): RoomFault | undefined {
  const repeated = childrenOf(page).filter((child) => isFixed(child) && !isAbsolute(child))
  const height = repeated.reduce((sum, node) => sum + outerHeightOf(node), 0)
  const [first] = repeated.toSorted((one, other) => outerHeightOf(other) - outerHeightOf(one))
  if (first === undefined || height < roomOf(page)) return undefined
  const taken = `${points(height)} of the ${points(roomOf(page))} points between its paddings`
  return { message: `the page leaves no room for content: its fixed elements take ${taken}`, source: sourceOf(first) }
}

function contentFault(node: LayoutNode, room: number): RoomFault | undefined {
  for (const child of childrenOf(node).filter((child) => !isAbsolute(child))) {
    const own = ownFault(child, room)
    if (own !== undefined)
      return { source: sourceOf(child), message: `${own}, and the page has room for ${points(room)}` }
    const inner = child.type === 'TEXT' ? undefined : contentFault(child, room)
    if (inner !== undefined) return inner
  }
  return undefined
}

function ownFault({ box, lines }: LayoutNode, room: number): string | undefined {
  const margin = lengthOf(box?.['marginTop']) + lengthOf(box?.['borderTopWidth']) + lengthOf(box?.['paddingTop'])
  if (margin >= room) return `its margin, border and padding at the top take ${points(margin)} points`
  const line = Math.max(0, ...(lines ?? []).map(({ box }) => lengthOf(box?.height)))
  return margin + line > room ? `a line of its text is ${points(margin + line)} points high` : undefined
}

/** The height between the paddings of a page. */
function roomOf(page: LayoutNode): number {
  return (
    (page.style?.['height'] === undefined ? Number.POSITIVE_INFINITY : lengthOf(page.style['height'])) - edgesOf(page)
  )
}

function isContent(node: LayoutNode): boolean {
  return !isFixed(node) && !isAbsolute(node)
}

function isFixed({ props }: LayoutNode): boolean {
  return props?.['fixed'] === true
}

function outerHeightOf({ box }: LayoutNode): number {
  return lengthOf(box?.['height']) + lengthOf(box?.['marginTop']) + lengthOf(box?.['marginBottom'])
}

function points(length: number): string {
  return String(Math.round(length * 10) / 10)
}

/**
 * Finds heads that stand alone at the end of a page. A repeated head is on each page that its section reaches. So react-pdf begins a
 * section where only its head has room, presses the head into the space left on the page, and shows it again on the next one. Pure: reads
 * the tree that react-pdf returns after layout.
 */
import { PAGE_GROUP_MARK, SECTION_MARK } from '../../../template/element/pagination/page-layout.ts'
import type { LayoutNode } from '../inspect/layout-node.ts'
import { childrenOf, isAbsolute } from './plain.ts'

/** The number of the first section that ends a page with only its head. It could begin the next page as well. */
export function strandedSection({ children }: LayoutNode): number | undefined {
  const pages = children ?? []
  for (const [at, page] of pages.entries()) {
    if (pages[at + 1]?.props?.[PAGE_GROUP_MARK] !== page.props?.[PAGE_GROUP_MARK]) continue
    const section = strandedIn(page)
    if (section !== undefined) return section
  }
  return undefined
}

function strandedIn(node: LayoutNode): number | undefined {
  const flow = childrenOf(node).filter((child) => !isAbsolute(child) && child.props?.['fixed'] !== true)
  const last = flow.at(-1)
  if (last === undefined) return undefined
  if (!isOnlyHead(last)) return strandedIn(last)
  // A move changes nothing if the section is the first content of its page or box.
  const number = last.props?.[SECTION_MARK]
  return flow.length > 1 && typeof number === 'number' ? number : undefined
}

function isOnlyHead(node: LayoutNode): boolean {
  const children = childrenOf(node)
  return node.type === 'VIEW' && children.length > 0 && children.every((child) => isRepeated(child) || isRest(child))
}

function isRepeated(node: LayoutNode): boolean {
  return node.props?.['fixed'] === true || isOnlyHead(node)
}

/** Whether it is the remainder that react-pdf leaves of a text when none of its lines had room. */
function isRest({ type, wasSplit, lines }: LayoutNode): boolean {
  return type === 'TEXT' && wasSplit === true && lines?.length === 0
}

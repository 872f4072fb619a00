/**
 * Decides whether a document from the fast pagination looks as it would under react-pdf's own ("plain"), which lays the rest out again for
 * every page. The two differ only for a few shapes, and most documents have none of them where a page ends. The others are laid out a
 * second time. Pure: reads the tree that react-pdf returns after layout.
 */
import {
  DYNAMIC_MARK,
  FOOTER_MARK,
  PAGE_GROUP_MARK,
  type PageGroup,
} from '../../../template/element/pagination/page-layout.ts'
import { type LayoutNode, lengthOf } from '../inspect/layout-node.ts'
import type { Instance } from '../instance.ts'

/**
 * Nodes of a document that react-pdf's own pagination may lay out again if the fast one breaks pages differently. Its time grows with the
 * square of their number: a table of 600 rows of six cells has this many and takes about 2.5 s.
 */
export const PLAIN_LAYOUT_NODES_MAX = 8000

/**
 * Whether only the plain pagination can lay a document out. The fast one stacks the children of a page from top to bottom, and a page has a
 * height. A page that does not wrap is one page for the plain one, too, in time that does not grow with the square.
 */
export function needsPlain({ children: pages = [] }: Instance): boolean {
  return pages.some(({ style }) => isArranged(style)) || (pages.length > 0 && pages.every(isOnePage))
}

/** Whether a style arranges children other than from top to bottom, or limits the height of a page besides its size. */
function isArranged(style: unknown): boolean {
  // Translation turns every style into a flat record.
  const { flexDirection, flexWrap, flexFlow, minHeight, maxHeight } = (style ?? {}) as Readonly<Record<string, unknown>>
  const isRowOrReverse = flexDirection !== undefined && flexDirection !== 'column'
  const wraps = flexWrap !== undefined && flexWrap !== 'nowrap'
  return isRowOrReverse || wraps || [flexFlow, minHeight, maxHeight].some((value) => value !== undefined)
}

function isOnePage({ props }: Instance): boolean {
  return props?.['wrap'] === false
}

/**
 * Whether the fast pagination lost content. If the content that is made again for each page is higher than the page, it drops all the rest,
 * and the last page shows nothing.
 */
export function isIncomplete({ children }: LayoutNode): boolean {
  const pages = children ?? []
  const last = pages.filter((page, at) => pages[at + 1] === undefined || groupOf(pages[at + 1]) !== groupOf(page))
  const isEmpty = (page: LayoutNode) => childrenOf(page).every((child) => child.props?.['fixed'] === true)
  return last.some((page) => groupOf(page)?.hasContent === true && isEmpty(page))
}

function groupOf(page: LayoutNode | undefined): PageGroup | undefined {
  return page?.props?.[PAGE_GROUP_MARK] as PageGroup | undefined
}

/**
 * Whether a document from the fast pagination needs the plain one, and is small enough for it. The fast one ignores a break within a box:
 * `hasInnerBreaks` says that there may be one.
 */
export function wantsPlain(document: LayoutNode, hasInnerBreaks = false): boolean {
  const pages = document.children ?? []
  // A media rule for some page widths is in the style only after layout.
  if (pages.some(({ style }) => isArranged(style))) return true
  // A page with a frame reserves space for a footer in the flow. react-pdf cannot do that.
  if (pages.some(({ props }) => props?.[FOOTER_MARK] === true)) return false
  if (!hasInnerBreaks && !pages.some((page, at) => isUnlikePlain(page, pages[at + 1]))) return false
  return sizeOf(document, PLAIN_LAYOUT_NODES_MAX) < PLAIN_LAYOUT_NODES_MAX
}

function isUnlikePlain(page: LayoutNode, next: LayoutNode | undefined): boolean {
  // The plain one makes a page without wrapping as high as its content.
  if (page.props?.['wrap'] === false) return true
  if (hasLooseDynamic(page) || childrenOf(page).some((child) => isSqueezed(child, contentHeightOf(page)))) return true
  if (next === undefined || groupOf(next) !== groupOf(page)) return false
  if ([...childrenOf(page), ...childrenOf(next)].some(isDynamicInFlow) || childrenOf(next).some(isPlaced)) return true
  // The fast one repeats a fixed element from where it stands, the plain one from the first page.
  if (fixedOf(next) > fixedOf(page)) return true
  return isStranded(page) || beginsUnlikePlain(next, heightLeft(page))
}

/**
 * Whether content in the flow is made again for each page. The plain one gives it space only after it has filled the page, and gives a
 * header its space twice.
 */
function isDynamicInFlow(node: LayoutNode): boolean {
  return !isAbsolute(node) && hasMark(node)
}

function fixedOf(page: LayoutNode): number {
  return childrenOf(page).filter((child) => !isAbsolute(child) && child.props?.['fixed'] === true).length
}

/** Whether the node is positioned. The fast one puts it on the page where the content before it ends. */
function isPlaced(node: LayoutNode): boolean {
  return isAbsolute(node) && node.props?.['fixed'] !== true
}

/**
 * Whether a box begins on a page without its content. The fast one leaves the upper edge of a box behind if its first content moves to the
 * next page.
 */
function isStranded(node: LayoutNode): boolean {
  const inFlow = childrenOf(node).filter((child) => !isAbsolute(child))
  const last = inFlow.at(-1)
  if (last === undefined) return node.type === 'VIEW' && node.style?.['height'] !== undefined
  return isBox(last) && isStranded(last)
}

/**
 * Whether the page begins differently than under the plain one. The fast one moves a whole row if one of its cells cannot be split, and
 * does not keep the places of the others. If a page ends within something that has edges or a colour, the two divide these differently.
 */
function beginsUnlikePlain(page: LayoutNode, heightLeft: number): boolean {
  const first = childrenOf(page).find((child) => !isAbsolute(child) && child.props?.['fixed'] !== true)
  // Both treat content the same way if it moves as a whole or has an explicit break.
  if (first === undefined || first.props?.['break'] === true || first.props?.['wrap'] === false) return false
  if (isRow(first) || ((heightLeft > 0 || isContinued(first)) && isSeen(first))) return true
  return isBox(first) && beginsUnlikePlain(first, heightLeft)
}

/** Whether a part of it would be visible, or take space, without its content. */
function isSeen(node: LayoutNode): boolean {
  const isStyled = ['backgroundColor', 'height', 'minHeight', 'aspectRatio'].some(
    (name) => node.style?.[name] !== undefined,
  )
  return node.type === 'LINK' || isStyled || edgesOf(node) > 0
}

/**
 * Whether it continues from the page before. The fast one removes the bookmark from the second part of a box, and marks the nodes that it
 * splits itself.
 */
function isContinued({ props, wasSplit }: LayoutNode): boolean {
  return props?.['bookmark'] === null || wasSplit === true
}

function heightLeft(page: LayoutNode): number {
  const ends = childrenOf(page)
    .filter((child) => !isAbsolute(child))
    .map(({ box }) => lengthOf(box?.['top']) + lengthOf(box?.['height']) + lengthOf(box?.['marginBottom']))
  return lengthOf(page.box?.['height']) - lengthOf(page.box?.['paddingBottom']) - Math.max(0, ...ends)
}

/**
 * Whether the page has absolutely positioned content that is made again for each page. The fast one treats it as part of the flow: a box
 * around it cannot be split, and on a page there is space before it. `page-layout.ts` prevents that for fixed elements of a page.
 */
function hasLooseDynamic(page: LayoutNode): boolean {
  return (
    childrenOf(page).some((child) => isAbsolute(child) && child.props?.['fixed'] !== true && hasMark(child)) ||
    hasBoxedDynamic(page)
  )
}

function hasBoxedDynamic(node: LayoutNode): boolean {
  return childrenOf(node).some(
    (child) =>
      isBox(child) &&
      (childrenOf(child).some((inner) => isAbsolute(inner) && hasMark(inner)) || hasBoxedDynamic(child)),
  )
}

/** Whether the node is higher than the page and cannot be split. The fast one shrinks it to fit, and its content overlaps. */
function isSqueezed(node: LayoutNode, contentHeight: number): boolean {
  if (isAbsolute(node) || !BOXES.includes(node.type ?? '')) return false
  const isWhole = node.props?.['wrap'] === false || isRow(node)
  return isWhole
    ? heightOf(node) > contentHeight - 1
    : childrenOf(node).some((child) => isSqueezed(child, contentHeight))
}

function contentHeightOf(page: LayoutNode): number {
  return lengthOf(page.style?.['height']) - edgesOf(page)
}

const EDGES = ['marginTop', 'marginBottom', 'paddingTop', 'paddingBottom', 'borderTopWidth', 'borderBottomWidth']

export function edgesOf({ box }: LayoutNode): number {
  return EDGES.reduce((sum, edge) => sum + Math.max(0, lengthOf(box?.[edge])), 0)
}

function sizeOf(node: LayoutNode, max: number): number {
  let size = 1
  for (const child of childrenOf(node)) if (size < max) size += sizeOf(child, max - size)
  return size
}

const BOXES = ['VIEW', 'LINK', 'FIELD_SET', 'IMAGE_BACKGROUND']

function isBox({ type, props }: LayoutNode): boolean {
  return BOXES.includes(type ?? '') && props?.['wrap'] !== false
}

function isRow({ style }: LayoutNode): boolean {
  return style?.['flexDirection'] === 'row' || style?.['flexDirection'] === 'row-reverse'
}

export function isAbsolute({ style }: LayoutNode): boolean {
  return style?.['position'] === 'absolute'
}

function hasMark(node: LayoutNode): boolean {
  return node.props?.[DYNAMIC_MARK] === true || childrenOf(node).some(hasMark)
}

export function childrenOf({ children }: LayoutNode): readonly LayoutNode[] {
  return children ?? []
}

function heightOf({ box }: LayoutNode): number {
  return lengthOf(box?.['height'])
}

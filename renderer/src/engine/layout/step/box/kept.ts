/**
 * Reuses boxes with all that is in them. react-pdf arranges the content of a `<Page>` as a whole, and then each page that it makes of it. On
 * these pages most nodes are as they were. The layout engine keeps what it computed of a box for the same room, and says of each box
 * whether it was arranged again.
 */
import { atDocumentEnd, openDocumentMap } from '../document-map.ts'
import type { Kept, Node, Placed, YogaNode } from './placed.ts'

/** By the children of a node: react-pdf copies nodes to place them on pages, and leaves their lists of children as they are. */
const kept = openDocumentMap<readonly Node[], Kept>()

/** All boxes that stay until the end of the document, parents before their children. */
let staying: YogaNode[] = []
atDocumentEnd(() => {
  for (const yogaNode of staying) yogaNode.free()
  staying = []
})

/** What was kept of a child of a page, if it is now as it was. `placing` is the same for all on a page. */
export function reusedBox(node: Node, placing: object): Kept | undefined {
  const known = node.children && kept.get(node.children)
  if (known === undefined || known.isChanged || known.reusedBy === placing) return undefined
  const { style, lines, type } = known.placed.node
  // Its lines differ if it is a part of a text.
  if (style !== node.style || lines !== node.lines || type !== node.type) return undefined
  known.reusedBy = placing
  return known
}

/**
 * Whether the boxes of a page are what they would be if none had been reused. The layout engine takes sizes that differ in the last bits for
 * the same, so nothing may have to shrink for the page.
 */
export function areBoxesRight(page: Node, placed: readonly Placed[]): boolean {
  if (placed.every(({ origin }) => origin === undefined)) return true
  const { height = 0, paddingBottom = 0, borderBottomWidth = 0 } = page.box ?? {}
  const bottom = Number(height) - Number(paddingBottom) - Number(borderBottomWidth) - ROOM_MIN
  const isRoom = page.children?.every(({ style, box = {} }) => {
    return (
      style?.['position'] === 'absolute' ||
      Number(box['top']) + Number(box['height']) + Number(box['marginBottom']) < bottom
    )
  })
  // Each is looked at: it remembers whether it has changed.
  const areAsBefore = placed.map(({ node: { box }, origin }) => origin === undefined || isAsBefore(origin, box))
  return isRoom === true && !areAsBefore.includes(false)
}

/** In points. */
const ROOM_MIN = 0.01

function isAsBefore(origin: Kept, box: Node['box']): boolean {
  const { width, height } = origin.placed.node.box ?? {}
  origin.isChanged ||= origin.inner?.hasNewLayout() === true
  return !origin.isChanged && box?.['width'] === width && box?.['height'] === height
}

/** Keeps the boxes of whole content until the end of the document. The first is that of the page, and is not kept. */
export function keep([page, ...placed]: readonly Placed[]): void {
  const inner = new Map<Placed, YogaNode>()
  const special = new Set<Placed>()
  const { flexDirection = 'column', flexWrap = 'nowrap' } = page?.node.style ?? {}
  const isPlainPage = flexDirection === 'column' && flexWrap === 'nowrap'
  for (const each of placed) {
    each.isKept = true
    staying.push(each.yogaNode)
  }
  for (const each of placed.toReversed()) {
    const { yogaNode, parent } = each
    if (parent === undefined) continue
    if (parent !== page) {
      inner.set(parent, yogaNode)
      if (special.has(each) || isSpecial(each)) special.add(parent)
    } else if (isPlainPage && !special.has(each) && !isSpecial(each) && isSteady(each)) keepChild(each, inner.get(each))
  }
}

function keepChild(placed: Placed, inner: YogaNode | undefined): void {
  const { children = [] } = placed.node
  if (children.length === 0) return
  inner?.markLayoutSeen()
  kept.set(children, { placed, inner, reusedBy: undefined, isChanged: false })
}

/**
 * Whether no box around it may be reused. The size of an image depends on the height of its page. What is in a static box may be arranged by
 * a box around it. A basis is resolved once, but a page has a height, and the whole content has none.
 */
function isSpecial({ node: { type, style = {} }, parent }: Placed): boolean {
  if (!PLAIN_TYPES.has(type) || style['position'] === 'static') return true
  return style['flexBasis'] !== undefined && !String(parent?.node.style?.['flexDirection']).startsWith('row')
}

const PLAIN_TYPES: ReadonlySet<string> = new Set(['VIEW', 'TEXT', 'LINK'])

/** Whether no length depends on the size of the page. The layout engine would not notice that the size has changed. */
function isSteady({ node: { style = {} }, isHidden }: Placed): boolean {
  return !isHidden && Object.values(style).every((value) => typeof value !== 'string' || !value.endsWith('%'))
}

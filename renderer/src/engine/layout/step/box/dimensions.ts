/**
 * The step of react-pdf's layout that arranges the boxes of a page. Its own takes a third of the time of a document: each of some thirty
 * styles of a box is a call into WebAssembly, and so is each length of the result; and it copies every node four times. Here boxes with the
 * same style object copy it in one call (see `styles.ts`), and what depends on the style alone is read once. Boxes that are arranged again
 * unchanged are reused (see `kept.ts`).
 */
import { areBoxesRight, keep, reusedBox } from './kept.ts'
import type { Box, Model, Node, Placed, Style, YogaNode } from './placed.ts'

/** What react-pdf's module has for this step. */
interface Tools {
  readonly setYogaValues: (node: Node & { readonly yogaNode: YogaNode }) => void
  /** Makes images and drawings measurable. */
  readonly setMeasureFunc: (node: Node & { readonly yogaNode: YogaNode }, page: Node, fonts: unknown) => void
  /** Measures a text, and keeps its lines in the node. */
  readonly measureText: (page: Node, node: Node, fonts: unknown) => unknown
  readonly isLayoutElement: (node: Node) => boolean
  /** Gives a node that is no box of the layout engine the lengths of its style. */
  readonly persistDimensions: (node: Node) => Node
}

/** Arranges a page. Returns a copy whose nodes have their boxes. `isFirst` if it has all content of a `<Page>`, before pages are made of it. */
type DimensionStep = (
  page: Node | null | undefined,
  fonts: unknown,
  yoga: { readonly node: { readonly create: () => YogaNode }; readonly isFirst?: boolean },
) => Node | null

export function dimensionStep(tools: Tools): DimensionStep {
  return (page, fonts, { node: { create }, isFirst = false }) => {
    if (page === null || page === undefined) return null
    const arrange = (isReusing: boolean) =>
      arranged({ tools, page, fonts, create, isFirst, isReusing, placed: [], models: new Map() })
    return (isFirst ? undefined : arrange(true)) ?? arrange(false) ?? null
  }
}

/** Undefined if boxes were reused that do not fit here. */
function arranged(placing: Placing): Node | undefined {
  const { page, placed, isFirst } = placing
  try {
    const root = place(page, placing)
    root.yogaNode.calculateLayout()
    for (const each of placed) if (each.node.type !== 'TEXT_INSTANCE') each.node.box = boxOf(each)
    if (!areBoxesRight(root.node, placed)) return undefined
    if (isFirst) keep(placed)
    return root.node
  } finally {
    // Parents first: freeing a child makes its parent search for it.
    for (const { yogaNode, isKept } of placed) if (isKept !== true) yogaNode.free()
  }
}

interface Placing {
  readonly tools: Tools
  readonly page: Node
  readonly fonts: unknown
  readonly create: () => YogaNode
  readonly isFirst: boolean
  /** Whether boxes that were kept may be reused. */
  readonly isReusing: boolean
  /** Parents before their children. Of what is reused, only the outermost node is here. */
  readonly placed: Placed[]
  readonly models: Map<Style, Model>
}

/** Makes the boxes of a node and of all in it. The layout engine computes nothing for hidden ones. */
function place(original: Node, placing: Placing, parent?: Placed): Placed {
  const { tools, page, fonts, placed, models, isReusing } = placing
  const origin = isReusing && parent?.node.type === 'PAGE' ? reusedBox(original, placing) : undefined
  if (origin !== undefined) {
    const reused: Placed = { ...origin.placed, node: { ...original }, origin }
    placed.push(reused)
    return reused
  }
  const { type, style = {}, children } = original
  const yogaNode = placing.create()
  const isHidden = parent?.isHidden === true || style['display'] === 'none'
  const isAlone = isHidden || type === 'PAGE' // Its height is not that of its style.
  const known = isAlone ? undefined : models.get(style)
  const model = known ?? (isAlone ? undefined : { yogaNode, edges: undefined })
  const own: Placed = { node: { ...original }, yogaNode, model, parent, isHidden }
  placed.push(own)
  if (known === undefined) tools.setYogaValues({ ...original, yogaNode })
  else yogaNode.copyStyle(known.yogaNode)
  if (model !== undefined && known === undefined) models.set(style, model)
  if (children !== undefined && tools.isLayoutElement(original)) {
    own.node.children = children.map((child, at) => {
      const inner = place(child, placing, own)
      yogaNode.insertChild(inner.yogaNode, at)
      return inner.node
    })
  } else if (children !== undefined) own.node.children = children.map(tools.persistDimensions)
  if (type === 'TEXT') yogaNode.setMeasureFunc(tools.measureText(page, own.node, fonts))
  else if (type === 'IMAGE' || type === 'SVG') tools.setMeasureFunc({ ...own.node, yogaNode }, page, fonts)
  return own
}

/** What is known of a box after the layout. As in react-pdf, a length of 0 may be one that an earlier layout or the style knows. */
function boxOf({ node: { style = {}, box = {} }, yogaNode, model }: Placed): Box {
  const edges = model?.edges ?? edgesOf(yogaNode)
  if (model !== undefined && model.edges === undefined && hasPlainEdges(style)) model.edges = edges
  const { top, right, bottom, left, width, height } = yogaNode.getComputedLayout()
  return {
    paddingTop: edges[0] || box['paddingTop'] || style['paddingTop'] || 0,
    paddingRight: edges[1] || box['paddingRight'] || style['paddingRight'] || 0,
    paddingBottom: edges[2] || box['paddingBottom'] || style['paddingBottom'] || 0,
    paddingLeft: edges[3] || box['paddingLeft'] || style['paddingLeft'] || 0,
    marginTop: edges[4] || box['marginTop'] || style['marginTop'] || 0,
    marginRight: edges[5] || box['marginRight'] || style['marginRight'] || 0,
    marginBottom: edges[6] || box['marginBottom'] || style['marginBottom'] || 0,
    marginLeft: edges[7] || box['marginLeft'] || style['marginLeft'] || 0,
    borderTopWidth: edges[8],
    borderRightWidth: edges[9],
    borderBottomWidth: edges[10],
    borderLeftWidth: edges[11],
    top: top || 0,
    right: right || 0,
    bottom: bottom || 0,
    left: left || 0,
    width,
    height,
  }
}

/** Top, right, bottom and left, as the layout engine numbers them. */
const SIDES = [1, 2, 3, 0] as const

function edgesOf(yogaNode: YogaNode): readonly number[] {
  return [
    ...SIDES.map((side) => yogaNode.getComputedPadding(side)),
    ...SIDES.map((side) => yogaNode.getComputedMargin(side)),
    ...SIDES.map((side) => yogaNode.getComputedBorder(side)),
  ]
}

/** Whether its edges are the same in each box: none is a percentage or `auto`. */
function hasPlainEdges(style: Style): boolean {
  return EDGES.every((edge) => style[edge] === undefined || typeof style[edge] === 'number')
}

const EDGES = ['Top', 'Right', 'Bottom', 'Left'].flatMap((side) => [
  `padding${side}`,
  `margin${side}`,
  `border${side}Width`,
])

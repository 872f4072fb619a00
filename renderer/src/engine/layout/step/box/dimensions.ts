/**
 * The step of react-pdf's layout that arranges the boxes of a page. Its own takes a third of the time of a document: each of some thirty
 * styles of a box is a call into WebAssembly, and so is each length of the result; and it copies every node four times. Here boxes with the
 * same style object copy it in one call (see `styles.ts`), and what depends on the style alone is read once.
 */

/** A box of the layout engine. Each method is a call into WebAssembly. */
interface YogaNode {
  copyStyle(other: YogaNode): void
  insertChild(child: YogaNode, at: number): void
  setMeasureFunc(measure: unknown): void
  calculateLayout(): void
  getComputedLayout(): { left: number; right: number; top: number; bottom: number; width: number; height: number }
  getComputedPadding(edge: number): number
  getComputedMargin(edge: number): number
  getComputedBorder(edge: number): number
  free(): void
}

type Style = Readonly<Record<string, unknown>>
type Box = Readonly<Record<string, unknown>>

/** A node of react-pdf after styles and inheritance. */
interface Node {
  readonly type: string
  readonly style?: Style
  readonly box?: Box
  readonly children?: readonly Node[]
}

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

/** Arranges a page. Returns a copy whose nodes have their boxes. */
type DimensionStep = (
  page: Node | null | undefined,
  fonts: unknown,
  yoga: { readonly node: { readonly create: () => YogaNode } },
) => Node | null

export function dimensionStep(tools: Tools): DimensionStep {
  return (page, fonts, yoga) => {
    if (page === null || page === undefined) return null
    const placed: Placed[] = []
    const placing = { tools, page, fonts, create: yoga.node.create, placed, models: new Map<Style, Model>() }
    try {
      const root = place(page, placing, false)
      root.yogaNode.calculateLayout()
      for (const each of placed) if (each.node.type !== 'TEXT_INSTANCE') each.node.box = boxOf(each)
      return root.node
    } finally {
      // Parents first: freeing a child makes its parent search for it.
      for (const { yogaNode } of placed) yogaNode.free()
    }
  }
}

/** A node of the result, and its box of the layout engine. */
interface Placed {
  readonly node: { -readonly [Field in keyof Node]: Node[Field] }
  readonly yogaNode: YogaNode
  readonly model: Model | undefined
}

/** What the nodes of one style share. */
interface Model {
  readonly yogaNode: YogaNode
  edges: readonly number[] | undefined
}

interface Placing {
  readonly tools: Tools
  readonly page: Node
  readonly fonts: unknown
  readonly create: () => YogaNode
  /** Parents before their children. */
  readonly placed: Placed[]
  readonly models: Map<Style, Model>
}

/** Makes the boxes of a node and of all in it. The layout engine computes nothing for hidden ones. */
function place(original: Node, placing: Placing, isInHidden: boolean): Placed {
  const { tools, page, fonts, placed, models } = placing
  const { type, style = {}, children } = original
  const yogaNode = placing.create()
  const isHidden = isInHidden || style['display'] === 'none'
  const isAlone = isHidden || type === 'PAGE' // Its height is not that of its style.
  const known = isAlone ? undefined : models.get(style)
  const model = known ?? (isAlone ? undefined : { yogaNode, edges: undefined })
  const own: Placed = { node: { ...original }, yogaNode, model }
  placed.push(own)
  if (known === undefined) tools.setYogaValues({ ...original, yogaNode })
  else yogaNode.copyStyle(known.yogaNode)
  if (model !== undefined && known === undefined) models.set(style, model)
  if (children !== undefined && tools.isLayoutElement(original)) {
    own.node.children = children.map((child, at) => {
      const inner = place(child, placing, isHidden)
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

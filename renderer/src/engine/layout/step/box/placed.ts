/** A node of react-pdf and its box in the layout engine. */

/** A box of the layout engine. Each method is a call into WebAssembly. */
export interface YogaNode {
  copyStyle(other: YogaNode): void
  insertChild(child: YogaNode, at: number): void
  setMeasureFunc(measure: unknown): void
  calculateLayout(): void
  /** Whether it was arranged, or at least looked at, since `markLayoutSeen`. */
  hasNewLayout(): boolean
  markLayoutSeen(): void
  getComputedLayout(): { left: number; right: number; top: number; bottom: number; width: number; height: number }
  getComputedPadding(edge: number): number
  getComputedMargin(edge: number): number
  getComputedBorder(edge: number): number
  free(): void
}

export type Style = Readonly<Record<string, unknown>>
export type Box = Readonly<Record<string, unknown>>

/** A node after styles and inheritance. */
export interface Node {
  readonly type: string
  readonly style?: Style
  readonly box?: Box
  /** Of a text. */
  readonly lines?: readonly unknown[] | null
  readonly children?: readonly Node[]
}

/** What the nodes of one style share. */
export interface Model {
  readonly yogaNode: YogaNode
  edges: readonly number[] | undefined
}

/** A node of the result, and its box. */
export interface Placed {
  readonly node: { -readonly [Field in keyof Node]: Node[Field] }
  readonly yogaNode: YogaNode
  readonly model: Model | undefined
  readonly parent: Placed | undefined
  /** Whether it or a node around it is not displayed. */
  readonly isHidden: boolean
  /** If its box is reused: from where. */
  readonly origin?: Kept
  /** Whether its box stays until the end of the document. */
  isKept?: boolean
}

/** A child of the whole content of a `<Page>`. See `kept.ts`. */
export interface Kept {
  readonly placed: Placed
  /** The first box in it. A text has none. */
  readonly inner: YogaNode | undefined
  /** Who has reused it last. Nobody reuses it twice. */
  reusedBy: object | undefined
  /** Whether what is in it is not as it was. */
  isChanged: boolean
}

/** The tree a component gave, as far as it has been looked at. */
import type { JsonObject } from '@platen/contract/brand.ts'

/** A node of the tree after a look at its frame; its props and children are looked at on the way down. */
export interface Node {
  readonly type: string
  readonly props: JsonObject
  readonly children: readonly (Node | string)[]
  readonly line?: number
  readonly render?: number
}

import type { JsonObject } from '@platen/lib/brand.ts'

/** A node of the tree whose structure was checked. Its props and children are checked later, on the way down. */
export interface Node {
  readonly type: string
  readonly props: JsonObject
  readonly children: readonly (Node | string)[]
  readonly line?: number
  readonly render?: number
}

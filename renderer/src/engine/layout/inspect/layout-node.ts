/** The nodes of react-pdf's layout, with the fields we read. react-pdf promises none of them, so all are optional. */
import type { Glyph } from '../font-store.ts'

/** A node after its layout. */
export interface LayoutNode {
  readonly type?: string
  /** The letters of a `TEXT_INSTANCE`. */
  readonly value?: string
  readonly props?: Readonly<Record<string, unknown>>
  readonly style?: Readonly<Record<string, unknown>>
  /** Its border box, from the corner of its parent's. */
  readonly box?: Readonly<Record<string, unknown>>
  readonly image?: { readonly format?: string; readonly data?: unknown }
  readonly lines?: readonly Line[] | null
  /** How far its lines begin left of its box, because they were aligned in a wider one. */
  readonly alignOffset?: number
  readonly wasSplit?: boolean
  readonly children?: readonly LayoutNode[] | null
}

/** A line of text. Its `x` includes the blanks at its start, and its `xAdvance` those at both ends. */
export interface Line {
  readonly string?: string
  readonly box?: { readonly x?: number; readonly y?: number; readonly height?: number }
  readonly ascent?: number
  readonly xAdvance?: number
  readonly overflowLeft?: number
  readonly overflowRight?: number
  readonly runs?: readonly Run[]
}

/** Letters in one font. */
interface Run {
  readonly attributes?: {
    readonly font?: readonly unknown[]
    readonly fontSize?: number
    readonly color?: unknown
    readonly characterSpacing?: number
  }
  readonly glyphs?: readonly Glyph[]
  readonly positions?: readonly { readonly xAdvance: number }[]
}

/** A length of react-pdf's layout, or 0 if it is none. */
export function lengthOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

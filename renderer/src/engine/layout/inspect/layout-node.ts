/** The fields that we read from react-pdf's layout. react-pdf promises none of them, so all are optional. */
import type { Glyph } from '../font-store.ts'

export interface LayoutNode {
  readonly type?: string
  readonly value?: string
  readonly props?: Readonly<Record<string, unknown>>
  readonly style?: Readonly<Record<string, unknown>>
  /** The border box, relative to that of its parent. */
  readonly box?: Readonly<Record<string, unknown>>
  readonly image?: { readonly format?: string; readonly data?: unknown }
  readonly lines?: readonly Line[] | null
  /** How far its lines begin left of its box. They were aligned in a wider one. */
  readonly alignOffset?: number
  readonly wasSplit?: boolean
  readonly children?: readonly LayoutNode[] | null
}

/** `x` includes the blanks at the start of the line, and `xAdvance` those at both ends. */
export interface Line {
  readonly string?: string
  readonly box?: { readonly x?: number; readonly y?: number; readonly height?: number }
  readonly ascent?: number
  readonly xAdvance?: number
  readonly overflowLeft?: number
  readonly overflowRight?: number
  readonly runs?: readonly Run[]
}

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

export function lengthOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

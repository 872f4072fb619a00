/** Options of a document that a template and a request may set: its engine and its page. */

export const ENGINES = ['react_pdf', 'html'] as const
export type Engine = (typeof ENGINES)[number]

export const PAGE_SIZES = ['A3', 'A4', 'A5', 'A6', 'LETTER', 'LEGAL', 'TABLOID'] as const
export type PageSize = (typeof PAGE_SIZES)[number] | { readonly width: number; readonly height: number }
export type Orientation = 'portrait' | 'landscape'
/** A number is points; a string is a CSS length such as `12mm`. */
export type Length = number | string
export interface Sides {
  readonly top?: Length | undefined
  readonly right?: Length | undefined
  readonly bottom?: Length | undefined
  readonly left?: Length | undefined
}

/** Overrides of one request, or a template's own defaults. Spelled as on the wire. */
export interface RenderOptions {
  readonly page_size?: PageSize | undefined
  readonly orientation?: Orientation | undefined
  readonly margin?: Length | Sides | undefined
  readonly filename?: string | undefined
}

/** Finds what is known about a document only after its layout. */
import type { FontStore, Glyph } from './font-store.ts'

export interface InspectedLayout {
  /** Characters that no font has, in document order, each as often as it is drawn. */
  readonly missing: readonly string[]
  /** Digests of images that react-pdf could not read. It leaves a gap for them. */
  readonly unreadableImages: readonly string[]
}

/** Inspects a layout. */
export function inspectLayout(layout: LayoutNode, missing: FontStore['missing']): InspectedLayout {
  const characters: string[] = []
  const unreadableImages: string[] = []
  const visit = ({ type = '', image, props, lines, children }: LayoutNode) => {
    if (IMAGES.includes(type) && image === undefined)
      unreadableImages.push(String((props?.['src'] as ImageProps | undefined)?.data))
    for (const { attributes, glyphs = [] } of lines?.flatMap(({ runs = [] }) => runs) ?? []) {
      for (const glyph of glyphs) {
        const character = missing(attributes?.font?.[0], glyph)
        if (character !== undefined) characters.push(character)
      }
    }
    children?.forEach(visit)
  }
  visit(layout)
  return { missing: characters, unreadableImages }
}

const IMAGES = ['IMAGE', 'IMAGE_BACKGROUND']

/** What `element/image.ts` returns for an address. */
interface ImageProps {
  readonly data?: unknown
}

/** A node of react-pdf's layout, with the fields we read. react-pdf promises none of them, so all are optional. */
export interface LayoutNode {
  readonly type?: string
  readonly props?: Readonly<Record<string, unknown>>
  readonly style?: Readonly<Record<string, unknown>>
  readonly box?: Readonly<Record<string, unknown>>
  readonly image?: object
  readonly lines?: readonly { readonly box?: { readonly height?: number }; readonly runs?: readonly Run[] }[] | null
  readonly wasSplit?: boolean
  readonly children?: readonly LayoutNode[] | null
}

/** Letters in one font. */
interface Run {
  readonly attributes?: { readonly font?: readonly unknown[] }
  readonly glyphs?: readonly Glyph[]
}

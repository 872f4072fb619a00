/** What can be known of a document only when it is laid out. */
import type { FontStore, Glyph } from './font-store.ts'

export interface InspectedLayout {
  /** Characters no font has, in the order they are met, each as often as it is drawn. */
  readonly missing: readonly string[]
  /** Digests of the images that react-pdf could not read, for which it leaves a gap. */
  readonly unreadableImages: readonly string[]
}

/** Looks through a layout. */
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

/** What `element/image.ts` gives for an address. */
interface ImageProps {
  readonly data?: unknown
}

/** A node of react-pdf's layout, as far as it is looked at. Nothing of it is promised, so nothing is relied on. */
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

/** Letters of one font. */
interface Run {
  readonly attributes?: { readonly font?: readonly unknown[] }
  readonly glyphs?: readonly Glyph[]
}

/** What can be known of a document only when it is laid out. */
import type { FontStore, Glyph } from './font-store.ts'

export interface LaidOut {
  readonly pages: number
  /** Characters no font has, in the order they are met, each as often as it is drawn. */
  readonly missing: readonly string[]
  /** Digests of the images that react-pdf could not read, for which it leaves a gap. */
  readonly gaps: readonly string[]
}

/**
 * Looks through what react-pdf tells `onRender`. It stands there under a name that says it may change: then there is no count
 * of pages, no limit but size, and no warning.
 */
export function inspectLayout(rendered: unknown, missing: FontStore['missing']): LaidOut {
  const { _INTERNAL__LAYOUT__DATA_: layout } = (rendered ?? {}) as { _INTERNAL__LAYOUT__DATA_?: LayoutNode }
  const characters: string[] = []
  const gaps: string[] = []
  const visit = (node: LayoutNode) => {
    if (node.type === 'IMAGE' && node.image === undefined) gaps.push(String(node.props?.src?.data))
    for (const { attributes, glyphs = [] } of node.lines?.flatMap(({ runs }) => runs) ?? []) {
      for (const glyph of glyphs) {
        const character = missing(attributes?.font?.[0], glyph)
        if (character !== undefined) characters.push(character)
      }
    }
    node.children?.forEach(visit)
  }
  if (layout !== undefined) visit(layout)
  return { pages: layout?.children?.length ?? 0, missing: characters, gaps }
}

interface LayoutNode {
  readonly type: string
  readonly children?: readonly LayoutNode[] | null
  readonly lines?: readonly { readonly runs: readonly Run[] }[] | null
  readonly image?: object
  readonly props?: { readonly src?: { readonly data?: unknown } }
}

/** Letters of one font. */
interface Run {
  readonly attributes?: { readonly font?: readonly unknown[] }
  readonly glyphs?: readonly Glyph[]
}

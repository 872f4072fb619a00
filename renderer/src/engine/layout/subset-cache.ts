/**
 * Caches what pdfkit asks of a font for every document. The next invoice of a template uses the same letters as the last one. Without the
 * cache its subset is extracted, assembled and compressed again.
 */
import { deflateSync } from 'node:zlib'
import { openLruCache } from '@platen/contract/lru-cache.ts'
import type { Font, Subset } from 'fontkit'

/** Subsets to keep for each font, of some 20 kB each. They hold letters of the font and no text. */
const SUBSETS_MAX = 16

/** The file of a subset. It is compressed at most once, and so is its ToUnicode CMap: the characters that its glyphs stand for. */
export class PackedFont extends Uint8Array {
  #deflated: Uint8Array | undefined
  #cmap: { readonly text: string; readonly deflated: Uint8Array } | undefined

  deflated(): Uint8Array {
    this.#deflated ??= deflateSync(this)
    return this.#deflated
  }

  /** In a font of a template, a glyph may stand for other characters in another document. */
  deflatedCMap(text: string): Uint8Array {
    if (this.#cmap?.text !== text) this.#cmap = { text, deflated: deflateSync(Buffer.from(text, 'latin1')) }
    return this.#cmap.deflated
  }
}

/** fontkit's subset with a field that its type lacks: the glyphs in it, in the order in which they were requested. */
type OpenSubset = Subset & { readonly glyphs: readonly number[] }

/** Makes a font that serves many documents cache its subsets. */
export function cacheSubsets(font: Font): void {
  const create = font.createSubset.bind(font)
  const packed = openLruCache<PackedFont>(SUBSETS_MAX)
  const createSubset = (): Subset => {
    const subset = create() as OpenSubset
    const pack = subset.encode.bind(subset)
    const encode = () => {
      const key = subset.glyphs.join()
      return packed.get(key) ?? packed.set(key, new PackedFont(pack()))
    }
    return Object.assign(subset, { encode })
  }
  Object.assign(font, { createSubset })
}

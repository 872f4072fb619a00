/**
 * What pdfkit asks of a font for every document. A template that writes another invoice uses the letters of the last one, whose
 * subset else has to be cut out of the font, put together and compressed again.
 */
import { deflateSync } from 'node:zlib'
import type { Font, Subset } from 'fontkit'
import { openLruCache } from '../../lru-cache.ts'

/** Subsets kept for each font, of some 20 kB. They hold letters of the font, and nothing of any text. */
const SUBSETS_MAX = 16

/** The file of a subset, which is compressed at most once. */
export class PackedFont extends Uint8Array {
  #deflated: Uint8Array | undefined
  deflated(): Uint8Array {
    this.#deflated ??= deflateSync(this)
    return this.#deflated
  }
}

/** fontkit's subset, as far as its type says nothing of it: the glyphs it holds, in the order they were asked for. */
type OpenSubset = Subset & { readonly glyphs: readonly number[] }

/** Makes a font that serves many documents remember the subsets it was asked for. */
export function cacheSubsets(font: Font): void {
  const create = font.createSubset.bind(font)
  const packed = openLruCache<PackedFont>(SUBSETS_MAX, () => 1)
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

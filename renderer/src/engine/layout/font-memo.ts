/**
 * What pdfkit asks of a font for every document. A template that writes another invoice uses the letters of the last one, whose
 * subset else has to be cut out of the font and put together again; and fonts are told apart anew for every run of letters.
 */
import type { Font, Subset } from 'fontkit'
import { recentlyUsed } from '../../recently-used.ts'

/** Subsets kept for each font, of some 20 kB. They hold letters of the font, and nothing of any text. */
const SUBSETS_MAX = 16

/** Makes a font that serves many documents remember what they have in common. */
export function remember(font: Font): void {
  rememberSubsets(font)
  nameShortly(font)
}

/** fontkit's subset, as far as its type says nothing of it: the glyphs it holds, in the order they were asked for. */
type OpenSubset = Subset & { readonly glyphs: readonly number[] }

function rememberSubsets(font: Font): void {
  const create = font.createSubset.bind(font)
  const packed = recentlyUsed<Uint8Array>(SUBSETS_MAX, () => 1)
  const createSubset = (): Subset => {
    const subset = create() as OpenSubset
    const pack = subset.encode.bind(subset)
    const encode = () => {
      const key = subset.glyphs.join()
      return packed.get(key) ?? packed.set(key, pack())
    }
    return Object.assign(subset, { encode })
  }
  Object.assign(font, { createSubset })
}

/** pdfkit tells fonts apart by their tables of names, each as JSON, for every run of letters. */
function nameShortly(font: Font): void {
  const { _tables: tables } = font as unknown as { _tables?: { name?: { records?: object } } }
  const records = tables?.name?.records
  if (records !== undefined) Object.defineProperty(records, 'toJSON', { value: () => font.postscriptName })
}

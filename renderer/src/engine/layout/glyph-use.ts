/**
 * Gives each use of a glyph its own characters. One glyph may stand for several: for `-` and the soft hyphen, for Ω and the ohm sign, for a
 * letter alone and within another. fontkit keeps the characters of the first use, for all documents of a thread, and a PDF knows one text
 * for each code. So when a glyph is used for other characters, it gets a further id, which becomes its own code in the PDF. A reader then
 * copies and finds what was written.
 */
import { openLruCache } from '@platen/lib/lru-cache.ts'
import type { Font, Glyph, GlyphRun, Subset } from 'fontkit'

/** The ids in a font file are below this. Further ids of a glyph are its id plus a multiple of this. */
const IDS_MAX = 0x10000

/** fontkit's type lacks `glyphs`: the glyphs in the subset, in the order in which they were requested. */
type OpenSubset = Subset & { glyphs: readonly number[] }

/** Per font. A subset takes some 20 kB. It holds letters of the font and no text. */
const SUBSETS_MAX = 16

/**
 * Makes a font embed the glyphs of further ids. A subset has a glyph once per id. The next invoice of a template uses the same letters as
 * the last one, so the font keeps its last subsets.
 */
export function embedUses(font: Font): void {
  const create = font.createSubset.bind(font)
  const packed = openLruCache<Uint8Array>(SUBSETS_MAX)
  const createSubset = (): Subset => {
    const subset = create() as OpenSubset
    const encode = subset.encode.bind(subset)
    return Object.assign(subset, {
      encode() {
        subset.glyphs = subset.glyphs.map((id) => id % IDS_MAX)
        const key = subset.glyphs.join()
        return packed.get(key) ?? packed.set(key, encode())
      },
    })
  }
  Object.assign(font, { createSubset })
}

/** A use of a glyph while a text is shaped. Rules of fonts know glyphs by the ids in the file. */
interface UsedGlyph extends Glyph {
  /** The glyph with its further id. Absent for the first use. */
  readonly drawn?: Glyph
}

/** Makes a font give each use of a glyph its characters. Call it before the font sets its first text. */
export function nameEachUse(font: Font): Font {
  const getGlyph = font.getGlyph.bind(font)
  const uses = new Map<number, UsedGlyph[]>()
  return Object.assign(font, {
    getGlyph(id: number, characters: readonly number[] = []): Glyph {
      const known = uses.get(id)
      const same = known?.find(({ codePoints }) => isSame(codePoints, characters))
      if (same !== undefined) return same
      if (known === undefined) {
        const first = getGlyph(id, [...characters])
        // The glyph of missing characters is recognized by its id, so it keeps it.
        if (id !== 0) uses.set(id, [first])
        return first
      }
      const [first] = known
      if (first === undefined) return getGlyph(id)
      const named = {
        codePoints: { value: characters },
        isMark: { value: /^\p{M}+$/u.test(String.fromCodePoint(...characters)) },
        isLigature: { value: characters.length > 1 },
      }
      const drawn: Glyph = Object.create(first, { ...named, id: { value: id + known.length * IDS_MAX } })
      const use: UsedGlyph = Object.create(first, { ...named, drawn: { value: drawn } })
      known.push(use)
      return use
    },
  })
}

/** `font` has been through `nameEachUse`. The returned font draws glyphs with the ids of their uses. */
export function drawnFont(font: Font): Font {
  return Object.assign(Object.create(font), {
    glyphForCodePoint: (codePoint: number) => drawnGlyph(font.glyphForCodePoint(codePoint)),
    layout(...args: Parameters<Font['layout']>): GlyphRun {
      const run = font.layout(...args)
      const glyphs = IS_WESTERN.test(args[0]) ? run.glyphs : withoutAdditions(args[0], run.glyphs, font)
      run.glyphs = glyphs.some(isFurther) ? glyphs.map(drawnGlyph) : glyphs
      return run
    },
  })
}

/** Vowels that Khmer writes on both sides of a letter. fontkit adds a letter for the left side, which is also a vowel by itself. */
const SPLIT_VOWELS = [0x17be, 0x17bf, 0x17c0, 0x17c4, 0x17c5]
const LEFT_SIDE = 0x17c1

/** fontkit puts it below a mark that has no letter. */
const DOTTED_CIRCLE = 0x25cc

/** Font rules add no glyphs to western letters. */
const IS_WESTERN = /^[\0-\u02ff]*$/

/** Removes the characters of glyphs that font rules added, because the text does not contain them. */
function withoutAdditions(text: string, glyphs: readonly Glyph[], font: Font): Glyph[] {
  const hasCircle = text.includes(String.fromCodePoint(DOTTED_CIRCLE))
  return glyphs.map((glyph, at) => {
    const [codePoint, ...others] = glyph.codePoints
    const isAdded =
      others.length === 0 &&
      ((codePoint === DOTTED_CIRCLE && !hasCircle) || (codePoint === LEFT_SIDE && isLeftSide(glyphs, at)))
    return isAdded ? font.getGlyph(glyph.id, []) : glyph
  })
}

/** Whether the right side of a vowel follows before the next vowel of this form begins. */
function isLeftSide(glyphs: readonly Glyph[], at: number): boolean {
  for (const { codePoints } of glyphs.slice(at + 1, at + 1 + SYLLABLE_MAX)) {
    if (codePoints.some((codePoint) => SPLIT_VOWELS.includes(codePoint))) return true
    if (codePoints.includes(LEFT_SIDE)) return false
  }
  return false
}

/** Glyphs of a syllable of Khmer: a letter, two below it, signs and the vowel. */
const SYLLABLE_MAX = 8

function isFurther(glyph: UsedGlyph): boolean {
  return glyph.drawn !== undefined
}

function drawnGlyph(glyph: UsedGlyph): Glyph {
  return glyph.drawn ?? glyph
}

function isSame(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((one, at) => one === others[at])
}

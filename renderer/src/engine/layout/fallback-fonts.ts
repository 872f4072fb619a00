/**
 * Fonts for characters that the families of a text lack, by script. Each file is read when a document first needs it. They are large and
 * have many glyphs, so a thread keeps only the opened file, and glyphs last for one render.
 */
import assert from 'node:assert/strict'
import type { Font } from 'fontkit'
import { EMOJI_FAMILY, type FontFace } from '../../template/asset/font/default-fonts.ts'
import { openFont } from '../../template/asset/font/font-file.ts'
import { fallbackFamilies } from '../../template/asset/font/script.ts'
import { readFont } from '../../template/asset/font/shared-font.ts'
import { faceFor } from '../../template/asset/fonts.ts'
import { isVisible } from '../../template/asset/glyph.ts'
import { drawnFont, embedUses, nameEachUse } from './glyph-use.ts'
import { composeAm } from './shape/shaping.ts'

/** The last font of every chain. It claims to have each character: it asks a font of its script first, and else draws a box. */
interface LastResort extends Font {
  /** The font of a script that has the character, or an emoji font if `isEmoji`. */
  readonly fallbackFor: (codePoint: number, isEmoji: boolean) => Font | undefined
}

export interface FallbackFonts {
  /** Begins a render. `language` decides between forms of Han characters. */
  begin(language: string | undefined): void
  fontOf(face: FontFace): Font
  /** Makes the last font of a chain, for text of this weight. */
  lastResort(weight: number): LastResort
  /** Whether this is a last resort, which draws only boxes and blanks. */
  isLastResort(font: unknown): boolean
}

/** `faces` are those of scripts; `boxes` draws the boxes. Serves one render at a time. */
export function openFallbackFonts(faces: readonly FontFace[], boxes: Font): FallbackFonts {
  const families = Map.groupBy(faces, ({ family }) => family)
  const files = new Map<string, Font>()
  const original = lastResortOver(boxes)
  /** Of the running render: fonts by file, and the choice for a weight and a character. */
  const fonts = new Map<string, Font>()
  const choices = new Map<string, Font | undefined>()
  let language: string | undefined

  const fontOf = (face: FontFace): Font => {
    const file = files.get(face.file) ?? openFace(face)
    files.set(face.file, file)
    const font = fonts.get(face.file) ?? withoutGlyphs(file)
    fonts.set(face.file, font)
    return font
  }
  const choose = (codePoint: number, { isEmoji, weight }: { isEmoji: boolean; weight: number }): Font | undefined => {
    const character = String.fromCodePoint(codePoint)
    for (const family of isEmoji ? [EMOJI_FAMILY] : [...fallbackFamilies(character, language), ...lastly(character)]) {
      const face = faceFor(families.get(family) ?? [], { weight, style: 'normal' })
      const font = face && fontOf(face)
      if (font?.hasGlyphForCodePoint(codePoint)) return font
    }
    return undefined
  }
  return {
    begin(locale) {
      language = locale
      fonts.clear()
      choices.clear()
    },
    fontOf,
    lastResort: (weight) =>
      Object.assign(Object.create(original), {
        fallbackFor(codePoint: number, isEmoji: boolean) {
          const key = `${codePoint} ${isEmoji} ${weight}`
          if (!choices.has(key)) choices.set(key, choose(codePoint, { isEmoji, weight }))
          return choices.get(key)
        },
      }),
    isLastResort: (font) => typeof font === 'object' && font !== null && Object.getPrototypeOf(font) === original,
  }
}

/** The emoji font, which also has the text form of some emoji, in case no other font has them. */
function lastly(character: string): readonly string[] {
  return /^[\p{Emoji}\p{Extended_Pictographic}]/u.test(character) ? [EMOJI_FAMILY] : []
}

export function openFace(face: FontFace): Font {
  const font = openFont(readFont(face))
  // For each text, pdfkit writes out the names of its font to compare them. A font without parsed names costs nothing there.
  Object.defineProperty(font, 'postscriptName', { value: openFont(readFont(face)).postscriptName })
  measureLetters(font)
  embedUses(font)
  return font
}

/**
 * An object over a kept font that shares its tables and has no glyphs. fontkit caches each glyph with the characters it was first used for,
 * so one document would leave traces in the next. The kept font itself is never laid out.
 */
export function withoutGlyphs(file: Font): Font {
  return drawnFont(prepared(nameEachUse(Object.assign(Object.create(file), { _glyphs: {} }))))
}

/** Computes cached values in a font, so that the objects over it do not each compute them. */
export function prepared(font: Font): Font {
  font.layout('')
  if (AM_LETTERS.some((letter) => font.hasGlyphForCodePoint(letter))) composeAm(font)
  assert(font.bbox !== undefined, 'a font has a box')
  return font
}

const AM_LETTERS = [0xe33, 0xeb3]

/** Measures heights that older fonts, such as DejaVu, do not declare. A drawing with text fails without them. */
export function measureLetters(font: Font): void {
  const heightOf = (letter: string) => font.glyphForCodePoint(letter.codePointAt(0) ?? 0).bbox.maxY
  for (const [height, letter] of [
    ['capHeight', 'H'],
    ['xHeight', 'x'],
  ] as const) {
    // fontkit's type says number, but old files do not have it.
    const known: number | undefined = font[height]
    if (known === undefined) Object.defineProperty(font, height, { value: heightOf(letter) })
  }
}

/**
 * Without the last resort react-pdf uses Helvetica at the end of a chain, which draws another letter for a character it does not have. This
 * one draws the box of the default font and keeps the character with each box.
 */
function lastResortOver(font: Font): Font {
  const space = font.glyphForCodePoint(0x20)
  const glyphForCodePoint = (codePoint: number): typeof space =>
    isVisible(String.fromCodePoint(codePoint))
      ? Object.create(font.getGlyph(0), { codePoints: { value: [codePoint] } })
      : space
  return Object.assign(Object.create(font), {
    hasGlyphForCodePoint: () => true,
    glyphForCodePoint,
    layout(text: string) {
      const characters = Array.from(text)
      const glyphs = characters.map((character) => glyphForCodePoint(character.codePointAt(0) ?? 0))
      const positions = glyphs.map((glyph, index) => ({
        xAdvance: glyph === space && characters[index] !== '\t' ? 0 : glyph.advanceWidth,
        yAdvance: 0,
        xOffset: 0,
        yOffset: 0,
      }))
      return { glyphs, positions }
    },
  })
}

/**
 * How a font sets a text, without going through its rules for each text anew. Of western letters, which most texts are made of,
 * the rules say no more than how far two neighbours move together; so each pair is asked about once. A pair that the font joins or
 * replaces, any other letter, and features that a style asks for go the long way.
 */
import type { Font, Glyph, GlyphPosition, GlyphRun } from 'fontkit'

/** Basic Latin to Latin Extended-A. */
const LETTERS_MAX = 0x180

/** In the table of pairs, beside distances in units of the font. */
const UNKNOWN = -0x8000
const NEEDS_SHAPING = 0x7fff

/** Makes a font whose glyphs are all there remember its pairs, in some 300 kB. */
export function cachePairs(font: Font): void {
  const layout = font.layout.bind(font)
  /** By code point; null for what does not stand for itself. */
  const letters = new Map<number, Glyph | null>()
  let pairs: Int16Array | undefined

  /** The glyph of a letter that stands for itself, or null. */
  function letterOf(codePoint: number): Glyph | null {
    const text = String.fromCodePoint(codePoint)
    const { glyphs, positions } = layout(text)
    const glyph = font.glyphForCodePoint(codePoint)
    const isPlain = glyphs.length === 1 && glyphs[0] === glyph && isAt(positions[0], glyph.advanceWidth)
    return isPlain ? glyph : null
  }

  /** What two letters move together, or `LONG_WAY`. */
  function distanceOf(one: number, other: number): number {
    const [first, second] = [letters.get(one), letters.get(other)]
    const { glyphs, positions } = layout(String.fromCodePoint(one, other))
    const [start, end] = positions
    if (!first || !second || start === undefined || end === undefined) return NEEDS_SHAPING
    if (glyphs.length !== 2 || glyphs[0] !== first || glyphs[1] !== second) return NEEDS_SHAPING
    const distance = start.xAdvance - first.advanceWidth
    const isPlain = isAt(start, start.xAdvance) && isAt(end, second.advanceWidth) && Math.abs(distance) < NEEDS_SHAPING
    return isPlain && Number.isInteger(distance) ? distance : NEEDS_SHAPING
  }

  /** The text by its pairs alone; undefined for one that takes more. */
  function shapePlain(text: string): PlainRun | undefined {
    const glyphs: Glyph[] = []
    const positions: GlyphPosition[] = []
    pairs ??= new Int16Array(LETTERS_MAX * LETTERS_MAX).fill(UNKNOWN)
    for (let at = 0, before = -1; at < text.length; at += 1) {
      const letter = text.charCodeAt(at)
      if (letter >= LETTERS_MAX) return undefined
      if (!letters.has(letter)) letters.set(letter, letterOf(letter))
      const glyph = letters.get(letter)
      if (!glyph) return undefined
      if (before >= 0) {
        const pair = before * LETTERS_MAX + letter
        let distance = pairs[pair]
        if (distance === UNKNOWN) {
          distance = distanceOf(before, letter)
          pairs[pair] = distance
        }
        if (distance === undefined || distance === NEEDS_SHAPING) return undefined
        const last = positions[at - 1]
        if (last !== undefined) last.xAdvance += distance
      }
      glyphs.push(glyph)
      positions.push({ xAdvance: glyph.advanceWidth, yAdvance: 0, xOffset: 0, yOffset: 0 })
      before = letter
    }
    return new PlainRun(glyphs, positions)
  }

  Object.assign(font, {
    layout(...args: Parameters<Font['layout']>) {
      const [text, features = []] = args
      return (Array.isArray(features) && features.length === 0 && shapePlain(text)) || layout(...args)
    },
  })
}

/** What is asked of a run of glyphs. */
class PlainRun implements Pick<GlyphRun, 'glyphs' | 'positions' | 'advanceWidth'> {
  readonly glyphs: Glyph[]
  readonly positions: GlyphPosition[]

  constructor(glyphs: Glyph[], positions: GlyphPosition[]) {
    this.glyphs = glyphs
    this.positions = positions
  }

  /** Of the positions as they are by then: pdfkit scales them first. */
  get advanceWidth(): number {
    return this.positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0)
  }
}

/** Does a glyph stand where the one before it ends, and move the next one by so much? */
function isAt(position: GlyphPosition | undefined, advance: number): boolean {
  if (position === undefined) return false
  const { xAdvance, yAdvance, xOffset, yOffset } = position
  return xAdvance === advance && yAdvance === 0 && xOffset === 0 && yOffset === 0
}

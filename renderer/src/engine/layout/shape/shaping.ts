/**
 * Makes a font set text without running its rules again for each text. For western letters, which most texts use, the rules only say how
 * far two neighbours move together, so we ask once for each pair. The full rules still apply to any text with another letter or a ligature,
 * and to features that a style asks for.
 */
import type { Font, Glyph, GlyphPosition, GlyphRun } from 'fontkit'

/** Basic Latin to Latin Extended-A. */
const LETTERS_MAX = 0x180

/** Values in the table of pairs. Other values are distances in units of the font. */
const UNKNOWN = -0x8000
const NEEDS_SHAPING = 0x7fff

/** Caches the pairs of a font, in some 300 kB. Call it after `nameEachUse`. */
export function cachePairs(font: Font): void {
  const layout = font.layout.bind(font)
  /** By code point. Null for a letter that has no single glyph of its own. */
  const letters = new Map<number, Glyph | null>()
  let pairs: Int16Array | undefined

  function letterOf(codePoint: number): Glyph | null {
    const { glyphs, positions } = layout(String.fromCodePoint(codePoint))
    const glyph = font.glyphForCodePoint(codePoint)
    const isPlain = glyphs.length === 1 && glyphs[0] === glyph && isAt(positions[0], glyph.advanceWidth)
    return isPlain ? glyph : null
  }

  /** How far two letters move together, or `NEEDS_SHAPING`. */
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

  function knownDistance(one: number, other: number): number {
    pairs ??= new Int16Array(LETTERS_MAX * LETTERS_MAX).fill(UNKNOWN)
    const pair = one * LETTERS_MAX + other
    const known = pairs[pair]
    if (known !== undefined && known !== UNKNOWN) return known
    const distance = distanceOf(one, other)
    pairs[pair] = distance
    return distance
  }

  /** Returns undefined if the text needs the full rules. */
  function shapePlain(text: string): PlainRun | undefined {
    const glyphs: Glyph[] = []
    const positions: GlyphPosition[] = []
    for (let at = 0, before = -1; at < text.length; at += 1) {
      const letter = text.charCodeAt(at)
      if (letter >= LETTERS_MAX) return undefined
      if (!letters.has(letter)) letters.set(letter, letterOf(letter))
      const glyph = letters.get(letter)
      if (!glyph) return undefined
      const distance = before < 0 ? 0 : knownDistance(before, letter)
      const last = positions[at - 1]
      if (distance === NEEDS_SHAPING) return undefined
      if (last !== undefined) last.xAdvance += distance
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

class PlainRun implements Pick<GlyphRun, 'glyphs' | 'positions' | 'advanceWidth'> {
  readonly glyphs: Glyph[]
  readonly positions: GlyphPosition[]

  constructor(glyphs: Glyph[], positions: GlyphPosition[]) {
    this.glyphs = glyphs
    this.positions = positions
  }

  /** Uses the positions at the time of the call, because pdfkit scales them first. */
  get advanceWidth(): number {
    return this.positions.reduce((sum, { xAdvance }) => sum + xAdvance, 0)
  }
}

/** Whether a glyph stands where the one before it ends, and moves the next one by `advance`. */
function isAt(position: GlyphPosition | undefined, advance: number): boolean {
  if (position === undefined) return false
  const { xAdvance, yAdvance, xOffset, yOffset } = position
  return xAdvance === advance && yAdvance === 0 && xOffset === 0 && yOffset === 0
}

/** The vowel AM of Thai and of Lao: a ring over the letter before it, and the vowel AA. Tone marks stand over the ring. */
const AMS = [
  { am: '\u0e33', aa: '\u0e32', ring: '\u0e4d', tone: /[\u0e48-\u0e4b]/ },
  { am: '\u0eb3', aa: '\u0eb2', ring: '\u0ecd', tone: /[\u0ec8-\u0ecb]/ },
] as const
const HAS_AM = /[\u0e33\u0eb3]/

/**
 * Makes a font set AM as one glyph. Most fonts make two of it, a ring and an AA without a character. Then no AA of the document can be
 * copied, and a tone mark, which is written first, stands below the ring. HarfBuzz moves the ring; fontkit does not.
 */
export function composeAm(font: Font): void {
  const layout = font.layout.bind(font)
  Object.assign(font, {
    layout(...args: Parameters<Font['layout']>) {
      const [text, ...rest] = args
      if (!HAS_AM.test(text)) return layout(...args)
      const run = layout(
        AMS.reduce((written, { am, aa }) => written.replaceAll(am, aa), text),
        ...rest,
      )
      const letters = Array.from(text)
      let next = 0
      for (const [at, { codePoints, advanceWidth }] of run.glyphs.entries()) {
        const letter = next
        next += codePoints.length
        const kind = codePoints.length === 1 ? AMS.find(({ am }) => am === letters[letter]) : undefined
        const position = run.positions[at]
        if (kind === undefined || position === undefined) continue
        const glyph = font.glyphForCodePoint(kind.am.charCodeAt(0))
        run.glyphs[at] = glyph
        position.xAdvance += glyph.advanceWidth - advanceWidth
        const [base = '', tone = ''] = letters.slice(Math.max(0, letter - 2), letter)
        if (!kind.tone.test(tone)) continue
        const { glyphs, positions } = layout(`${base}${kind.ring}${tone}`)
        run.glyphs[at - 1] = glyphs.at(-1) ?? glyph
        Object.assign(run.positions[at - 1] ?? {}, positions.at(-1))
      }
      return run
    },
  })
}

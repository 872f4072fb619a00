/** Sets texts with ligatures or replaced letters. It asks the font once for each such group, and for the neighbours of each. */
import type { Font, Glyph, GlyphPosition } from 'fontkit'

interface Run {
  readonly glyphs: Glyph[]
  readonly positions: GlyphPosition[]
}

/** A letter, or letters that the font does not set one by one. */
interface Part extends Run {
  readonly letters: string
  /** How far it and a part after it move together. Null if each changes the other. */
  readonly distances: Map<Part, number | null>
}

interface Joins {
  /** `isJoin` says whether the letter there belongs to the one before it. Undefined if the text needs the full rules. */
  shape(text: string, isJoin: (at: number) => boolean): Run | undefined
}

/** Parts to keep for each font, and letters of a part. A font has a dozen ligatures of western letters. */
const PARTS_MAX = 500
const LETTERS_MAX = 4
/** Neighbours to keep for each font: half a megabyte, whatever templates print. */
const NEIGHBOURS_MAX = 10_000

/** `layout` follows the full rules of the font. */
export function openJoins(layout: Font['layout']): Joins {
  const parts = new Map<string, Part>()
  let neighbours = 0

  function partOf(letters: string): Part | undefined {
    const known = parts.get(letters)
    if (known !== undefined || letters.length > LETTERS_MAX || parts.size >= PARTS_MAX) return known
    const { glyphs, positions } = layout(letters)
    const part = { letters, glyphs, positions, distances: new Map() }
    parts.set(letters, part)
    return part
  }

  /** Undefined if it is not known, and too many are. */
  function knownDistance(one: Part, other: Part): number | null | undefined {
    if (!one.distances.has(other) && neighbours < NEIGHBOURS_MAX) {
      neighbours += 1
      one.distances.set(other, distanceOf(one, other))
    }
    return one.distances.get(other)
  }

  function distanceOf(one: Part, other: Part): number | null {
    const { glyphs, positions } = layout(one.letters + other.letters)
    const end = one.glyphs.length - 1
    const [last, apart] = [positions[end], one.positions[end]]
    const apartGlyphs = [...one.glyphs, ...other.glyphs]
    const apartPositions = [...one.positions, ...other.positions]
    if (last === undefined || apart === undefined || glyphs.length !== apartGlyphs.length) return null
    const areSame = glyphs.every((glyph, at) => {
      const [is, was] = [positions[at], apartPositions[at]]
      return glyph === apartGlyphs[at] && is !== undefined && was !== undefined && isSame(is, was, at === end)
    })
    return areSame ? last.xAdvance - apart.xAdvance : null
  }

  return {
    shape(text, isJoin) {
      const run: Run = { glyphs: [], positions: [] }
      let before: Part | undefined
      for (let at = 0, end = 1; at < text.length; at = end, end += 1) {
        while (end < text.length && isJoin(end)) end += 1
        const part = partOf(text.slice(at, end))
        if (part === undefined) return undefined
        const distance = before === undefined ? 0 : knownDistance(before, part)
        if (distance === undefined || distance === null) return undefined
        const last = run.positions.at(-1)
        if (last !== undefined) last.xAdvance += distance
        run.glyphs.push(...part.glyphs)
        // The caller changes them.
        run.positions.push(...part.positions.map((position) => ({ ...position })))
        before = part
      }
      return run
    },
  }
}

/** The last glyph of a part may move the next one by another way. */
function isSame(one: GlyphPosition, other: GlyphPosition, isEnd: boolean): boolean {
  const isPlace = one.yAdvance === other.yAdvance && one.xOffset === other.xOffset && one.yOffset === other.yOffset
  return isPlace && (isEnd || one.xAdvance === other.xAdvance)
}

/**
 * Splits text into runs of one font. react-pdf's own step takes the first font of the chain that has a code point. This one does not split
 * a sign (a letter and its marks, an emoji and its modifiers), and asks for the fonts of scripts at the end of a chain. See
 * `layout/fallback-fonts.ts`.
 */

interface ChainFont {
  readonly unitsPerEm: number
  hasGlyphForCodePoint(codePoint: number): boolean
  /** Whether it belongs to the template. */
  readonly isOwn?: boolean
  readonly fallbackFor?: (codePoint: number, isEmoji: boolean) => ChainFont | undefined
}

interface Run {
  readonly start: number
  readonly end: number
  readonly attributes: { readonly font: readonly ChainFont[]; readonly fontSize?: number }
}

interface FontRun {
  readonly start: number
  readonly end: number
  readonly attributes: { readonly font: readonly ChainFont[]; readonly scale?: number }
}

interface Text<Each> {
  readonly string: string
  readonly runs: readonly Each[]
}

const FONT_SIZE = 12

/** In the form that react-pdf's layout engine wants. */
export const fontSubstitution =
  () =>
  ({ string, runs }: Text<Run>): Text<FontRun> => {
    const [first] = runs
    if (string === '' && first !== undefined) {
      return { string, runs: [{ start: 0, end: 0, attributes: { font: first.attributes.font } }] }
    }
    return { string, runs: runs.flatMap((run) => fontRuns(string, run)) }
  }

function fontRuns(string: string, { start, end, attributes }: Run): readonly FontRun[] {
  const { font: chain, fontSize = FONT_SIZE } = attributes
  const found: FontRun[] = []
  let font: ChainFont | undefined
  let from = start
  const close = (to: number) => {
    if (font !== undefined && to > from) {
      found.push({
        start: from,
        end: to,
        attributes: { font: [font], scale: (fontSize || FONT_SIZE) / font.unitsPerEm },
      })
    }
    from = to
  }
  for (let at = start; at < end; ) {
    const codePoint = string.codePointAt(at) ?? 0
    const length = codePoint > 0xffff ? 2 : 1
    const next = isPlain(codePoint, string.charCodeAt(at + 1))
      ? plainFontOf(chain, codePoint)
      : fontOf({
          codePoint,
          after: string.slice(at + length, at + length + 2),
          before: font,
          isJoined: string[at - 1] === ZWJ,
          chain,
        })
    if (next !== font) {
      close(at)
      font = next
    }
    at += length
  }
  close(end)
  return found
}

interface Place {
  readonly codePoint: number
  /** The text after it, at least its first code point. */
  readonly after: string
  readonly before: ChainFont | undefined
  readonly isJoined: boolean
  readonly chain: readonly ChainFont[]
}

const ZWJ = '\u200d'

/** Most text: letters without marks. Digits and keys with an emoji style (keycaps) are excluded. */
function isPlain(codePoint: number, next: number): boolean {
  return codePoint < MARKS_MIN && codePoint !== SOFT_HYPHEN && next !== EMOJI_STYLE_CODE
}

function plainFontOf(chain: readonly ChainFont[], codePoint: number): ChainFont | undefined {
  return chain[0]?.hasGlyphForCodePoint(codePoint) === true ? chain[0] : inChain(chain, codePoint)
}

function fontOf({ codePoint, after, before, isJoined, chain }: Place): ChainFont | undefined {
  const character = String.fromCodePoint(codePoint)
  if (before !== undefined) {
    if (UNSEEN.test(character)) return before
    if ((isJoined || CONTINUES.test(character)) && before.hasGlyphForCodePoint(codePoint)) return before
  }
  if (isEmoji(character, after)) {
    const own = chain.find((font) => font.isOwn === true && font.hasGlyphForCodePoint(codePoint))
    const emoji = own ?? chain.find(({ fallbackFor }) => fallbackFor !== undefined)?.fallbackFor?.(codePoint, true)
    if (emoji !== undefined) return emoji
  }
  return inChain(chain, codePoint)
}

/** The first code point that may continue another: a combining accent. */
const MARKS_MIN = 0x300
const SOFT_HYPHEN = 0xad

/** Makes the character before it an emoji, such as the digit in a keycap. */
const EMOJI_STYLE_CODE = 0xfe0f
const TEXT_STYLE = '\ufe0e'

/** Joiners, variation selectors, tags, soft hyphens: they choose a form or a break, and have no form of their own. */
const UNSEEN = /^\p{Default_Ignorable_Code_Point}/u
/** Characters that belong to the sign before them. */
const CONTINUES = /^[\p{M}\p{Emoji_Modifier}]/u

function isEmoji(character: string, after: string): boolean {
  if (after.startsWith(TEXT_STYLE)) return false
  return (
    /^\p{Emoji_Presentation}/u.test(character) ||
    (/^\p{Emoji}/u.test(character) && /^(?:\ufe0f|\p{Emoji_Modifier})/u.test(after))
  )
}

function inChain(chain: readonly ChainFont[], codePoint: number): ChainFont | undefined {
  for (const font of chain) {
    if (font.hasGlyphForCodePoint(codePoint)) return font.fallbackFor?.(codePoint, false) ?? font
  }
  return chain.at(-1)
}

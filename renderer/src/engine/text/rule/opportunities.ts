/**
 * Where a line of a text may end, by UAX #14 (Unicode 17; https://www.unicode.org/reports/tr14/), with its names of rules. ICU's
 * dictionaries find the words of Thai, Lao, Khmer and Burmese. Pure, and linear in the length of the text.
 */
import { classAt, classes, classOf, isEastAsian } from './break-class.ts'

const [AL, B2, BB, CB, CM, CR, EM, GL, HL, IN, IS, LF, NS, NU, OP, QU, RI, SA, SP, SY, WJ, ZW, ZWJ] =
  'AL B2 BB CB CM CR EM GL HL IN IS LF NS NU OP QU RI SA SP SY WJ ZW ZWJ'.split(' ').map(classOf)
const [EB, AP, VF, VI, AK] = 'EB AP VF VI AK'.split(' ').map(classOf)
const HARD = classes('BK CR LF NL')
const NEVER_BEFORE = classes('BK CR LF NL SP ZW')
const ALONE = classes('BK CR LF NL SP ZW')
const CLOSING = classes('CL CP')
const AFTER_NOTHING = classes('CL CP EX SY')
const QUOTE_OPENS_AFTER = classes('BK CR LF NL OP QU GL SP ZW')
const QUOTE_CLOSES_BEFORE = classes('SP GL WJ CL QU CP EX IS SY BK CR LF NL ZW')
const LOOSE_BEFORE_GLUE = classes('SP BA HY HH')
const HYPHENS = classes('HY HH')
const WORD_STARTS_AFTER = classes('BK CR LF NL SP ZW CB GL')
const NOT_AT_START = classes('BA HH HY NS')
const LETTERS = classes('AL HL')
const WORDS = classes('AL HL NU')
const IDEOGRAPHS = classes('ID EB EM')
const AFFIXES = classes('PO PR')
const [PO, PR] = 'PO PR'.split(' ').map(classOf)
const SEPARATORS = classes('SY IS')
const BEFORE_NUMBER = classes('HY IS PO PR')
const HANGUL = classes('JL JV JT H2 H3')
const [JL, JT] = 'JL JT'.split(' ').map(classOf)
const AFTER_LEADING = classes('JL JV H2 H3')
const VOWEL_ENDED = classes('JV H2')
const AFTER_VOWEL = classes('JV JT')
const CONSONANT_ENDED = classes('JT H3')
const SYLLABLES = classes('AK AS')
const DOTTED_CIRCLE = 0x25cc

/** Texts in which a line may end only after blanks: no other rule below applies to these characters. */
const PLAIN = /^[ A-Za-z0-9.,:;'"\u00c0-\u024f]*$/
/** LB15d: those of these characters that begin no line, unless a digit follows (LB15c). */
const TRAILING = /[.,:;](?![0-9])/y

/** For each index of the text: 1 if a line may end before it. 0 at the start, 1 at the end of the text. */
export function breakOpportunities(text: string): Uint8Array {
  const breaks = new Uint8Array(text.length + 1)
  breaks[text.length] = 1
  if (PLAIN.test(text)) {
    for (let at = text.indexOf(' ') + 1; at > 0; at = text.indexOf(' ', at) + 1) {
      TRAILING.lastIndex = at
      if (text.charCodeAt(at) > 0x20 && !TRAILING.test(text)) breaks[at] = 1
    }
    return breaks
  }
  const units = unitsOf(text)
  let flags = 0
  for (let at = 0; at + 1 < units.count; at += 1) {
    flags = units.types[at] === RI ? flags + 1 : 0
    if (isBreak(units, at, flags)) breaks[units.starts[at + 1] ?? 0] = 1
  }
  for (const [start, end] of units.dictionary) markWords(text.slice(start, end), start, breaks)
  return breaks
}

/** Characters with the marks that follow them, which share their class (LB9). */
interface Units {
  readonly count: number
  readonly types: Uint8Array
  readonly codePoints: Uint32Array
  readonly starts: Uint32Array
  /** 1 for a character that a zero width joiner ends. */
  readonly joined: Uint8Array
  /** Stretches whose words a dictionary knows. */
  readonly dictionary: readonly (readonly [start: number, end: number])[]
}

function unitsOf(text: string): Units {
  const types = new Uint8Array(text.length)
  const codePoints = new Uint32Array(text.length)
  const starts = new Uint32Array(text.length)
  const joined = new Uint8Array(text.length)
  const dictionary: [number, number][] = []
  let count = 0
  for (let at = 0; at < text.length; ) {
    const codePoint = text.codePointAt(at) ?? 0
    const length = codePoint > 0xffff ? 2 : 1
    let type: number | undefined = classAt(codePoint)
    if (type === SA) {
      const open = dictionary.at(-1)
      if (open?.[1] === at) open[1] = at + length
      else dictionary.push([at, at + length])
      type = isMark(codePoint) ? CM : AL
    }
    const isAttached = (type === CM || type === ZWJ) && count > 0 && ALONE[types[count - 1] ?? 0] === 0
    if (isAttached) joined[count - 1] = type === ZWJ ? 1 : 0
    else {
      // LB10
      types[count] = (type === CM || type === ZWJ ? AL : type) ?? 0
      joined[count] = type === ZWJ ? 1 : 0
      codePoints[count] = codePoint
      starts[count] = at
      count += 1
    }
    at += length
  }
  return { count, types, codePoints, starts, joined, dictionary }
}

function isMark(codePoint: number): boolean {
  return /^\p{M}$/u.test(String.fromCodePoint(codePoint))
}

/** LB4 to LB18, the rules that look past blanks. `flags` counts the regional indicators. */
function isBreak(units: Units, at: number, flags: number): boolean {
  const { types, codePoints, joined, count } = units
  const before = types[at] ?? 0
  const after = types[at + 1] ?? 0
  if (HARD[before] === 1) return !(before === CR && after === LF)
  if (NEVER_BEFORE[after] === 1) return false
  let base = at
  while (base >= 0 && types[base] === SP) base -= 1
  const isSpaced = base < at
  const type = types[base]
  if (type === ZW) return true
  // LB8a, LB11, LB12
  if (!isSpaced && (joined[at] === 1 || before === WJ || before === GL)) return false
  if (after === WJ || (after === GL && LOOSE_BEFORE_GLUE[before] === 0)) return false
  // LB13, LB14
  if (AFTER_NOTHING[after] === 1 || type === OP) return false
  if (type === QU && isInitial(codePoints[base]) && (base === 0 || QUOTE_OPENS_AFTER[types[base - 1] ?? 0] === 1))
    return false
  const isLast = at + 2 >= count
  const follower = types[at + 2] ?? 0
  if (after === QU && isFinal(codePoints[at + 1]) && (isLast || QUOTE_CLOSES_BEFORE[follower] === 1)) return false
  // LB15c, LB15d
  if (after === IS) return isSpaced && !isLast && follower === NU
  // LB16, LB17
  if (type !== undefined && CLOSING[type] === 1 && after === NS) return false
  if (type === B2 && after === B2) return false
  return isSpaced || isBreakWithoutBlank(units, at, flags)
}

function isInitial(codePoint = 0): boolean {
  return /^\p{Pi}$/u.test(String.fromCodePoint(codePoint))
}

function isFinal(codePoint = 0): boolean {
  return /^\p{Pf}$/u.test(String.fromCodePoint(codePoint))
}

/** LB19 to LB31, the rules for neighbours. */
function isBreakWithoutBlank(units: Units, at: number, flags: number): boolean {
  const { types } = units
  const before = types[at] ?? 0
  const after = types[at + 1] ?? 0
  if (before === QU || after === QU) {
    if (isBoundToQuote(units, at)) return false
  }
  // LB20
  if (before === CB || after === CB) return true
  if (HYPHENS[before] === 1) {
    const isFirst = at === 0 || WORD_STARTS_AFTER[types[at - 1] ?? 0] === 1
    // LB20a, LB21a
    if (isFirst && LETTERS[after] === 1) return false
    if (at > 0 && types[at - 1] === HL && after !== HL) return false
  }
  // LB21, LB21b, LB22
  if (NOT_AT_START[after] === 1 || before === BB || (before === SY && after === HL) || after === IN) return false
  if (isBoundToNumber(types, at) || isBoundToLetter(units, at)) return false
  // LB30a, LB30b
  if (before === RI && after === RI) return flags % 2 === 0
  if (after === EM) return before !== EB && !/^[\p{Extended_Pictographic}&&\p{Cn}]$/v.test(characterOf(units, at))
  return true
}

function characterOf({ codePoints }: Units, at: number): string {
  return String.fromCodePoint(codePoints[at] ?? 0)
}

/** LB19, LB19a: quotation marks stay with their neighbours, except between ideographs, where their direction is clear. */
function isBoundToQuote({ types, codePoints, count }: Units, at: number): boolean {
  const [before = 0, after = 0] = [codePoints[at], codePoints[at + 1]]
  if (types[at + 1] === QU) {
    const next = at + 2 < count ? codePoints[at + 2] : undefined
    if (!isInitial(after) || !isEastAsian(before) || next === undefined || !isEastAsian(next)) return true
  }
  if (types[at] !== QU) return false
  const previous = at > 0 ? codePoints[at - 1] : undefined
  return !isFinal(before) || !isEastAsian(after) || previous === undefined || !isEastAsian(previous)
}

/** LB23 to LB25. */
function isBoundToNumber(types: Uint8Array, at: number): boolean {
  const before = types[at] ?? 0
  const after = types[at + 1] ?? 0
  if (LETTERS[before] === 1) return after === NU || AFFIXES[after] === 1
  if (LETTERS[after] === 1) return before === NU || AFFIXES[before] === 1
  if (before === PR && IDEOGRAPHS[after] === 1) return true
  if (IDEOGRAPHS[before] === 1 && after === PO) return true
  if (AFFIXES[before] === 1 && after === OP)
    return types[at + 2] === NU || (types[at + 2] === IS && types[at + 3] === NU)
  if (after === NU) return BEFORE_NUMBER[before] === 1 || endsNumber(types, at)
  if (AFFIXES[after] === 1) return endsNumber(types, CLOSING[before] === 1 ? at - 1 : at)
  return false
}

function endsNumber(types: Uint8Array, end: number): boolean {
  let at = end
  while (at >= 0 && SEPARATORS[types[at] ?? 0] === 1) at -= 1
  return types[at] === NU
}

/** LB26 to LB30: syllables and words. */
function isBoundToLetter(units: Units, at: number): boolean {
  const { types, codePoints } = units
  const before = types[at] ?? 0
  const after = types[at + 1] ?? 0
  if (LETTERS[before] === 1 && LETTERS[after] === 1) return true
  if (before === IS && LETTERS[after] === 1) return true
  if (WORDS[before] === 1 && after === OP) return !isEastAsian(codePoints[at + 1] ?? 0)
  if (WORDS[after] === 1 && types[at] === classOf('CP')) return !isEastAsian(codePoints[at] ?? 0)
  if (HANGUL[before] === 1 || HANGUL[after] === 1) {
    if (before === JL && AFTER_LEADING[after] === 1) return true
    if (VOWEL_ENDED[before] === 1 && AFTER_VOWEL[after] === 1) return true
    if (CONSONANT_ENDED[before] === 1 && after === JT) return true
    if ((HANGUL[before] === 1 && after === PO) || (before === PR && HANGUL[after] === 1)) return true
  }
  return isBrahmicSyllable(units, at)
}

/** LB28a. */
function isBrahmicSyllable(units: Units, at: number): boolean {
  const { types } = units
  const isSyllable = (index: number) =>
    index >= 0 &&
    index < units.count &&
    (SYLLABLES[types[index] ?? 0] === 1 || units.codePoints[index] === DOTTED_CIRCLE)
  const after = types[at + 1]
  if (types[at] === AP && isSyllable(at + 1)) return true
  if (isSyllable(at) && (after === VF || after === VI)) return true
  if (types[at] === VI && isSyllable(at - 1)) return after === AK || units.codePoints[at + 1] === DOTTED_CIRCLE
  return isSyllable(at) && isSyllable(at + 1) && at + 2 < units.count && types[at + 2] === VF
}

/** ICU finds the words of all scripts that are written without blanks, whatever the locale. It takes milliseconds to open. */
let words: Intl.Segmenter | undefined

function markWords(text: string, start: number, breaks: Uint8Array): void {
  words ??= new Intl.Segmenter('th', { granularity: 'word' })
  for (const { index } of words.segment(text)) if (index > 0) breaks[start + index] = 1
}

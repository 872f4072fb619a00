/**
 * Hyphenates words by the patterns of TeX (Liang, "Word Hy-phen-a-tion by Com-put-er", 1983). Each language has some hundred kilobytes, and
 * is loaded when a text first needs it.
 */
import { createRequire } from 'node:module'

/** Splits a text where its words may be hyphenated. Each part of a word has at least two letters. */
export type Hyphenate = (word: string) => readonly string[]

/** By language: the patterns, and the fewest letters of a word's last part. */
const LANGUAGES: Readonly<Record<string, readonly [patterns: string, lastLettersMin: number]>> = {
  de: ['de-1996', 2],
  en: ['en-us', 3],
  'en-gb': ['en-gb', 3],
  es: ['es', 2],
  fr: ['fr', 2],
  it: ['it', 2],
  nl: ['nl', 2],
  pl: ['pl', 2],
  pt: ['pt', 2],
  ru: ['ru', 2],
  sv: ['sv', 2],
}

const BRITISH = /^en-(?:au|gb|ie|in|nz|za)\b/

const FIRST_LETTERS_MIN = 2
const LETTERS_MIN = 5
/** Longer than any word of a dictionary. */
const LETTERS_MAX = 100

const opened = new Map<string, Hyphenate>()
const require = createRequire(import.meta.url)

/** `language` is a tag such as `de` or `pt-BR`. Undefined if there are no patterns for it. */
export function hyphenatorOf(language = ''): Hyphenate | undefined {
  const tag = language.toLowerCase()
  const code = BRITISH.test(tag) ? 'en-gb' : (tag.split('-')[0] ?? '')
  const found = Object.hasOwn(LANGUAGES, code) ? LANGUAGES[code] : undefined
  if (found === undefined) return undefined
  const hyphenate = opened.get(code) ?? openHyphenator(...found)
  opened.set(code, hyphenate)
  return hyphenate
}

/** One number before each letter of a pattern, and one after the last. Odd numbers allow a break, and the largest number wins. */
type Levels = readonly number[]

function openHyphenator(name: string, lastLettersMin: number): Hyphenate {
  const { patterns, exceptions } = require(`hyphen/patterns/${name}.js`) as Record<'patterns' | 'exceptions', string[]>
  const levels = new Map(patterns.map((pattern) => [pattern.replaceAll(/\d/g, ''), levelsOf(pattern)] as const))
  const longest = Math.max(...[...levels.keys()].map(({ length }) => length))
  const known = new Map(exceptions.map((word) => [word.replaceAll('-', ''), word.split('-')] as const))

  function lengthsOf(word: string): readonly number[] {
    const exception = known.get(word)
    if (exception !== undefined) return exception.map(({ length }) => length)
    const dotted = `.${word}.`
    const wants = new Uint8Array(dotted.length + 1)
    for (let start = 0; start < dotted.length; start += 1) {
      for (let end = start + 1; end <= Math.min(dotted.length, start + longest); end += 1) {
        const found = levels.get(dotted.slice(start, end)) ?? []
        for (const [at, level] of found.entries()) wants[start + at] = Math.max(wants[start + at] ?? 0, level)
      }
    }
    const lengths: number[] = []
    let last = 0
    for (let at = FIRST_LETTERS_MIN; at <= word.length - lastLettersMin; at += 1) {
      if ((wants[at + 1] ?? 0) % 2 === 0) continue
      lengths.push(at - last)
      last = at
    }
    return [...lengths, word.length - last]
  }

  function partsOf(word: string): readonly string[] {
    const lower = word.toLowerCase()
    const isWord = word.length >= LETTERS_MIN && word.length <= LETTERS_MAX && lower.length === word.length
    if (!isWord) return [word]
    let at = 0
    return lengthsOf(lower).map((length) => word.slice(at, (at += length)))
  }

  return (text) => {
    const parts: string[] = ['']
    let end = 0
    for (const { 0: word, index } of text.matchAll(/[\p{L}\p{M}]+/gu)) {
      const [first = '', ...others] = partsOf(word)
      parts.push(`${parts.pop() ?? ''}${text.slice(end, index)}${first}`, ...others)
      end = index + word.length
    }
    parts.push(`${parts.pop() ?? ''}${text.slice(end)}`)
    return parts
  }
}

function levelsOf(pattern: string): Levels {
  const levels = [0]
  for (const character of pattern) {
    if (/\d/.test(character)) levels[levels.length - 1] = Number(character)
    else levels.push(0)
  }
  return levels
}

/**
 * Which families draw the characters that a text's own family lacks: one table for both engines, so that both take the same face. Pure.
 *
 * DejaVu Sans comes first and has Latin, Greek, Cyrillic, Arabic, Hebrew, Armenian, Georgian and many symbols. A family is asked only for
 * characters of its own script, so a document loads no font that it does not need.
 */

/** Characters that belong to no script: symbols, signs, formulas. */
const SYMBOLS = '\\p{Script=Common}\\p{Script=Inherited}'

/** Family and its characters, as the inside of a character class with the flag `u`. The order counts. */
const SCRIPTS: readonly (readonly [family: string, characters: string])[] = [
  'Devanagari',
  'Bengali',
  'Tamil',
  'Telugu',
  'Gujarati',
  'Gurmukhi',
  'Kannada',
  'Malayalam',
  'Oriya',
  'Sinhala',
  'Thai',
  'Lao',
  'Khmer',
  'Myanmar',
  'Ethiopic',
].map((script) => [`Noto Sans ${script}`, `\\p{Script_Extensions=${script}}`])

const SYMBOL_FAMILIES = ['Noto Sans Math', 'Noto Sans Symbols', 'Noto Sans Symbols 2']

/** Han, the syllables written with it, and their punctuation and wide forms. */
const HAN =
  '\\p{Script_Extensions=Han}\\p{Script_Extensions=Hiragana}\\p{Script_Extensions=Katakana}\\p{Script_Extensions=Hangul}' +
  '\\p{Script_Extensions=Bopomofo}\\u2e80-\\u33ff\\ufe30-\\ufe4f\\uff00-\\uffef\\u{1f200}-\\u{1f2ff}'

export const FALLBACK_FAMILIES: readonly string[] = [...SCRIPTS.map(([family]) => family), ...SYMBOL_FAMILIES]

/** One Han character has different forms in different languages, so each language has a family. */
export const HAN_FAMILIES = {
  'zh-Hans': 'Noto Sans SC',
  'zh-Hant': 'Noto Sans TC',
  ja: 'Noto Sans JP',
  ko: 'Noto Sans KR',
} as const

/** The languages of each family, as ranges of CSS `:lang()`: each also matches longer tags. All other languages have the first family. */
export const HAN_LANGUAGES = [
  ['ja', ['ja']],
  ['ko', ['ko']],
  ['zh-Hant', ['zh-Hant', 'zh-TW', 'zh-HK', 'zh-MO', 'yue']],
] as const satisfies readonly (readonly [keyof typeof HAN_FAMILIES, readonly string[]])[]

/**
 * The families of Han, with that of the language first. If the language has no Han characters or is unknown, Simplified Chinese is first.
 */
export function hanFamilies(language = ''): readonly string[] {
  const tag = `${language.toLowerCase()}-`
  const [first] =
    HAN_LANGUAGES.find(([, ranges]) => ranges.some((range) => tag.startsWith(`${range.toLowerCase()}-`))) ?? []
  const families = Object.values(HAN_FAMILIES)
  return first === undefined ? families : [...new Set([HAN_FAMILIES[first], ...families])]
}

/** Families of Han have no name here, because that depends on the language. */
interface Fallback {
  readonly family: string | undefined
  /** The inside of a character class with the flag `u`. */
  readonly characters: string
}

export const FALLBACKS: readonly Fallback[] = [
  ...SCRIPTS.map(([family, characters]) => ({ family, characters })),
  { family: undefined, characters: HAN },
  ...SYMBOL_FAMILIES.map((family) => ({ family, characters: SYMBOLS })),
]

const PATTERNS = FALLBACKS.map(({ family, characters }) => ({ family, pattern: new RegExp(`^[${characters}]`, 'u') }))

/** Unicode gives these no meaning. A template may have its own font for private ones. */
const UNASSIGNED = /^[\p{Cn}\p{Co}\p{Cs}]/u

/** The families to ask for a character that the text's own families lack, in this order. */
export function fallbackFamilies(character: string, language: string | undefined): readonly string[] {
  if (UNASSIGNED.test(character)) return []
  return PATTERNS.filter(({ pattern }) => pattern.test(character)).flatMap(
    ({ family }) => family ?? hanFamilies(language),
  )
}

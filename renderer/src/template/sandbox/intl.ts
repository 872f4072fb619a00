/** The only service that a sandboxed template gets from its host: formatting and comparing by locale. JSON in, JSON out. */

/** Characters per question: enough for a long list of long names. */
export const QUESTION_CHARS_MAX = 2 ** 20
/** Characters of a locale or an option. Real ones are far shorter. */
const WORD_CHARS_MAX = 100
/** Characters of a text that is compared or listed. Such texts are names. */
const TEXT_CHARS_MAX = 10_000
const LOCALES_MAX = 10
const OPTIONS_MAX = 32
const LIST_MAX = 1000
/** Formatters cached during one render. A document uses a handful. */
const FORMATTERS_MAX = 50

const DEFAULT_LOCALE = 'en-US'
const DEFAULT_TIME_ZONE = 'UTC'

export interface FormatterDefaults {
  readonly locale?: string | undefined
  readonly timeZone?: string | undefined
}

type Method = (...values: readonly unknown[]) => unknown
type Formatter = Readonly<Record<string, Method>>

export const LONG_QUESTION = JSON.stringify({
  error: `the values to format are longer than ${QUESTION_CHARS_MAX} characters`,
})

/**
 * The function answers `[kind, method, locales, options, ...values]` with `{ value }` or `{ error }`, and never throws. `kind` is one of
 * `FORMATTERS`. A question without locale or time zone gets the defaults, not those of the machine.
 */
export function openFormatter({
  locale = DEFAULT_LOCALE,
  timeZone = DEFAULT_TIME_ZONE,
}: FormatterDefaults = {}): (question: string) => string {
  const formatters = new Map<string, Formatter>()
  return (question) => {
    try {
      return JSON.stringify({ value: answer(formatters, JSON.parse(question), { locale, timeZone }) })
    } catch (error) {
      return JSON.stringify({ error: error instanceof Error ? error.message : 'the value cannot be formatted' })
    }
  }
}

function answer(
  formatters: Map<string, Formatter>,
  question: unknown,
  defaults: { readonly locale: string; readonly timeZone: string },
): unknown {
  if (!Array.isArray(question)) throw new RangeError('there is nothing to format')
  const [kind, method, locales, options, ...values]: readonly unknown[] = question
  const key = JSON.stringify([kind, locales, options, method === 'supportedLocalesOf'])
  const make = () => {
    const named = localesOf(locales, defaults.locale)
    // If Intl knows none of the locales, it would use that of the machine.
    const known = method === 'supportedLocalesOf' ? named : [...named, defaults.locale, DEFAULT_LOCALE]
    return formatterOf(kind, known, { timeZone: defaults.timeZone, ...optionsOf(options) })
  }
  const formatter = formatters.get(key) ?? make()
  if (formatters.size < FORMATTERS_MAX) formatters.set(key, formatter)
  const run = Object.hasOwn(formatter, String(method)) ? formatter[String(method)] : undefined
  if (run === undefined) throw new RangeError('there is no such method')
  return run(...values)
}

type Options = Readonly<Record<string, string | number | boolean>>

function formatterOf(kind: unknown, locales: string[], options: Options): Formatter {
  const make = FORMATTERS.get(kind)
  if (make === undefined) throw new RangeError('there is no such formatter')
  return make(locales, options)
}

// Intl itself checks the options. It throws for unknown ones.
const FORMATTERS = new Map<unknown, (locales: string[], options: Options) => Formatter>([
  ['number', numberFormatter],
  ['datetime', dateFormatter],
  ['both', (locales, options) => dateFormatter(locales, withDefaults('both', options))],
  ['date', (locales, options) => dateFormatter(locales, withDefaults('date', options))],
  ['time', (locales, options) => dateFormatter(locales, withDefaults('time', options))],
  ['plural', pluralRules],
  ['list', listFormatter],
  ['relative', relativeFormatter],
  ['name', displayNames],
  ['collator', collator],
  ['segmenter', segmenter],
  ['case', letterCase],
])

const DATE_FIELDS = ['weekday', 'year', 'month', 'day', 'dateStyle']
const TIME_FIELDS = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits', 'timeStyle']

/** Adds fields as `Date`'s methods do if the options name none (ECMA-402, ToDateTimeOptions). */
function withDefaults(kind: 'both' | 'date' | 'time', options: Options): Options {
  const has = (fields: readonly string[]) => fields.some((field) => Object.hasOwn(options, field))
  const isNamed = (kind !== 'time' && has(DATE_FIELDS)) || (kind !== 'date' && has(TIME_FIELDS))
  if (isNamed) return options
  const date = { year: 'numeric', month: 'numeric', day: 'numeric' }
  const time = { hour: 'numeric', minute: 'numeric', second: 'numeric' }
  return { ...options, ...(kind === 'time' ? {} : date), ...(kind === 'date' ? {} : time) }
}

function numberFormatter(locales: string[], options: Options): Formatter {
  // A value that rounds to 0 has no sign.
  const format = new Intl.NumberFormat(locales, { signDisplay: 'negative', ...options })
  return {
    format: (value) => format.format(numberOf(value)),
    formatToParts: (value) => format.formatToParts(numberOf(value)),
    formatRange: (start, end) => format.formatRange(numberOf(start), numberOf(end)),
    resolvedOptions: () => format.resolvedOptions(),
    supportedLocalesOf: () => Intl.NumberFormat.supportedLocalesOf(locales),
  }
}

function dateFormatter(locales: string[], options: Options): Formatter {
  const format = new Intl.DateTimeFormat(locales, options)
  const showsYear = format.formatToParts(0).some(({ type }) => /year$/i.test(type))
  const shown = (value: unknown) => {
    const instant = instantOf(value)
    if (showsYear) refuseSeconds(instant)
    return instant
  }
  return {
    format: (value) => format.format(shown(value)),
    formatToParts: (value) => format.formatToParts(shown(value)),
    formatRange: (start, end) => format.formatRange(shown(start), shown(end)),
    resolvedOptions: () => format.resolvedOptions(),
    supportedLocalesOf: () => Intl.DateTimeFormat.supportedLocalesOf(locales),
  }
}

function pluralRules(locales: string[], options: Options): Formatter {
  const rules = new Intl.PluralRules(locales, options)
  return {
    select: (value) => rules.select(Number(numberOf(value))),
    resolvedOptions: () => rules.resolvedOptions(),
    supportedLocalesOf: () => Intl.PluralRules.supportedLocalesOf(locales),
  }
}

function listFormatter(locales: string[], options: Options): Formatter {
  const format = new Intl.ListFormat(locales, options)
  return {
    format: (items) => format.format(textsOf(items)),
    formatToParts: (items) => format.formatToParts(textsOf(items)),
    resolvedOptions: () => format.resolvedOptions(),
    supportedLocalesOf: () => Intl.ListFormat.supportedLocalesOf(locales),
  }
}

function relativeFormatter(locales: string[], options: Options): Formatter {
  const format = new Intl.RelativeTimeFormat(locales, options)
  // Intl throws for an unknown unit.
  const unitOf = (unit: unknown) => textOf(unit) as Intl.RelativeTimeFormatUnit
  return {
    format: (value, unit) => format.format(Number(numberOf(value)), unitOf(unit)),
    formatToParts: (value, unit) => format.formatToParts(Number(numberOf(value)), unitOf(unit)),
    resolvedOptions: () => format.resolvedOptions(),
    supportedLocalesOf: () => Intl.RelativeTimeFormat.supportedLocalesOf(locales),
  }
}

function displayNames(locales: string[], options: Options): Formatter {
  if (options['type'] === undefined) throw new TypeError('the option type is required')
  // Intl throws for an unknown type.
  const names = new Intl.DisplayNames(locales, options as unknown as Intl.DisplayNamesOptions)
  return {
    of: (code) => names.of(textOf(code)),
    resolvedOptions: () => names.resolvedOptions(),
    supportedLocalesOf: () => Intl.DisplayNames.supportedLocalesOf(locales),
  }
}

function collator(locales: string[], options: Options): Formatter {
  const order = new Intl.Collator(locales, options)
  return {
    compare: (one, other) => order.compare(textOf(one), textOf(other)),
    resolvedOptions: () => order.resolvedOptions(),
    supportedLocalesOf: () => Intl.Collator.supportedLocalesOf(locales),
  }
}

function segmenter(locales: string[], options: Options): Formatter {
  const segments = new Intl.Segmenter(locales, options)
  return {
    segment: (text) => [...segments.segment(textOf(text))],
    resolvedOptions: () => segments.resolvedOptions(),
    supportedLocalesOf: () => Intl.Segmenter.supportedLocalesOf(locales),
  }
}

function letterCase(locales: string[]): Formatter {
  // `QUESTION_CHARS_MAX` limits its length.
  const wordsOf = (text: unknown) => (typeof text === 'string' ? text : '')
  return {
    upper: (text) => wordsOf(text).toLocaleUpperCase(locales),
    lower: (text) => wordsOf(text).toLocaleLowerCase(locales),
  }
}

/**
 * Anything but a number or a short text becomes NaN, which JSON lacks. A trailing n marks a bigint. Intl reads the digits of a string
 * exactly.
 */
function numberOf(value: unknown): number | bigint | `${number}` {
  const text = typeof value === 'string' && value.length <= WORD_CHARS_MAX ? value : ''
  if (/^-?\d+n$/.test(text)) return BigInt(text.slice(0, -1))
  if (typeof value === 'number') return value
  // Intl accepts any text: one that is not a number is NaN.
  return text === '' ? Number.NaN : (text as `${number}`)
}

function instantOf(value: unknown): number {
  if (typeof value === 'number') return value
  throw new RangeError('Invalid time value: write a date as 2026-12-31, or with a time as 2026-12-31T15:30:00Z')
}

/** Seconds that are read as milliseconds are in the first months of 1970, and seldom at a full quarter of an hour, unlike birthdays. */
const SECONDS_MAX = 1e10
const QUARTER_MS = 900_000

function refuseSeconds(instant: number): void {
  if (instant > 0 && instant < SECONDS_MAX && instant % QUARTER_MS !== 0)
    throw new RangeError('the date is of 1970: Date counts milliseconds, so multiply seconds by 1000')
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('the value must be a string')
  if (value.length > TEXT_CHARS_MAX) throw new RangeError(`the string is longer than ${TEXT_CHARS_MAX} characters`)
  return value
}

function textsOf(values: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(values) ? values : []
  if (list.length > LIST_MAX) throw new RangeError(`the list has more than ${LIST_MAX} strings`)
  return list.map(textOf)
}

function localesOf(locales: unknown, locale: string): string[] {
  const list: readonly unknown[] = Array.isArray(locales) ? locales : locales === null ? [] : [locales]
  const names = list.slice(0, LOCALES_MAX).filter((name) => typeof name === 'string' && name.length <= WORD_CHARS_MAX)
  if (names.length < list.length) throw new RangeError('locales must be language tags such as pl-PL')
  return list.length === 0 ? [locale] : names.map(String)
}

function optionsOf(options: unknown): Options {
  if (options === null || options === undefined) return {}
  if (typeof options !== 'object' || Array.isArray(options)) throw new RangeError('options must be an object')
  const entries = Object.entries(options).slice(0, OPTIONS_MAX)
  const isPlain = (value: unknown): value is string | number | boolean =>
    typeof value === 'number' ||
    typeof value === 'boolean' ||
    (typeof value === 'string' && value.length <= WORD_CHARS_MAX)
  return Object.fromEntries(entries.flatMap(([name, value]) => (isPlain(value) ? [[name, value] as const] : [])))
}

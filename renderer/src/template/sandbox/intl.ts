/** The one thing a sandboxed template may ask of its host: to write a number or a date as people of some locale do. JSON in, JSON out. */

/** Characters of a locale, an option or a value: real ones are far shorter. */
const WORD_CHARS_MAX = 100
const LOCALES_MAX = 10
const OPTIONS_MAX = 32
/** Formatters kept during one render; a document uses a handful. */
const FORMATTERS_MAX = 50

interface Formatter {
  format(value: string | number): string
  formatToParts(value: string | number): unknown
  resolvedOptions(): unknown
}

/**
 * Answers `[kind, method, locales, options, value]` with `{ value }` or `{ error }`, where kind is `number`, `datetime`, or one of
 * `both`, `date` and `time` for the methods of `Date`. Without a locale it is en-US, without a time zone UTC, so that equal
 * input gives equal output on every machine. Never throws.
 */
export function openFormatter(): (question: string) => string {
  const formatters = new Map<string, Formatter>()
  return (question) => {
    try {
      return JSON.stringify({ value: answer(formatters, JSON.parse(question)) })
    } catch (error) {
      return JSON.stringify({ error: error instanceof Error ? error.message : 'the value cannot be formatted' })
    }
  }
}

function answer(formatters: Map<string, Formatter>, question: unknown): unknown {
  if (!Array.isArray(question)) throw new RangeError('there is nothing to format')
  const [kind, method, locales, options, value]: readonly unknown[] = question
  const key = JSON.stringify([kind, locales, options])
  const formatter = formatters.get(key) ?? formatterOf(kind, localesOf(locales), optionsOf(options))
  if (formatters.size < FORMATTERS_MAX) formatters.set(key, formatter)
  switch (method) {
    case 'format':
      return formatter.format(valueOf(value))
    case 'formatToParts':
      return formatter.formatToParts(valueOf(value))
    case 'resolvedOptions':
      return formatter.resolvedOptions()
    default:
      throw new RangeError('there is no such method')
  }
}

type Options = Readonly<Record<string, string | number | boolean>>

function formatterOf(kind: unknown, locales: string[], options: Options): Formatter {
  switch (kind) {
    case 'number':
      return numberFormatter(new Intl.NumberFormat(locales, options))
    case 'datetime':
      return dateFormatter(new Intl.DateTimeFormat(locales, { timeZone: 'UTC', ...options }))
    case 'both':
    case 'date':
    case 'time':
      return dateFormatter(new Intl.DateTimeFormat(locales, { timeZone: 'UTC', ...withDefaults(kind, options) }))
    default:
      throw new RangeError('there is no such formatter')
  }
}

const DATE_FIELDS = ['weekday', 'year', 'month', 'day', 'dateStyle']
const TIME_FIELDS = ['dayPeriod', 'hour', 'minute', 'second', 'fractionalSecondDigits', 'timeStyle']

/** What `Date`'s methods add where the options name no field of theirs (ECMA-402, ToDateTimeOptions). */
function withDefaults(kind: 'both' | 'date' | 'time', options: Options): Options {
  const has = (fields: readonly string[]) => fields.some((field) => Object.hasOwn(options, field))
  const isNamed = (kind !== 'time' && has(DATE_FIELDS)) || (kind !== 'date' && has(TIME_FIELDS))
  if (isNamed) return options
  const date = { year: 'numeric', month: 'numeric', day: 'numeric' }
  const time = { hour: 'numeric', minute: 'numeric', second: 'numeric' }
  return { ...options, ...(kind === 'time' ? {} : date), ...(kind === 'date' ? {} : time) }
}

function numberFormatter(format: Intl.NumberFormat): Formatter {
  // A trailing n marks a bigint; Intl reads the digits of a string exactly.
  const read = (value: string | number) => {
    const text = String(value)
    return /^-?\d+n$/.test(text) ? BigInt(text.slice(0, -1)) : Number(text)
  }
  return {
    format: (value) => format.format(read(value)),
    formatToParts: (value) => format.formatToParts(read(value)),
    resolvedOptions: () => format.resolvedOptions(),
  }
}

function dateFormatter(format: Intl.DateTimeFormat): Formatter {
  return {
    format: (value) => format.format(Number(value)),
    formatToParts: (value) => format.formatToParts(Number(value)),
    resolvedOptions: () => format.resolvedOptions(),
  }
}

/** JSON has no NaN: what is not a number or a short text is one. */
function valueOf(value: unknown): string | number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && value.length <= WORD_CHARS_MAX ? value : Number.NaN
}

function localesOf(locales: unknown): string[] {
  const list: readonly unknown[] = Array.isArray(locales) ? locales : locales === null ? [] : [locales]
  const names = list.slice(0, LOCALES_MAX).filter((name) => typeof name === 'string' && name.length <= WORD_CHARS_MAX)
  if (names.length < list.length) throw new RangeError('locales must be language tags such as pl-PL')
  return list.length === 0 ? ['en-US'] : names.map(String)
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

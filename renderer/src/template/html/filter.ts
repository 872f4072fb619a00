/**
 * The Liquid filters for numbers, money, dates and words. They use the host's `Intl` with the locale and time zone of the render, unless
 * they name others. So equal input gives equal output on every machine.
 */
import { filters, toValue } from 'liquidjs'
import { ARITHMETIC, amountOf, wholeOf } from './filter/amount.ts'
import {
  type Filter,
  FilterError,
  type FilterThis,
  isNothing,
  LOCALE_DEFAULT,
  localesOf,
  made,
  textOf,
} from './filter/fault.ts'
import { type Moment, momentOf } from './filter/moment.ts'
import { argumentWords, SIGNATURES } from './filter/signature.ts'
import { type Clock, strftime } from './filter/strftime.ts'
import { hyphenatorOf } from './hyphenation.ts'

/** Formats to cache per document. A template uses a handful; the limit is for data that would create many. */
const FORMATS_KEPT_MAX = 64

const ZONE_DEFAULT = 'UTC'

const DATE_STYLES = ['full', 'long', 'medium', 'short'] as const
type DateStyle = (typeof DATE_STYLES)[number]

/**
 * Makes the filters of one document. `locale` and `timeZone` are their defaults.
 * - `currency: code, locale` with an ISO 4217 code.
 * - `number: locale, digits`, where digits is the exact number of decimals. Without it the locale decides.
 * - `date: locale, style, zone` with style full, long, medium (default) or short.
 * - `date: "%d.%m.%Y", zone`, Liquid's own filter, for any argument with a `%`.
 * - `hyphenate: locale` puts soft hyphens where words may be hyphenated. Chromium has no dictionaries here.
 * - `upcase`, `downcase` and `capitalize` by the letters of the locale.
 * - Liquid's arithmetic, in decimals.
 *
 * No zone changes a date without a time, or a time without a zone. As everywhere in Liquid, an empty input gives an empty output. A value
 * that is not a number or a date is an error, and so is an argument without effect.
 */
export function localeFilters(locale = LOCALE_DEFAULT, timeZone = ZONE_DEFAULT): Readonly<Record<string, Filter>> {
  const kept = openFormats()
  const dateFormat = (locales: string[], options: Intl.DateTimeFormatOptions) =>
    kept(JSON.stringify(['date', locales, options]), () =>
      made('there is no such time zone', () => new Intl.DateTimeFormat(locales, options)),
    )
  const numberFormat = (locales: string[], reason: string, options: Intl.NumberFormatOptions) =>
    kept(JSON.stringify(['number', locales, options]), () =>
      // A value that rounds to 0 has no sign.
      made(reason, () => new Intl.NumberFormat(locales, { ...options, signDisplay: 'negative' })),
    )
  const append = filters['append']
  const recased = (change: (text: string) => string) =>
    function filter(this: FilterThis, value: unknown) {
      // LiquidJS's `append` converts any value to text, and counts its memory.
      const text: unknown = typeof append === 'function' ? append.call(this, value, '') : value
      return change(typeof text === 'string' ? text : '')
    }

  return strict({
    ...ARITHMETIC,
    currency(value: unknown, code: unknown, named?: unknown) {
      const [currency, locales] = [textOf(code, 'the currency code'), localesOf(named, locale)]
      const reason = 'the currency code must have three letters'
      const format = numberFormat(locales, reason, { style: 'currency', currency })
      return isNothing(value) ? '' : format.format(amountOf(value) as number)
    },
    number(value: unknown, named?: unknown, digits?: unknown) {
      const decimals = isNothing(digits) ? undefined : wholeOf(digits, 'the digits', [0, 100])
      const digitsOf = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
      const format = numberFormat(localesOf(named, locale), 'the digits must be a number from 0 to 100', digitsOf)
      return isNothing(value) ? '' : format.format(amountOf(value) as number)
    },
    date(value: unknown, format?: unknown, ...others: readonly unknown[]) {
      if (typeof format === 'string' && format.includes('%')) {
        const [zone, ...more] = others
        if (more.length > 0 || isStyle(zone))
          throw new FilterError('a date format with % takes a time zone, and neither a style nor a locale')
        const named = isNothing(zone) ? timeZone : zoneOf(zone)
        return isNothing(value) ? '' : strftime(format, clockOf(momentOf(value), named), locale)
      }
      const [style, zone] = others
      const options = {
        dateStyle: isNothing(style) ? ('medium' as const) : styleOf(style),
        timeZone: isNothing(zone) ? timeZone : zoneOf(zone),
      }
      if (isStyle(format)) throw new FilterError(`the style comes after the locale: write date: nil, "${format}"`)
      const locales = localesOf(format, locale)
      const written = dateFormat(locales, options)
      if (isNothing(value)) return ''
      const moment = momentOf(value)
      const own = moment.kind === 'instant' ? written : dateFormat(locales, { ...options, timeZone: ZONE_DEFAULT })
      return own.format(moment.epochMs)
    },
    hyphenate(value: unknown, named: unknown = locale) {
      if (isNothing(value)) return ''
      if (typeof value !== 'string') throw new FilterError('the value is not a text')
      const hyphenate = hyphenatorOf(textOf(named, 'the locale'))
      return value.includes(SOFT_HYPHEN) || hyphenate === undefined ? value : hyphenate(value).join(SOFT_HYPHEN)
    },
    upcase: recased((text) => text.toLocaleUpperCase(locale)),
    downcase: recased((text) => text.toLocaleLowerCase(locale)),
    capitalize: recased((text) => {
      const [first = ''] = text
      return first.toLocaleUpperCase(locale) + text.slice(first.length).toLocaleLowerCase(locale)
    }),
  })

  function zoneOf(zone: unknown): string {
    const named = textOf(zone, 'the time zone')
    dateFormat([LOCALE_DEFAULT], { timeZone: named })
    return named
  }

  function clockOf({ epochMs, kind }: Moment, named: string): Clock {
    const shown = new Date(kind === 'instant' ? epochMs + minutesEastOf(named, epochMs) * 60_000 : epochMs)
    // `epochMs` is the clock's reading here, so its offset is that of the zone at that time.
    const before = (east: number) => epochMs - east * 60_000
    const instant = () =>
      kind === 'instant' ? epochMs : before(minutesEastOf(named, before(minutesEastOf(named, epochMs))))
    const locales = localesOf(undefined, locale)
    const names = { timeZone: ZONE_DEFAULT, calendar: 'gregory' }
    return {
      shown,
      minutesEast: () => minutesEastOf(named, instant()),
      // In seconds, a day without a time is its noon: templates add days as 86,400 seconds, and some days have an hour more or less.
      epochMs: () => instant() + (kind === 'day' && named !== ZONE_DEFAULT ? NOON_MS : 0),
      word: (part, style) => {
        const alone = dateFormat(locales, { ...names, [part]: style })
        if (part === 'weekday') return alone.format(shown)
        // Beside a day, a month has another form in many languages: 21 listopada.
        const beside = dateFormat(locales, { ...names, month: style, day: 'numeric' }).formatToParts(shown)
        const name = beside.find(({ type }) => type === 'month')?.value ?? ''
        return /^\p{Nd}+$/u.test(name) ? alone.format(shown) : name
      },
      written: (fields) => {
        if (fields === 'date') return dateFormat(locales, { timeZone: ZONE_DEFAULT }).format(shown)
        if (fields === 'time') return dateFormat(locales, { timeZone: ZONE_DEFAULT, timeStyle: 'medium' }).format(shown)
        const parts = dateFormat(locales, { timeZone: named, timeZoneName: 'short' }).formatToParts(instant())
        return parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
      },
    }
  }

  /** How far a time zone was ahead of UTC at an instant. */
  function minutesEastOf(named: string, instant: number): number {
    if (named === ZONE_DEFAULT) return 0
    const parts = dateFormat([LOCALE_DEFAULT], { timeZone: named, timeZoneName: 'longOffset' }).formatToParts(instant)
    const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''
    const [, sign = '+', hours = '0', minutes = '0'] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
    return (sign === '+' ? 1 : -1) * (Number(hours) * 60 + Number(minutes))
  }
}

/** Replaces Liquid's own objects for `nil`, `empty` and `blank`. Refuses additional arguments, which Liquid ignores. */
function strict(own: Readonly<Record<string, Filter>>): Readonly<Record<string, Filter>> {
  const entries = Object.entries(own).map(([name, filter]) => {
    const args = SIGNATURES.get(name)?.args ?? [0, 0]
    const read: Filter = function read(value, ...given) {
      if (given.length > args[1])
        throw new FilterError(`the filter ${name} ${argumentWords(args)}, and here are ${given.length}`)
      return filter.call(this, toValue(value), ...given.map(toValue))
    }
    return [name, read] as const
  })
  return Object.fromEntries(entries)
}

const NOON_MS = 12 * 3_600_000
const SOFT_HYPHEN = '\u00ad'

/** Cached, because making a format takes a hundred times as long as using it. */
function openFormats(): <Format extends object>(key: string, make: () => Format) => Format {
  const formats = new Map<string, object>()
  return <Format extends object>(key: string, make: () => Format) => {
    const known = formats.get(key)
    // A key always has the same kind of format.
    if (known !== undefined) return known as Format
    const fresh = make()
    if (formats.size < FORMATS_KEPT_MAX) formats.set(key, fresh)
    return fresh
  }
}

/** Removed because they use the clock or random numbers: the output of a template must depend only on its input. */
export const IMPURE_FILTERS = ['sample', 'date_to_xmlschema', 'date_to_rfc822', 'date_to_string', 'date_to_long_string']

/** Sample values for filters whose value is in the data. */
const SAMPLES: Readonly<Record<string, string | number>> = { date: '2026-01-31' }

/** Finds what is wrong with a call whose arguments are literals, whatever the data are. `value` is undefined if it is in the data. */
export function openLiteralCheck(): (name: string, value: unknown, args: readonly unknown[]) => string | undefined {
  const own = localeFilters()
  const context = { memoryLimit: { use: () => undefined } }
  return (name, value, args) => {
    const filter = Object.hasOwn(own, name) ? own[name] : undefined
    // A list is never written out in a source.
    if (filter === undefined || name === 'sum') return undefined
    try {
      // These filters use nothing else of Liquid.
      filter.call({ context } as unknown as FilterThis, value ?? SAMPLES[name] ?? 1, ...args)
      return undefined
    } catch (error) {
      if (error instanceof FilterError) return error.message
      throw error
    }
  }
}

function isStyle(value: unknown): value is DateStyle {
  return DATE_STYLES.some((known) => known === value)
}

function styleOf(value: unknown): DateStyle {
  if (isStyle(value)) return value
  throw new FilterError(`the date style must be one of ${DATE_STYLES.join(', ')}`)
}

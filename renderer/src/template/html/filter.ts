/**
 * The Liquid filters for numbers, money, dates and long words. They format with the host's `Intl`, in the locale and the time zone of the render
 * unless they name others. So equal input gives equal output on every machine.
 */
import { type FilterImplOptions, filters } from 'liquidjs'
import { hyphenatorOf } from './hyphenation.ts'

/** Distinct formats to keep per document. A template uses a handful; the limit is for data that would create many. */
const FORMATS_KEPT_MAX = 64

const LOCALE_DEFAULT = 'en-US'
const ZONE_DEFAULT = 'UTC'

const DATE_STYLES = ['full', 'long', 'medium', 'short'] as const
type DateStyle = (typeof DATE_STYLES)[number]

/**
 * The filters of one document, by name. `locale` and `timeZone` are their defaults.
 * - `currency: code, locale` with an ISO 4217 code.
 * - `number: locale, digits`, where digits is the exact number of decimals. Without it the locale decides.
 * - `date: locale, style, zone` with style full, long, medium (default) or short.
 * - `date: "%d.%m.%Y"`, Liquid's own filter, for any argument with a `%`.
 * - `hyphenate: locale` puts soft hyphens where words may be hyphenated. Chromium has no dictionaries here.
 *
 * `timeZone` does not change a date without a time. As everywhere in Liquid, an empty input gives an empty output. A value that is not a
 * number or a date is an error and is never printed.
 */
export function localeFilters(
  locale = LOCALE_DEFAULT,
  timeZone = ZONE_DEFAULT,
): Record<'currency' | 'number' | 'date' | 'hyphenate', FilterImplOptions> {
  const liquidDate = typeof filters['date'] === 'function' ? filters['date'] : undefined
  const formats = new Map<string, { format(value: number): string }>()
  const kept = (key: string, make: () => { format(value: number): string }) => {
    const known = formats.get(key)
    if (known !== undefined) return known
    const made = make()
    if (formats.size < FORMATS_KEPT_MAX) formats.set(key, made)
    return made
  }

  return {
    currency(value: unknown, code: unknown, named: unknown = locale) {
      if (isNothing(value)) return ''
      const [currency, tag] = [textOf(code, 'the currency code'), textOf(named, 'the locale')]
      const make = () => {
        checkLocale(tag)
        return made(
          'the currency code must have three letters',
          () => new Intl.NumberFormat(tag, { style: 'currency', currency }),
        )
      }
      return kept(`currency ${tag} ${currency}`, make).format(numberOf(value))
    },
    number(value: unknown, named: unknown = locale, digits?: unknown) {
      if (isNothing(value)) return ''
      const tag = textOf(named, 'the locale')
      const decimals = isNothing(digits) ? undefined : numberOf(digits)
      const make = () => {
        checkLocale(tag)
        const digitsOf = { minimumFractionDigits: decimals, maximumFractionDigits: decimals }
        return made('the digits must be a number from 0 to 100', () => new Intl.NumberFormat(tag, digitsOf))
      }
      return kept(`number ${tag} ${decimals}`, make).format(numberOf(value))
    },
    date(value: unknown, ...[format = locale, style = 'medium', zone]: readonly unknown[]) {
      if (isNothing(value)) return ''
      const zoneOfValue = isDay(value) ? ZONE_DEFAULT : timeZone
      const tag = textOf(format, 'the locale')
      // Liquid counts in seconds.
      if (tag.includes('%'))
        return liquidDate?.call(this, instantOf(value) / 1000, tag, minutesWestOf(zoneOfValue, instantOf(value)))
      const [dateStyle, named] = [styleOf(style), textOf(zone ?? zoneOfValue, 'the time zone')]
      const make = () => {
        checkLocale(tag)
        return made('there is no such time zone', () => new Intl.DateTimeFormat(tag, { dateStyle, timeZone: named }))
      }
      return kept(`date ${tag} ${dateStyle} ${named}`, make).format(instantOf(value))
    },
    hyphenate(value: unknown, named: unknown = locale) {
      if (isNothing(value)) return ''
      if (typeof value !== 'string') throw new FilterError('the value is not a text')
      const hyphenate = hyphenatorOf(textOf(named, 'the locale'))
      return value.includes(SOFT_HYPHEN) || hyphenate === undefined ? value : hyphenate(value).join(SOFT_HYPHEN)
    },
  }
}

const SOFT_HYPHEN = '\u00ad'

/** How far a time zone was behind UTC at an instant: negative in the east, as Liquid and `Date` count. */
function minutesWestOf(timeZone: string, instant: number): number {
  if (timeZone === ZONE_DEFAULT) return 0
  const format = made(
    'there is no such time zone',
    () => new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }),
  )
  const name = format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const [, sign = '+', hours = '0', minutes = '0'] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? []
  return (sign === '+' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

/** Why a filter fails. The message quotes no value, because messages are shown and stored, and a value may be personal data. */
export class FilterError extends Error {
  override readonly name = 'FilterError'
}

function checkLocale(tag: string): void {
  made('the locale must be a tag such as en-US', () => Intl.getCanonicalLocales(tag))
}

/** Returns the result of `make`, or throws with `reason`. The messages of `Intl` would quote its input. */
function made<Made>(reason: string, make: () => Made): Made {
  try {
    return make()
  } catch (cause) {
    if (cause instanceof RangeError) throw new FilterError(reason, { cause })
    throw cause
  }
}

function isNothing(value: unknown): value is null | undefined | '' {
  return value === null || value === undefined || value === ''
}

function textOf(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '') throw new FilterError(`${what} must be a string`)
  return value
}

function numberOf(value: unknown): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number !== 'number' || !Number.isFinite(number)) throw new FilterError('the value is not a number')
  return number
}

/** Filters of LiquidJS that use the clock or random numbers. The output of a template must depend only on its input. */
export const IMPURE_FILTERS = ['sample', 'date_to_xmlschema', 'date_to_rfc822', 'date_to_string', 'date_to_long_string']

/** Epoch milliseconds of an ISO 8601 text, or of a number of seconds, as in Liquid. */
function instantOf(value: unknown): number {
  if (value === 'now' || value === 'today')
    throw new FilterError(`${value} is not available: pass the date in the data`)
  const seconds = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
  const instant =
    typeof seconds === 'number' ? seconds * 1000 : typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (!Number.isFinite(instant)) throw new FilterError('the value is not a date')
  return instant
}

/** A day without a time is the same day everywhere. */
function isDay(value: unknown): boolean {
  return typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value)
}

function styleOf(value: unknown): DateStyle {
  const style = DATE_STYLES.find((known) => known === value)
  if (style === undefined) throw new FilterError(`the date style must be one of ${DATE_STYLES.join(', ')}`)
  return style
}

/**
 * Liquid's formats with `%`: those of Ruby, with names in the locale of the render. They are our own, because LiquidJS prints unknown
 * letters, and reads a date in the machine's time zone.
 */
import { FilterError } from './fault.ts'

export interface Clock {
  /** Its UTC fields are the fields to print. */
  readonly shown: Date
  readonly epochMs: () => number
  readonly minutesEast: () => number
  readonly word: (part: 'weekday' | 'month', style: 'long' | 'short') => string
  readonly written: (fields: 'date' | 'time' | 'zone') => string
}

const FORMAT_CHARS_MAX = 1000
const WIDTH_MAX = 100

const DIRECTIVE = /%([-_0^#:]*)(\d*)([EO]?)(.?)/gsu

/** Throws `FilterError` for a directive that does not exist. */
export function strftime(format: string, clock: Clock, locale: string): string {
  if (format.length > FORMAT_CHARS_MAX)
    throw new FilterError(`the date format is longer than ${FORMAT_CHARS_MAX} characters`)
  return format.replaceAll(DIRECTIVE, (...found: readonly string[]) => {
    const [, flags = '', width = '', , letter = ''] = found
    const make = Object.hasOwn(LETTERS, letter) ? LETTERS[letter] : undefined
    if (make === undefined) throw new FilterError(`${unknown(letter)}; write %% for a percent sign`)
    if (flags.includes(':') && letter !== 'z') throw new FilterError('only %z takes a colon in a date format')
    if (Number(width) > WIDTH_MAX) throw new FilterError(`a width in a date format is at most ${WIDTH_MAX}`)
    return padded(make(clock, { flags, width: Number(width) }), { flags, width: Number(width), locale })
  })
}

function unknown(letter: string): string {
  return /^[a-z]$/i.test(letter) ? `there is no %${letter} in a date format` : 'a % in a date format has no letter'
}

interface Layout {
  readonly flags: string
  readonly width: number
}

/** Either text, or a number with its default width and fill. */
type Part = string | { readonly number: number; readonly width: number; readonly fill?: ' ' }

function padded(part: Part, { flags, width, locale }: Layout & { readonly locale: string }): string {
  const isNumber = typeof part !== 'string'
  const fill = flags.includes('_') ? ' ' : flags.includes('0') ? '0' : isNumber ? (part.fill ?? '0') : ' '
  const least = flags.includes('-') ? 0 : width || (isNumber ? part.width : 0)
  const text = cased(isNumber ? String(Math.abs(part.number)) : part, flags, locale)
  const sign = isNumber && part.number < 0 ? '-' : ''
  return fill === '0' ? sign + text.padStart(least - sign.length, fill) : (sign + text).padStart(least, fill)
}

function cased(text: string, flags: string, locale: string): string {
  if (flags.includes('^')) return text.toLocaleUpperCase(locale)
  if (!flags.includes('#')) return text
  const upper = text.toLocaleUpperCase(locale)
  return upper === text ? text.toLocaleLowerCase(locale) : upper
}

type Letter = (clock: Clock, layout: Layout) => Part

const number =
  (read: (shown: Date) => number, width: number, fill?: ' '): Letter =>
  ({ shown }) => ({ number: read(shown), width, ...(fill !== undefined && { fill }) })

const two = (read: (shown: Date) => number) => number(read, 2)
const letters =
  (format: string): Letter =>
  (clock) =>
    format.replaceAll(/%(.)/g, (_whole, letter: string) =>
      padded(LETTERS[letter]?.(clock, { flags: '', width: 0 }) ?? '', { flags: '', width: 0, locale: 'en' }),
    )

const DAY_MS = 86_400_000
const dayOfYear = (shown: Date) => Math.floor((shown.getTime() - new Date(shown).setUTCMonth(0, 1)) / DAY_MS) + 1
/** Days before the year's first weekday `first` are in week 0. */
const weekFrom = (first: number) => (shown: Date) =>
  Math.floor((dayOfYear(shown) + 6 - ((shown.getUTCDay() - first + 7) % 7)) / 7)
/** By ISO 8601, the Thursday of a week decides its number and year. */
const thursday = (shown: Date) => new Date(shown.getTime() + (4 - (shown.getUTCDay() || 7)) * DAY_MS)
const isoYear = (shown: Date) => thursday(shown).getUTCFullYear()
const isoWeek = (shown: Date) => Math.ceil(dayOfYear(thursday(shown)) / 7)
const hour12 = (shown: Date) => shown.getUTCHours() % 12 || 12

const ORDINALS: Readonly<Record<number, string>> = { 1: 'st', 2: 'nd', 3: 'rd', 21: 'st', 22: 'nd', 23: 'rd', 31: 'st' }

function offset(clock: Clock, { flags }: Layout): string {
  const east = clock.minutesEast()
  const minutes = Math.abs(east)
  const [hour, minute] = [Math.floor(minutes / 60), minutes % 60].map((each) => String(each).padStart(2, '0'))
  return `${east < 0 ? '-' : '+'}${hour}${flags.includes(':') ? ':' : ''}${minute}`
}

function fraction(shown: Date, digits: number): string {
  return String(shown.getUTCMilliseconds()).padStart(3, '0').slice(0, digits).padEnd(digits, '0')
}

const LETTERS: Readonly<Record<string, Letter>> = {
  a: ({ word }) => word('weekday', 'short'),
  A: ({ word }) => word('weekday', 'long'),
  b: ({ word }) => word('month', 'short'),
  B: ({ word }) => word('month', 'long'),
  h: ({ word }) => word('month', 'short'),
  c: ({ written }) => `${written('date')} ${written('time')}`,
  x: ({ written }) => written('date'),
  X: ({ written }) => written('time'),
  Z: ({ written }) => written('zone'),
  z: offset,
  C: two((shown) => Math.floor(shown.getUTCFullYear() / 100)),
  d: two((shown) => shown.getUTCDate()),
  e: number((shown) => shown.getUTCDate(), 2, ' '),
  g: two((shown) => isoYear(shown) % 100),
  G: number(isoYear, 4),
  H: two((shown) => shown.getUTCHours()),
  I: two(hour12),
  j: number(dayOfYear, 3),
  k: number((shown) => shown.getUTCHours(), 2, ' '),
  l: number(hour12, 2, ' '),
  L: ({ shown }, { width }) => fraction(shown, width || 3),
  m: two((shown) => shown.getUTCMonth() + 1),
  M: two((shown) => shown.getUTCMinutes()),
  N: ({ shown }, { width }) => fraction(shown, width || 9),
  p: ({ shown }) => (shown.getUTCHours() < 12 ? 'AM' : 'PM'),
  P: ({ shown }) => (shown.getUTCHours() < 12 ? 'am' : 'pm'),
  q: ({ shown }) => ORDINALS[shown.getUTCDate()] ?? 'th',
  s: ({ epochMs }) => ({ number: Math.floor(epochMs() / 1000), width: 0 }),
  S: two((shown) => shown.getUTCSeconds()),
  u: number((shown) => shown.getUTCDay() || 7, 1),
  U: two(weekFrom(0)),
  V: two(isoWeek),
  w: number((shown) => shown.getUTCDay(), 1),
  W: two(weekFrom(1)),
  y: two((shown) => shown.getUTCFullYear() % 100),
  Y: number((shown) => shown.getUTCFullYear(), 4),
  D: letters('%m/%d/%y'),
  F: letters('%Y-%m-%d'),
  r: letters('%I:%M:%S %p'),
  R: letters('%H:%M'),
  T: letters('%H:%M:%S'),
  n: () => '\n',
  t: () => '\t',
  '%': () => '%',
}

/** Reads dates of data. Refuses what is ambiguous or no date: `Date.parse` accepts `invoice 7` and 30 February. */
import { amountOf } from './amount.ts'
import { FilterError } from './fault.ts'

/** An instant, or the reading of a calendar and a clock. */
export interface Moment {
  readonly epochMs: number
  /** `instant`: the same everywhere. Else `epochMs` is computed as if in UTC, and every zone shows this day (and time). */
  readonly kind: 'instant' | 'day' | 'time'
}

/** The end of the year 9999, and the beginning of the year 1. */
const SECONDS_MAX = 253_402_300_799
const SECONDS_MIN = -62_135_596_800
/** Smaller numbers are probably a year, or days of a spreadsheet: as seconds, they all are in the first days of 1970. */
const SECONDS_PLAIN_MAX = 1_000_000
const SECONDS_OF_DAY = 86_400

const NOT_A_DATE = 'the value is not a date'
const WRITE_DAY = 'write the day as YYYY-MM-DD'

/** Accepts a text, or a number of seconds as in Liquid. Throws `FilterError` for anything else. */
export function momentOf(value: unknown): Moment {
  if (value === 'now' || value === 'today')
    throw new FilterError(`${value} is not available: pass the date in the data`)
  if (typeof value === 'string' && !/^[+-]?\d+(?:\.\d+)?$/.test(value.trim())) return momentOfText(value.trim())
  if (typeof value !== 'string' && typeof value !== 'number') throw new FilterError(`${NOT_A_DATE}: ${WRITE_DAY}`)
  return { epochMs: secondsOf(value) * 1000, kind: 'instant' }
}

function secondsOf(value: string | number): number {
  const seconds = Number(amountOf(value))
  if (seconds > SECONDS_MAX || seconds < SECONDS_MIN)
    throw new FilterError(`${NOT_A_DATE}: a number counts seconds since 1970, so divide milliseconds by 1000`)
  const isPlain = seconds > 0 && seconds < SECONDS_PLAIN_MAX && seconds % SECONDS_OF_DAY !== 0
  if (isPlain || isCompactDay(seconds))
    throw new FilterError(`${NOT_A_DATE}: a number counts seconds since 1970; ${WRITE_DAY}`)
  return seconds
}

/** Such as `20261231`. As seconds, it would be a day of 1970. */
function isCompactDay(number: number): boolean {
  const [, year = '', month = '', day = ''] = /^([12]\d{3})(\d\d)(\d\d)$/.exec(String(number)) ?? []
  return year !== '' && isDay({ year: Number(year), month: Number(month), day: Number(day) })
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const NUMERIC = String.raw`(?<year>\d{4})(?<mark>[-/])(?<month>\d\d?)(?:\k<mark>(?<day>\d\d?))?`
const WEEKDAY = `(?:(?<weekday>${WEEKDAYS.join('|')})[a-z]*,? )?`
const MONTH = `(?<name>${MONTHS.join('|')})[a-z]*\\.?`
const DAY = String.raw`(?<day>\d\d?)(?:st|nd|rd|th)?`
const TIME = String.raw`(?:(?:[T ]|, )(?<hour>\d\d?):(?<minute>\d\d)(?::(?<second>\d\d)(?:[.,](?<fraction>\d{1,9}))?)?(?: ?(?<half>[ap])\.?m\.?)?)?`
const ZONE = String.raw`(?: ?(?:Z|UTC|GMT)?(?<offset>[+-]\d\d(?::?\d\d)?)?(?: \([\p{L} ]*\))?)`

/** ISO 8601, RFC 5322, Ruby, JavaScript, and dates with the month as a word. */
const FORMS = [
  NUMERIC,
  `${WEEKDAY}${DAY}[ -]${MONTH},?[ -](?<year>\\d{4})`,
  `${WEEKDAY}${MONTH} ${DAY},? (?<year>\\d{4})`,
].map((date) => new RegExp(`^${date}${TIME}(?<zone>${ZONE})$`, 'iu'))

type Parts = Readonly<Record<string, string | undefined>>

const TEXT_CHARS_MAX = 100

function momentOfText(text: string): Moment {
  const plain = text.length > TEXT_CHARS_MAX ? '' : text.replaceAll(/\s+/g, ' ')
  const parts: Parts | undefined = FORMS.map((form) => form.exec(plain)?.groups).find((groups) => groups !== undefined)
  if (parts === undefined)
    throw new FilterError(`${NOT_A_DATE}: write YYYY-MM-DD, and with a time YYYY-MM-DDThh:mm:ss+hh:mm`)
  const { year, name, month, day = '1', zone = '' } = parts
  const date = {
    year: Number(year),
    month: name === undefined ? Number(month) : MONTHS.indexOf(name.toLowerCase()) + 1,
    day: Number(day),
  }
  if (!isDay(date)) throw new FilterError(`${NOT_A_DATE}: there is no such day`)
  const dayMs = dayMsOf(date)
  refuseWeekday(parts, dayMs)
  if (parts['hour'] === undefined) {
    if (zone !== '') throw new FilterError(`${NOT_A_DATE}: a zone needs a time`)
    return { epochMs: dayMs, kind: 'day' }
  }
  const epochMs = dayMs + clockMsOf(parts)
  return zone === '' ? { epochMs, kind: 'time' } : { epochMs: epochMs - offsetMsOf(parts), kind: 'instant' }
}

interface CalendarDay {
  readonly year: number
  readonly month: number
  readonly day: number
}

function dayMsOf({ year, month, day }: CalendarDay): number {
  // `Date.UTC` would move the years 0 to 99 to the 20th century.
  return new Date(0).setUTCFullYear(year, month - 1, day)
}

function isDay(date: CalendarDay): boolean {
  const made = new Date(dayMsOf(date))
  return date.year > 0 && made.getUTCMonth() === date.month - 1 && made.getUTCDate() === date.day
}

function refuseWeekday({ weekday }: Parts, dayMs: number): void {
  if (weekday !== undefined && WEEKDAYS[new Date(dayMs).getUTCDay()] !== weekday.toLowerCase())
    throw new FilterError(`${NOT_A_DATE}: its weekday is another`)
}

function clockMsOf({ hour, minute, second = '0', fraction = '', half }: Parts): number {
  const [hours, minutes, seconds] = [Number(hour), Number(minute), Number(second)]
  const isHour = half === undefined ? hours < 24 : hours >= 1 && hours <= 12
  if (!isHour || minutes > 59 || seconds > 59) throw new FilterError(`${NOT_A_DATE}: there is no such time`)
  const afternoon = half?.toLowerCase() === 'p' ? 12 : 0
  const hourOfDay = half === undefined ? hours : (hours % 12) + afternoon
  return (hourOfDay * 60 + minutes) * 60_000 + seconds * 1000 + Number(fraction.padEnd(3, '0').slice(0, 3))
}

function offsetMsOf({ offset = '+00' }: Parts): number {
  const [, sign, hours, minutes = '0'] = /^([+-])(\d\d):?(\d\d)?$/.exec(offset) ?? []
  if (Number(hours) > 23 || Number(minutes) > 59) throw new FilterError(`${NOT_A_DATE}: there is no such zone`)
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

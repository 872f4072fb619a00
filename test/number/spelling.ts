/** Writes the values of constants as the documents write them. */

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const TENS = ['', 'ten', 'twenty', 'thirty']

/** `6000` → `6,000`. */
export function digits(number: number): string {
  return number.toLocaleString('en')
}

/** `4` → `four`, `20` → `twenty`, `11` → `11`. */
export function word(number: number): string {
  return WORDS[number] ?? TENS[number / 10] ?? digits(number)
}

/** A duration in words, in its largest whole unit: `half a second`, `a day`, `ten seconds`. */
export function words(ms: number): string {
  if (ms === SECOND_MS / 2) return 'half a second'
  const whole = (
    [
      ['week', WEEK_MS],
      ['day', DAY_MS],
      ['hour', HOUR_MS],
      ['minute', MINUTE_MS],
      ['second', SECOND_MS],
    ] as const
  ).find(([, unit]) => ms % unit === 0)
  if (whole === undefined) throw new Error(`no words for ${ms} ms`)
  const [unit, unitMs] = whole
  if (ms === unitMs) return unit === 'hour' ? 'an hour' : `a ${unit}`
  return `${word(ms / unitMs)} ${unit}s`
}

export const seconds = (ms: number) => `${digits(ms / SECOND_MS)} seconds`
export const s = (ms: number) => `${digits(ms / SECOND_MS)} s`
export const minutes = (ms: number, unit = 'minutes') => `${digits(ms / MINUTE_MS)} ${unit}`
export const hours = (ms: number, unit = 'hours') => `${digits(ms / HOUR_MS)} ${unit}`
export const days = (ms: number, unit = 'days') => `${digits(ms / DAY_MS)} ${unit}`
export const kib = (bytes: number) => `${digits(bytes / 1024)} KiB`
export const mib = (bytes: number) => `${digits(bytes / 1024 / 1024)} MiB`
export const gib = (bytes: number) => `${digits(bytes / 1024 / 1024 / 1024)} GiB`

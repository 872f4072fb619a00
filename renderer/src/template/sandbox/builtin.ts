/**
 * A script for QuickJS that replaces builtins of a template's sandbox: `Intl`, which QuickJS lacks and the host answers; and time, random
 * numbers and the time zone, with which equal input would give unequal output.
 */

/** Uses two names of the scope around it: `host`, which takes and returns JSON, and `faultOfUse`, which makes an error. */
export const BUILTINS = `
const define = (target, members) => {
  for (const key of Object.keys(members)) Object.defineProperty(target, key, { value: members[key], writable: true, configurable: true })
}

const ask = (...question) => {
  const { value, error } = parse(host(stringify(question)))
  if (error !== undefined) throw new RangeError(error)
  return value
}
const number = (value) => (typeof value === 'bigint' ? \`\${value}n\` : String(value))
const instant = (value) => (value === undefined ? noNow() : Number(value))
const text = (value) => String(value)
const texts = (values) => [...values].map(String)
/** A class of Intl: its methods, each with what makes JSON of its arguments. */
const intl = (kind, methods) => {
  const type = function (locales, options) {
    const call = (method, ...values) => ask(kind, method, locales ?? null, options ?? null, ...values)
    call('resolvedOptions')
    const made = { resolvedOptions: () => call('resolvedOptions') }
    for (const method of Object.keys(methods)) made[method] = (...values) => {
      const own = kind === 'datetime' ? optionsFor(values, options) : options
      return ask(kind, method, locales ?? null, own ?? null, ...methods[method].map((read, at) => read(values[at])))
    }
    return made
  }
  type.supportedLocalesOf = (locales) => ask(kind, 'supportedLocalesOf', locales ?? [], kind === 'name' ? { type: 'language' } : null)
  return type
}
const NumberFormat = intl('number', { format: [number], formatToParts: [number], formatRange: [number, number] })
const Collator = intl('collator', { compare: [text, text] })
define(globalThis, {
  Intl: {
    NumberFormat,
    Collator,
    DateTimeFormat: intl('datetime', { format: [instant], formatToParts: [instant], formatRange: [instant, instant] }),
    PluralRules: intl('plural', { select: [number] }),
    ListFormat: intl('list', { format: [texts], formatToParts: [texts] }),
    RelativeTimeFormat: intl('relative', { format: [number, text], formatToParts: [number, text] }),
    DisplayNames: intl('name', { of: [text] }),
    Segmenter: intl('segmenter', { segment: [text] }),
  },
})
for (const type of [Number, BigInt])
  define(type.prototype, { toLocaleString(locales, options) { return NumberFormat(locales, options).format(this.valueOf()) } })
const { toFixed } = Number.prototype
// What rounds to nothing has no sign.
define(Number.prototype, { toFixed(digits) { return toFixed.call(this, digits).replace(/^-(?=[0.]*$)/, '') } })
define(String.prototype, {
  toLocaleUpperCase(locales) { return ask('case', 'upper', locales ?? null, null, String(this)) },
  toLocaleLowerCase(locales) { return ask('case', 'lower', locales ?? null, null, String(this)) },
  localeCompare(other, locales, options) { return ask('collator', 'compare', locales ?? null, options ?? null, String(this), String(other)) },
})

const noNow = () => { throw faultOfUse('now is not available: pass the date in the data') }
const Clock = Date
const { UTC } = Clock
const localParts = ['FullYear', 'Month', 'Date', 'Hours', 'Minutes', 'Seconds', 'Milliseconds'].map((part) => Clock.prototype['get' + part])
const isDayText = (text) => /^[+-]?\\d{4,6}([-/]\\d\\d?([-/]\\d\\d?)?)?$/.test(text)
const isZonedText = (text) => /(Z|GMT|UTC|[+-]\\d\\d:?\\d\\d)\\s*(\\(.*\\))?$/i.test(text) && !isDayText(text)
/** QuickJS makes the 2nd of March of 30 February. The standard says that there is no such date. */
const isImpossible = (text) => {
  const [, year, month, day] = /^(\\d{4})[-/](\\d\\d?)[-/](\\d\\d?)(?!\\d)/.exec(text) ?? []
  return day !== undefined && new Clock(UTC(2000 + (year % 400), month - 1, day)).getUTCDate() !== Number(day)
}
/** The instant of a text, where one without a time zone is of UTC. */
const parseInstant = (text) => {
  const read = new Clock(isImpossible(text) ? NaN : text)
  return isZonedText(text) ? read.getTime() : UTC(...localParts.map((get) => get.call(read)))
}
/**
 * What a Date was made of, if it was no instant: a day, or a time without a zone. Both are printed as they are, and not moved to the zone
 * of the render. No zone moves a day, not even one that is named.
 */
const unzoned = new WeakMap()
const unzonedOf = ([value, ...parts]) => {
  if (parts.length > 0) return parts.length > 2 ? 'time' : 'day'
  if (typeof value === 'string') return isZonedText(value) ? undefined : isDayText(value) ? 'day' : 'time'
  return value instanceof Clock ? unzoned.get(value) : undefined
}
const optionsFor = (values, options) => {
  const given = values.filter((value) => value !== undefined).map((value) => unzoned.get(value))
  const isKept = given.length > 0 && given.every((kind) => kind === 'day' || (kind === 'time' && options?.timeZone === undefined))
  return isKept ? { ...options, timeZone: 'UTC' } : options
}
const instantOf = (values) => {
  if (values.length > 1) return UTC(...values)
  const [value] = values
  const primitive = value instanceof Clock ? value.getTime() : typeof value === 'object' && value !== null ? value.valueOf() : value
  return typeof primitive === 'string' ? parseInstant(primitive) : primitive
}
define(globalThis, {
  Date: new Proxy(Clock, {
    apply: noNow,
    construct: (target, values, newTarget) => {
      if (values.length === 0) noNow()
      const made = Reflect.construct(target, [instantOf(values)], newTarget)
      const kind = unzonedOf(values)
      if (kind !== undefined) unzoned.set(made, kind)
      return made
    },
  }),
})
for (const part of ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds']) {
  define(Clock.prototype, { ['get' + part]: Clock.prototype['getUTC' + part] })
  if (part !== 'Day') define(Clock.prototype, { ['set' + part]: Clock.prototype['setUTC' + part] })
}
const day = (date) => date.toUTCString().replace(/^(\\w+), (\\d+) (\\w+) (-?\\d+) .*$/, '$1 $3 $2 $4')
const time = (date) => \`\${date.toISOString().replace(/^.*T|\\..*$/g, '')} GMT+0000 (UTC)\`
const written = (write) => function () { return isNaN(this) ? 'Invalid Date' : write(this) }
const localized = (kind) => function (locales, options) { return ask(kind, 'format', locales ?? null, optionsFor([this], options) ?? null, Number(this)) }
define(Clock, { now: noNow, parse: (text) => parseInstant(String(text)) })
define(Clock.prototype, {
  constructor: Date,
  getTimezoneOffset: () => 0,
  toString: written((date) => \`\${day(date)} \${time(date)}\`),
  toDateString: written(day),
  toTimeString: written(time),
  toLocaleString: localized('both'),
  toLocaleDateString: localized('date'),
  toLocaleTimeString: localized('time'),
})

// mulberry32, from the same seed in every evaluation.
let seed = 1
define(Math, {
  random: () => {
    seed = (seed + 0x6d2b79f5) | 0
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  },
})
`

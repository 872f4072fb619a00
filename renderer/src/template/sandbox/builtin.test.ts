import type { Json } from '@platen/lib/brand.ts'
import { constantFrom, double, integer, oneof, record, sample, string } from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { ConsoleLine } from '../../port/engine.ts'
import { openSandbox } from '../evaluate.ts'
import { transpile } from '../tsx/transpile.ts'

const evaluate = await openSandbox()

/** The value of an expression in a template. */
async function valueOf(expression: string, locale?: string): Promise<Json> {
  const program = transpile(`export default () => String(${expression})`)
  return (await evaluate(program, { data: '{}', options: {}, locale })).nodes
}

const DATE = "new Date('2026-11-21T23:30:00Z')"

describe('people’s numbers, dates and words', () => {
  test.for([
    [
      "new Intl.NumberFormat('pl-PL', { style: 'currency', currency: 'PLN' }).format(1234567.5)",
      '1\u00a0234\u00a0567,50\u00a0zł',
    ],
    ["Intl.NumberFormat('de-DE').format(1234.5)", '1.234,5'],
    ["[1, 2].map(new Intl.NumberFormat('de-DE', { minimumFractionDigits: 1 }).format)", '1,0,2,0'],
    ["new Intl.NumberFormat('de-DE').formatRange(3, 5)", '3–5'],
    ['(1234.5).toLocaleString()', '1,234.5'],
    ["12345678901234567890n.toLocaleString('en-US')", '12,345,678,901,234,567,890'],
    ["new Intl.NumberFormat('en-US').formatToParts(1.5).map((part) => part.type)", 'integer,decimal,fraction'],
    ['new Intl.NumberFormat().format(NaN)', 'NaN'],
    ['new Intl.NumberFormat().format()', 'NaN'],
    [`new Intl.DateTimeFormat('pl-PL', { dateStyle: 'long' }).format(${DATE})`, '21 listopada 2026'],
    [
      `new Intl.DateTimeFormat('de-DE', { day: 'numeric', month: 'short' }).formatRange(${DATE}, new Date('2026-11-30'))`,
      '21.–30. Nov.',
    ],
    [`${DATE}.toLocaleDateString('de-DE')`, '21.11.2026'],
    [`${DATE}.toLocaleTimeString('en-GB', { timeZone: 'Europe/Warsaw' })`, '00:30:00'],
    [`${DATE}.toLocaleString('de-DE')`, '21.11.2026, 23:30:00'],
    [`${DATE}.toLocaleDateString('en-US', { month: 'long' })`, 'November'],
    ["['one', 'few', 'many'].map((_, n) => new Intl.PluralRules('pl-PL').select([1, 2, 5][n]))", 'one,few,many'],
    ["new Intl.PluralRules('en-US', { type: 'ordinal' }).select(2)", 'two'],
    ["new Intl.ListFormat('de-DE').format(new Set(['a', 'b', 'c']))", 'a, b und c'],
    ["new Intl.RelativeTimeFormat('pl-PL', { numeric: 'auto' }).format(-1, 'day')", 'wczoraj'],
    ["new Intl.DisplayNames('de-DE', { type: 'region' }).of('PL')", 'Polen'],
    ["['ö', 'z', 'a'].sort(new Intl.Collator('de-DE').compare)", 'a,ö,z'],
    ["['ö', 'z', 'a'].sort((one, other) => one.localeCompare(other, 'sv-SE'))", 'a,z,ö'],
    ["['10', '9'].sort((one, other) => one.localeCompare(other, undefined, { numeric: true }))", '9,10'],
    ["Intl.NumberFormat.supportedLocalesOf(['pl-PL', 'zxx'])", 'pl-PL'],
    ["Intl.DisplayNames.supportedLocalesOf('pl-PL')", 'pl-PL'],
    ["'istanbul'.toLocaleUpperCase('tr') + 'ISPARTA'.toLocaleLowerCase(['tr-TR'])", 'İSTANBULısparta'],
    ["'straße'.toLocaleUpperCase('de') + 'Αθήνα'.toLocaleUpperCase('el')", 'STRASSEΑΘΗΝΑ'],
    ["'x'.repeat(50000).toLocaleUpperCase().length", '50000'],
    ["new Intl.NumberFormat('de-DE').format('12345678901234567890.12')", '12.345.678.901.234.567.890,12'],
    ["new Intl.NumberFormat('en-US', { style: 'currency', currency: 'EUR' }).format(-0.001)", '€0.00'],
    ["(-0.4).toLocaleString('en-US', { maximumFractionDigits: 0 })", '0'],
    ["new Intl.NumberFormat('en-US', { signDisplay: 'always' }).format(-0.001)", '-0.001'],
    ['[(-0.001).toFixed(2), (-0).toFixed(), (-0.5).toFixed(1), (-1e21).toFixed(2)]', '0.00,0,-0.5,-1e+21'],
    [
      "[...new Intl.Segmenter('en', { granularity: 'word' }).segment('three short words')].filter((s) => s.isWordLike).length",
      '3',
    ],
    ["[...new Intl.Segmenter().segment('a👩‍👩‍👧b')].map(({ segment, index }) => segment + index)", 'a0,👩‍👩‍👧1,b9'],
  ] as const)('%s is %s', async ([expression, text]) => {
    expect(await valueOf(expression)).toEqual([text])
  })

  test.for([
    ['new Intl.NumberFormat().format(1234.5)', '1.234,5'],
    ['(1234.5).toLocaleString()', '1.234,5'],
    ['new Intl.DateTimeFormat().resolvedOptions().locale', 'de-DE'],
    [`${DATE}.toLocaleDateString()`, '21.11.2026'],
    [`${DATE}.toLocaleDateString([], { month: 'long' })`, 'November'],
    ["new Intl.ListFormat().format(['a', 'b'])", 'a und b'],
    ["(1234.5).toLocaleString('en-US')", '1,234.5'],
    ["new Intl.NumberFormat('german').format(1234.5)", '1.234,5'],
    ["new Intl.NumberFormat('german').resolvedOptions().locale", 'de-DE'],
  ] as const)('without a locale are of the template: %s is %s', async ([expression, text]) => {
    expect(await valueOf(expression, 'de-DE')).toEqual([text])
  })

  test.for([
    ["new Intl.NumberFormat('pl-PL', { style: 'currency' })", /RangeError: Currency code is required/],
    ["new Intl.NumberFormat('not a locale')", /Incorrect locale/],
    ["new Intl.DateTimeFormat('en-US').format(new Date(NaN))", /Invalid time value/],
    ["new Intl.DateTimeFormat('en-US', { timeZone: 'Moon/Tycho' })", /Invalid time zone/],
    ["new Intl.DisplayNames('en-US')", /the option type is required/],
    ["new Intl.RelativeTimeFormat().format(1, 'dog')", /Invalid unit argument/],
    ['new Intl.ListFormat().format(Array.from({ length: 1001 }, String))', /the list has more than 1000 strings/],
    ["'a'.localeCompare('b'.repeat(10001))", /the string is longer than 10000 characters/],
  ] as const)('%s is an error the author can read', async ([expression, message]) => {
    await expect(valueOf(expression)).rejects.toThrow(message)
  })
})

test('numbers, dates and letters are those of the host’s Intl', async () => {
  const locale = constantFrom('en-US', 'de-DE', 'tr-TR', 'ar-EG', 'hi-IN', 'ja-JP', 'fr-CH', 'pl-PL', 'lt-LT', 'el-GR')
  const number = oneof(
    double({ noNaN: true, noDefaultInfinity: true }),
    integer(),
    constantFrom(1e21, 5e-324, 0.005, Number.MAX_SAFE_INTEGER + 2, 1e308),
  )
  const date = integer({ min: 2 ** 34, max: 2 ** 42 })
  const zone = constantFrom('UTC', 'America/St_Johns', 'Asia/Kolkata', 'Europe/Berlin')
  const rows = sample(record({ locale, number, date, zone, text: string({ unit: 'grapheme', maxLength: 20 }) }), 200)
  const wanted = rows.map((row) => [
    new Intl.NumberFormat(row.locale, { style: 'currency', currency: 'EUR', signDisplay: 'negative' }).format(
      row.number,
    ),
    row.number.toLocaleString(row.locale, { maximumFractionDigits: 20, signDisplay: 'negative' }),
    new Date(row.date).toLocaleString(row.locale, { timeZone: row.zone }),
    new Intl.DateTimeFormat(row.locale, { dateStyle: 'full', timeZone: row.zone }).format(row.date),
    row.text.toLocaleUpperCase(row.locale),
    row.text.toLocaleLowerCase(row.locale),
  ])
  const program = transpile(`export default ({ data }) => data.rows.map((row) => JSON.stringify([
    new Intl.NumberFormat(row.locale, { style: 'currency', currency: 'EUR' }).format(row.number),
    row.number.toLocaleString(row.locale, { maximumFractionDigits: 20 }),
    new Date(row.date).toLocaleString(row.locale, { timeZone: row.zone }),
    new Intl.DateTimeFormat(row.locale, { dateStyle: 'full', timeZone: row.zone }).format(row.date),
    row.text.toLocaleUpperCase(row.locale),
    row.text.toLocaleLowerCase(row.locale),
  ]))`)
  const { nodes } = await evaluate(program, { data: JSON.stringify({ rows }), options: {} })
  expect(nodes).toEqual(wanted.map((row) => JSON.stringify(row)))
})

describe('a day', () => {
  const MADE = [
    "new Date('2026-11-21')",
    'new Date(2026, 10, 21)',
    "new Date(new Date('2026-11-21'))",
    "new (class extends Date {})('2026/11/21')",
    "((date) => (date.setDate(date.getDate() + 14), date))(new Date('2026-11-07'))",
  ]
  const PRINTED = [
    "toLocaleDateString('sv-SE')",
    "toLocaleDateString('sv-SE', { timeZone: ZONE })",
    "toLocaleString('sv-SE', { dateStyle: 'short' })",
  ]

  test('is that day in every zone, whichever way it is made and printed', async () => {
    const zones = JSON.stringify(Intl.supportedValuesOf('timeZone'))
    const printed = MADE.flatMap((made) => [
      ...PRINTED.map((print) => `${made}.${print}`),
      `new Intl.DateTimeFormat('sv-SE', { timeZone: ZONE }).format(${made})`,
      `new Intl.DateTimeFormat('sv-SE').formatToParts(${made}).map((part) => part.value).join('')`,
      `new Intl.DateTimeFormat('sv-SE').formatRange(${made}, ${made})`,
    ])
    const program = transpile(`export default () => ${zones}.map((ZONE) => [${printed.join()}].join())`)
    for (const time_zone of ['UTC', 'America/New_York', 'Pacific/Kiritimati', 'Pacific/Pago_Pago']) {
      const { nodes } = await evaluate(program, { data: '{}', options: { time_zone } })
      expect(new Set(Array.isArray(nodes) ? nodes : [])).toEqual(new Set([printed.map(() => '2026-11-21').join()]))
    }
  })

  test.for([
    ["new Date('2026-11-21T10:00').toLocaleString('sv-SE')", '2026-11-21 10:00:00'],
    ["new Date(2026, 10, 21, 10).toLocaleString('sv-SE')", '2026-11-21 10:00:00'],
    ["new Date('2026-11-21T10:00Z').toLocaleString('sv-SE')", '2026-11-21 05:00:00'],
    ["new Date(Date.UTC(2026, 10, 21)).toLocaleDateString('sv-SE')", '2026-11-20'],
    ["new Date('2026-11-21T10:00').toLocaleTimeString('sv-SE', { timeZone: 'Asia/Tokyo' })", '19:00:00'],
    ["new Date(new Date('2026-11-21').getTime()).toLocaleDateString('sv-SE')", '2026-11-20'],
    ["new Date(95123).toLocaleTimeString('sv-SE', { minute: '2-digit', second: '2-digit' })", '01:35'],
    ["new Date('1970-01-02T10:15Z').toLocaleDateString('sv-SE')", '1970-01-02'],
  ] as const)('%s is %s in New York', async ([expression, text]) => {
    const program = transpile(`export default () => String(${expression})`)
    expect((await evaluate(program, { data: '{}', options: { time_zone: 'America/New_York' } })).nodes).toEqual([text])
  })

  test.for(['2026-02-30', '2026-02-30T10:00', '2025-02-29', '2026/04/31', '2026-13-01', '20261231'])(
    'that there is not is no date: %s',
    async (text) => {
      expect(await valueOf(`new Date('${text}')`)).toEqual(['Invalid Date'])
      expect(await valueOf(`Date.parse('${text}')`)).toEqual(['NaN'])
      await expect(valueOf(`new Date('${text}').toLocaleDateString()`)).rejects.toThrow(
        'Invalid time value: write a date as 2026-12-31, or with a time as 2026-12-31T15:30:00Z',
      )
    },
  )

  test.for([1774747800, 20261231, 2026])(
    'is not printed of seconds, or of a number that looks like one: %d',
    async (number) => {
      for (const print of [`new Date(${number}).toLocaleDateString()`, `new Intl.DateTimeFormat().format(${number})`])
        await expect(valueOf(print)).rejects.toThrow('Date counts milliseconds, so multiply seconds by 1000')
    },
  )
})

describe('equal input gives equal output:', () => {
  test.for([
    'new Date()',
    'Date()',
    'Date.now()',
    'new Intl.DateTimeFormat().format()',
    'new (class extends Date {})()',
  ])('%s is refused, as now is not known', async (expression) => {
    await expect(valueOf(expression)).rejects.toThrow('now is not available: pass the date in the data')
  })

  test('chance is the same in every evaluation', async () => {
    const rolls = 'Array.from({ length: 100 }, Math.random)'
    expect(await valueOf(rolls)).toEqual(await valueOf(rolls))
    expect(await valueOf(`${rolls}.every((roll) => roll >= 0 && roll < 1) && new Set(${rolls}).size`)).toEqual(['100'])
  })

  test.for([
    ['new Date(2026, 0, 31, 12).toISOString()', '2026-01-31T12:00:00.000Z'],
    ["new Date('2026-01-31T12:00').toISOString()", '2026-01-31T12:00:00.000Z'],
    ["new Date('2026-01-31').toISOString()", '2026-01-31T00:00:00.000Z'],
    ["new Date('2026-01-31T12:00+02:00').toISOString()", '2026-01-31T10:00:00.000Z'],
    ["new Date('Jan 31, 2026 12:00').toISOString()", '2026-01-31T12:00:00.000Z'],
    ['new Date(new Date(5)).getTime()', '5'],
    ["Date.parse('2026-01-31T12:00')", '1769860800000'],
    ['new Date(0).getHours() + new Date(0).getTimezoneOffset()', '0'],
    ['((date) => (date.setHours(5), date.toISOString()))(new Date(0))', '1970-01-01T05:00:00.000Z'],
    ['new Date(0)', 'Thu Jan 01 1970 00:00:00 GMT+0000 (UTC)'],
    ['new Date(0).toDateString()', 'Thu Jan 01 1970'],
    ['new Date(NaN)', 'Invalid Date'],
    ['new Date(undefined).getTime()', 'NaN'],
    ['new Date(0) instanceof Date && new Date(0).constructor === Date', 'true'],
  ] as const)('%s is %s, wherever the machine is', async ([expression, text]) => {
    for (const zone of ['UTC', 'Asia/Tokyo', 'America/New_York']) {
      vi.stubEnv('TZ', zone)
      expect([zone, await valueOf(expression)]).toEqual([zone, [text]])
    }
    vi.unstubAllEnvs()
  })
})

describe('the console', () => {
  const linesOf = async (source: string, program = transpile(source)) => {
    const lines: ConsoleLine[] = []
    const onConsole = (line: ConsoleLine) => void lines.push(line)
    const input = { data: '{"rows":[1,2]}', options: {}, interruptsMax: 1000, onConsole }
    const ended = await evaluate(program, input).then(
      () => 'whole',
      (error: unknown) => String(error),
    )
    return { lines, ended }
  }

  test('passes on what a template writes, with level and place', async () => {
    const source = `console.info('loaded')
export default ({ data }) => {
  console.log('rows', data.rows, undefined, null, 1n, Symbol.iterator, () => 1)
  const circle = {}; circle.circle = circle
  console.error(circle, new TypeError('no'))
  return 'fine'
}`
    const program = transpile(source)
    const lines = [
      { level: 'info', place: 'template.tsx:1:22', text: 'loaded' },
      {
        level: 'log',
        place: 'template.tsx:3:14',
        text: expect.stringMatching(/^rows \[1,2\] undefined null 1 Symbol/),
      },
      { level: 'error', place: 'template.tsx:5:16', text: '[object Object] TypeError: no' },
    ]
    expect(await linesOf(source, program)).toEqual({ lines, ended: 'whole' })
    // The module is not run again, and its lines are shown nevertheless.
    expect(await linesOf(source, program)).toEqual({ lines, ended: 'whole' })
  })

  test('keeps the lines before an error, and before an end from outside', async () => {
    const failed = await linesOf("export default () => { console.log('a'); throw new Error('b') }")
    expect(failed).toEqual({
      lines: [expect.objectContaining({ text: 'a' })],
      ended: expect.stringContaining('Error: b'),
    })
    const endless = await linesOf("export default () => { console.log('a'); for (;;); }")
    expect(endless.lines).toHaveLength(1)
  })

  test('is bounded in lines and characters', async () => {
    const many = await linesOf(
      "export default () => { for (let i = 0; i < 300; i++) console.log('x'.repeat(3000), i); return 'x' }",
    )
    expect(many.ended).toBe('whole')
    expect(many.lines).toHaveLength(100)
    expect(many.lines[0]?.text).toBe('x'.repeat(1000))
    expect(many.lines.at(-1)?.text).toMatch(/\(no more lines are shown\)$/)
  })

  test('costs a render nothing but a call', async () => {
    const source = "export default () => { console.log('x'); return typeof console.log('y') }"
    expect((await evaluate(transpile(source), { data: '{}', options: {} })).nodes).toEqual(['undefined'])
  })

  test('of a template that replaces its builtins stays within its limits', async () => {
    const source = `String.prototype.slice = function () { return 'y'.repeat(5000) }
Array.prototype.join = () => 'z'.repeat(5000)
export default () => { for (let i = 0; i < 500; i++) console.log('x'); return 'x' }`
    expect((await linesOf(source)).lines).toEqual([])
  })
})

import { describe, expect, test, vi } from 'vitest'
import { aRenderWork } from '../../../../../test/fixture/render/work.ts'
import { fillHtml } from '../fill.ts'
import { localeFilters } from '../filter.ts'

interface Given {
  readonly value?: string | number
  readonly zone?: string
  readonly locale?: string
}

/** The value through the filter `date`, with its arguments. */
function date(args: string, { value = '2026-01-02', zone, locale }: Given = {}): string {
  const html = { template: `{{ value | date${args === '' ? '' : `: ${args}`} }}`, javascript: false }
  const options = zone === undefined ? {} : { time_zone: zone }
  const template = { html, ...(locale !== undefined && { locale }) }
  return fillHtml(aRenderWork({ data: { value }, options, template })).html.replaceAll(/[\u00a0\u202f]/g, ' ')
}

const ZONES = Intl.supportedValuesOf('timeZone')

describe('a day', () => {
  test('without a time is that day in every zone, of the render and of the filter', () => {
    const moved: string[] = []
    for (const [at, zone] of ZONES.entries()) {
      const [own, other] = [localeFilters('sv-SE', zone), localeFilters('sv-SE')]
      const print = (filters: typeof own, ...values: unknown[]): unknown =>
        Reflect.apply(filters['date'] ?? Number, undefined, values)
      // Every day of two years, of which each zone has its own.
      for (let time = Date.UTC(2026, 0, 1 + (at % 16)); time < Date.UTC(2028, 0, 1); time += 16 * 86_400_000) {
        const day = new Date(time).toISOString().slice(0, 10)
        const printed = [
          print(own, day, '%F'),
          print(own, day, 'sv-SE', 'short'),
          print(other, day, '%Y-%m-%d', zone),
          print(other, day, 'sv-SE', 'short', zone),
          print(own, Number(print(own, day, '%s')), '%F'),
        ]
        if (printed.some((each) => each !== day)) moved.push(`${zone} ${day}: ${printed.join()}`)
      }
    }
    expect(ZONES.length).toBeGreaterThan(300)
    expect(moved).toEqual([])
  })

  test('stays that day wherever the machine is', () => {
    for (const machine of ['America/New_York', 'Pacific/Kiritimati', 'Europe/Berlin']) {
      vi.stubEnv('TZ', machine)
      expect(date('"%F %T"', { value: '2026-03-08' })).toBe('2026-03-08 00:00:00')
      expect(date('"%F %T"', { value: '2026-03-08T02:30' })).toBe('2026-03-08 02:30:00')
      expect(date('"%F %T"', { value: '2026-03-29T01:30:00Z', zone: 'Europe/Berlin' })).toBe('2026-03-29 03:30:00')
    }
    vi.unstubAllEnvs()
  })

  test('to which days are added in seconds is right over a change of the clocks', () => {
    const add = (value: string, zone: string) => {
      const html = { template: '{{ value | date: "%s" | plus: 1209600 | date: "%F" }}', javascript: false }
      return fillHtml(aRenderWork({ data: { value }, options: { time_zone: zone }, template: { html } })).html
    }
    for (const zone of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Pacific/Auckland']) {
      expect([zone, add('2026-10-20', zone)]).toEqual([zone, '2026-11-03'])
      expect([zone, add('2026-03-20', zone)]).toEqual([zone, '2026-04-03'])
    }
  })
})

describe('a date is read from', () => {
  test.for([
    ['2026-11-21', '2026-11-21 00:00:00'],
    ['2026-11', '2026-11-01 00:00:00'],
    ['2026-2-3', '2026-02-03 00:00:00'],
    ['2026/11/21', '2026-11-21 00:00:00'],
    [' 2026-11-21 ', '2026-11-21 00:00:00'],
    ['2024-02-29', '2024-02-29 00:00:00'],
    ['0099-01-01', '0099-01-01 00:00:00'],
    ['2026-11-21T10:00', '2026-11-21 10:00:00'],
    ['2026-11-21 10:00:05', '2026-11-21 10:00:05'],
    ['2026-11-21T10:00:05.123456Z', '2026-11-21 11:00:05'],
    ['2026-11-21t10:00z', '2026-11-21 11:00:00'],
    ['2026-11-21T10:00:00+09:00', '2026-11-21 02:00:00'],
    ['2026-11-21 10:00:00 +0900', '2026-11-21 02:00:00'],
    ['2026-11-21 10:00:00 UTC', '2026-11-21 11:00:00'],
    ['2026-11-21T10:00:00-05', '2026-11-21 16:00:00'],
    ['Sat, 21 Nov 2026 10:00:00 GMT', '2026-11-21 11:00:00'],
    ['Sat Nov 21 2026 10:00:00 GMT-0500 (Eastern Standard Time)', '2026-11-21 16:00:00'],
    ['November 21st, 2026', '2026-11-21 00:00:00'],
    ['21 Nov. 2026 3:05 pm', '2026-11-21 15:05:00'],
    ['21-Nov-2026 12:00 AM', '2026-11-21 00:00:00'],
    ['March 14, 2016', '2016-03-14 00:00:00'],
    [1795219200, '2026-11-21 01:00:00'],
    ['1795219200', '2026-11-21 01:00:00'],
    [1795219200.5, '2026-11-21 01:00:00'],
    [0, '1970-01-01 01:00:00'],
    [-86400, '1969-12-31 01:00:00'],
    [31536000, '1971-01-01 01:00:00'],
  ] as const)('%s, in Berlin: %s', ([value, text]) => {
    expect(date('"%F %T"', { value, zone: 'Europe/Berlin' })).toBe(text)
  })

  const FORM = 'write YYYY-MM-DD, and with a time YYYY-MM-DDThh:mm:ss+hh:mm'
  const SECONDS = 'a number counts seconds since 1970; write the day as YYYY-MM-DD'
  const MILLISECONDS = 'a number counts seconds since 1970, so divide milliseconds by 1000'
  test.for([
    [1774747800000, MILLISECONDS],
    ['1774747800000', MILLISECONDS],
    [-500000000000, MILLISECONDS],
    [20261231235959, MILLISECONDS],
    [20261231, SECONDS],
    ['20261231', SECONDS],
    [2026, SECONDS],
    ['2026', SECONDS],
    [46387, SECONDS],
    [261231, SECONDS],
    [202612, SECONDS],
    ['2026-02-30', 'there is no such day'],
    ['2026-02-30T10:00', 'there is no such day'],
    ['2025-02-29', 'there is no such day'],
    ['2026-13-01', 'there is no such day'],
    ['2026-00-10', 'there is no such day'],
    ['0000-01-01', 'there is no such day'],
    ['Feb 30, 2026', 'there is no such day'],
    ['2026-11-21T25:00', 'there is no such time'],
    ['2026-11-21T10:61', 'there is no such time'],
    ['2026-11-21 13:00 PM', 'there is no such time'],
    ['2026-11-21T10:00+25:00', 'there is no such zone'],
    ['2026-11-21Z', 'a zone needs a time'],
    ['Fri, 21 Nov 2026 10:00:00 GMT', 'its weekday is another'],
    ['03/04/2026', FORM],
    ['31.12.2026', FORM],
    ['21/11/26', FORM],
    ['invoice 7', FORM],
    ['soon', FORM],
    ['2026-W53', FORM],
    ['2026-11-21T10:00 and more', FORM],
    [`2026-11-21${' '.repeat(500)}x`, FORM],
  ] as const)('%s is not: %s', ([value, reason]) => {
    for (const args of ['"%F"', '', '"de-DE", "long"'])
      expect(() => date(args, { value })).toThrow(`}}: the value is not a date: ${reason}`)
  })
})

describe('a format', () => {
  // As GNU date and Ruby print them.
  test.for([
    ['%a %A %b %B %h', 'Fri Friday Jan January Jan'],
    ['%Y %C %y %G %g', '2026 20 26 2026 26'],
    ['%m %d %e %j %u %w', '01 02  2 002 5 5'],
    ['%U %V %W', '00 01 00'],
    ['%H %I %k %l %M %S %L %N', '15 03 15  3 04 05 678 678000000'],
    ['%3N %6N %p %P', '678 678000 PM pm'],
    ['%z %:z %s %q', '+0100 +01:00 1767362645 nd'],
    ['%D %F %T %R %r', '01/02/26 2026-01-02 15:04:05 15:04 03:04:05 PM'],
    ['%-d.%-m.%Y %_m %_H %05d %5d', '2.1.2026  1 15 00002 00002'],
    ['%^B %^a %#b %#p %10A|%-10A', 'JANUARY FRI JAN pm     Friday|Friday'],
    ['%Ey %Od', '26 02'],
    ['100 %% %n%t.', '100 % \n\t.'],
    ['%x %X %Z', '1/2/2026 3:04:05 PM GMT+1'],
  ] as const)('%s is %s', ([format, text]) => {
    expect(date(`"${format}"`, { value: '2026-01-02T15:04:05.678+01:00', zone: 'Europe/Berlin' })).toBe(text)
  })

  test.for([
    ['2024-12-30', '2025-W01-1'],
    ['2026-12-31', '2026-W53-4'],
    ['2027-01-03', '2026-W53-7'],
    ['2027-01-04', '2027-W01-1'],
    ['2021-01-01', '2020-W53-5'],
  ])('has weeks of ISO 8601: %s is %s', ([value = '', text]) => {
    expect(date('"%G-W%V-%u"', { value })).toBe(text)
  })

  test.for([
    ['de-DE', '%A, %-d. %B %Y', 'Freitag, 2. Januar 2026'],
    ['pl-PL', '%-d %B %Y', '2 stycznia 2026'],
    ['ja-JP', '%Y年%B%-d日(%a)', '2026年1月2日(金)'],
    ['tr-TR', '%^A', 'CUMA'],
    ['th-TH', '%-d %B %Y', '2 มกราคม 2026'],
    ['ar-SA', '%Y-%m-%d %B', '2026-01-02 يناير'],
    ['de-DE', '%x %X', '2.1.2026 00:00:00'],
    ['la', '%B', 'January'],
  ])('has names of the locale %s: %s is %s', ([locale = '', format, text]) => {
    expect(date(`"${format}"`, { locale })).toBe(text)
  })

  test.for([
    ['"%H:%M", "Asia/Tokyo"', '08:30'],
    ['"%H:%M %z", "America/St_Johns"', '20:00 -0330'],
    ['"%H:%M", nil', '23:30'],
    ['nil, "long", "Asia/Tokyo"', 'November 22, 2026'],
    ['"de-DE"', '21.11.2026'],
    ['nil, "short"', '11/21/26'],
  ])('takes a zone: date: %s is %s', ([args = '', text]) => {
    expect(date(args, { value: '2026-11-21T23:30:00Z' })).toBe(text)
  })

  const STYLE = 'a date format with % takes a time zone, and neither a style nor a locale'
  test.for([
    ['"%Q"', 'there is no %Q in a date format; write %% for a percent sign'],
    ['"%i %E"', 'there is no %i in a date format; write %% for a percent sign'],
    ['"%é"', 'a % in a date format has no letter; write %% for a percent sign'],
    ['"5 %"', 'a % in a date format has no letter; write %% for a percent sign'],
    ['"5 % of %Y"', 'a % in a date format has no letter; write %% for a percent sign'],
    ['"%:H"', 'only %z takes a colon in a date format'],
    ['"%101Y"', 'a width in a date format is at most 100'],
    ['"%Y", "long"', STYLE],
    ['"%Y", nil, "Asia/Tokyo"', STYLE],
    ['"%Y", "Asia/Tokyo", "x"', STYLE],
    ['"%Y", "Mars/Base"', 'there is no such time zone'],
    ['"%Y", 360', 'the time zone must be a string'],
    ['"short"', 'the style comes after the locale: write date: nil, "short"'],
    ['"german"', 'there is no such locale: write a tag such as en-US'],
    ['"de", "long", "Mars/Base"', 'there is no such time zone'],
    ['"de", "long", "UTC", "x"', 'the filter date takes 0 to 3 arguments, and here are 4'],
  ])('is refused: date: %s', ([args = '', message]) => {
    expect(() => date(args)).toThrow(`}}: ${message}`)
  })

  test('has every letter, flag and width, or is refused', () => {
    const known = 'aAbBcCdDeFgGhHIjklLmMnNpPqrRsStTuUVwWxXyYzZ%'
    for (let code = 33; code < 127; code += 1) {
      const letter = String.fromCharCode(code)
      if (/[-_0-9^#:EO"{}\\]/.test(letter)) continue
      for (const flag of ['', '-', '_', '0', '^', '#', '12', '-5', 'E', '^_7']) {
        const print = () => date(`"%${flag}${letter}"`)
        if (known.includes(letter)) expect(print()).not.toBe('')
        else expect(print).toThrow('write %% for a percent sign')
      }
    }
  })
})

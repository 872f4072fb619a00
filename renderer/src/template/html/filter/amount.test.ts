import type { JsonObject } from '@platen/lib/brand.ts'
import { assert, bigInt, boolean, integer, pre, property, tuple } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRenderWork } from '../../../../../test/fixture/render/work.ts'
import { fillHtml } from '../fill.ts'

interface Given {
  readonly data?: JsonObject
  readonly locale?: string
}

function fill(template: string, { data = {}, locale }: Given = {}): string {
  const html = { template, javascript: false }
  return fillHtml(aRenderWork({ data, template: { html, ...(locale !== undefined && { locale }) } })).html
}

/** A decimal as people write it, and its value times ten to the power of `DECIMALS`. */
const DECIMALS = 6
const decimal = tuple(bigInt({ min: -(10n ** 14n), max: 10n ** 14n }), integer({ min: 0, max: DECIMALS })).map(
  ([digits, decimals]) => ({
    text: written(digits, decimals),
    scaled: digits * 10n ** BigInt(DECIMALS - decimals),
  }),
)

function written(digits: bigint, decimals: number): string {
  const sign = digits < 0n ? '-' : ''
  const text = String(digits < 0n ? -digits : digits).padStart(decimals + 1, '0')
  const [whole, part] = [text.slice(0, text.length - decimals), text.slice(text.length - decimals).replace(/0+$/, '')]
  return `${digits === 0n ? '' : sign}${whole}${part === '' ? '' : `.${part}`}`
}

describe('arithmetic', () => {
  test('of decimals is exact, as numbers and as texts', () => {
    const template = '{{ a | plus: b }} {{ a | minus: b }} {{ a | times: b }} {{ list | sum }}'
    assert(
      property(decimal, decimal, boolean(), (one, other, isText) => {
        const [a, b] = [one.text, other.text].map((text) => (isText ? text : Number(text)))
        const data: JsonObject = { a: a ?? 0, b: b ?? 0, list: [a ?? 0, b ?? 0, a ?? 0] }
        expect(fill(template, { data }).split(' ')).toEqual([
          written(one.scaled + other.scaled, DECIMALS),
          written(one.scaled - other.scaled, DECIMALS),
          written(one.scaled * other.scaled, 2 * DECIMALS),
          written(2n * one.scaled + other.scaled, DECIMALS),
        ])
      }),
      { numRuns: 300 },
    )
  })

  test('gives back what was divided', () => {
    const template = '{{ a | times: b | divided_by: b }} {{ a | divided_by: b, true | times: b | plus: rest }}'
    assert(
      property(decimal, decimal, (one, other) => {
        pre(other.scaled !== 0n)
        const rest = fill('{{ a | modulo: b }}', { data: { a: one.text, b: other.text } })
        const data = { a: one.text, b: other.text, rest }
        expect(fill(template, { data })).toBe(`${written(one.scaled, DECIMALS)} ${written(one.scaled, DECIMALS)}`)
      }),
      { numRuns: 200 },
    )
  })

  test.for([
    ['{{ 0.1 | plus: 0.2 }}', '0.3'],
    ['{{ 0.3 | minus: 0.1 }}', '0.2'],
    ['{{ 1.1 | times: 1.1 }}', '1.21'],
    ['{{ 0.3 | divided_by: 0.1 }}', '3'],
    ['{{ 4.35 | times: 100 }}', '435'],
    ['{{ 1.4 | modulo: 0.2 }}', '0'],
    ['{{ -7 | modulo: 3 }}', '2'],
    ['{{ 20 | divided_by: 7 }}', '2.857142857142857'],
    ['{{ 20 | divided_by: 7, true }} {{ -20 | divided_by: 7, true }}', '2 -3'],
    ['{{ 10 | divided_by: 3 | times: 3 }}', '10'],
    ['{{ 2.675 | round: 2 }} {{ 1.005 | round: 2 }} {{ 1250 | round: -2 }} {{ -2.5 | round }}', '2.68 1.01 1300 -3'],
    ['{{ -0.4 | round }} {{ -0.4 | ceil }} {{ -0.0 | abs }} {{ 0 | times: -1 }}', '0 0 0 0'],
    ['{{ "4.50" | plus: 0 }} {{ " 4.5 " | plus: 0 }} {{ "+4.5" | abs }} {{ ".5" | plus: "5." }}', '4.5 4.5 4.5 5.5'],
    ['{{ 3 | at_least: "4.50" }} {{ "12" | at_most: "9" }} {{ -3.2 | floor }} {{ "3.9" | to_integer }}', '4.5 9 -4 3'],
    ['{{ nothing | plus: 1 }} {{ "" | plus: 1 }} {{ nil | plus: 1 }} {{ 1 | plus: nothing }}', '1 1 1 1'],
    ['{{ list | sum }} {{ rows | sum: "price" }} {{ nothing | sum }} {{ rows | sum: "absent" }}', '0.6 0.3 0 0'],
    ['{{ safe | plus: 2 }}', '9007199254740993'],
    ['{{ big | plus: 1 }} {{ big | times: 2 }}', '12345678901234567891.12 24691357802469135780.24'],
    ['{{ big | divided_by: 3 }} {{ big | divided_by: 7 }}', '4115226300411522630.04 1763668414462081127.16'],
    ['{{ big | divided_by: 9 }}', '1371742100137174210.01333333333333333333'],
    ['{{ big | minus: big }} {{ big | round: 1 }} {{ big | floor }}', '0 12345678901234567890.1 12345678901234567890'],
    ['{{ huge | plus: 1 }} {{ small | times: 3 }}', '1000000000000000000001 0.0000003'],
    ['{{ tiny | plus: 1 }} {{ tiny | times: 1 | size }}', '1 326'],
    ['{{ most | plus: 0 | size }}', '309'],
  ])('%s is %s', ([template = '', text]) => {
    const data = {
      big: '12345678901234567890.12',
      safe: Number.MAX_SAFE_INTEGER,
      huge: 1e21,
      small: 1e-7,
      tiny: Number.MIN_VALUE,
      most: Number.MAX_VALUE,
      list: [0.1, 0.2, '0.3', null],
      rows: [{ price: 0.1 }, { price: '0.20' }],
    }
    expect(
      fill(template.replaceAll('-0.0 ', 'zero '), { data: { ...data, zero: -0 } }).replace(/^(0\.0{300}.*)/, ''),
    ).toBe(text)
  })

  const NUMBER = 'the value is not a number: write it as 1234.5'
  const ZERO = 'the value is divided by 0, or by nothing: ask for the divisor with {% if %} first'
  test.for([
    ['{{ "abc" | plus: 1 }}', NUMBER],
    ['{{ 1 | plus: "abc" }}', NUMBER],
    ['{{ "1,5" | times: 2 }}', NUMBER],
    ['{{ "1.234,50" | times: 2 }}', NUMBER],
    ['{{ "12 EUR" | plus: 1 }}', NUMBER],
    ['{{ "0x10" | plus: 1 }}', NUMBER],
    ['{{ "Infinity" | plus: 1 }}', NUMBER],
    ['{{ "NaN" | abs }}', NUMBER],
    ['{{ "1e999" | plus: 1 }}', NUMBER],
    ['{{ long | plus: 1 }}', NUMBER],
    ['{{ yes | plus: 1 }}', NUMBER],
    ['{{ list | plus: 1 }}', NUMBER],
    ['{{ list | sum }}', NUMBER],
    ['{{ rows | sum }}', NUMBER],
    ['{{ "abc" | to_integer }}', NUMBER],
    ['{{ 5 | divided_by: 0 }}', ZERO],
    ['{{ 5 | divided_by: "0.00" }}', ZERO],
    ['{{ 0 | divided_by: 0 }}', ZERO],
    ['{{ 5 | divided_by: nothing }}', ZERO],
    ['{{ 5 | modulo: 0 }}', ZERO],
    ['{{ 5 | divided_by: 2, 1 }}', 'the second argument must be true or false'],
    ['{{ 1.5 | round: 0.5 }}', 'the digits must be a whole number from -100 to 100'],
    ['{{ most | times: 10 }}', 'the result is too large for a number'],
    ['{{ 1 | plus: 1, 1 }}', 'the filter plus takes 1 argument, and here are 2'],
    ['{{ 1.5 | floor: 1 }}', 'the filter floor takes no argument, and here are 1'],
  ])('%s is refused', ([template = '', message]) => {
    const data = { list: [1, 'x'], rows: [{ a: 1 }], yes: true, most: Number.MAX_VALUE, long: '1'.repeat(101) }
    expect(() => fill(template, { data })).toThrow(`template.html:1:1: ${template}: ${message}`)
  })

  test('takes little time for numbers that grow', () => {
    const grow = (filter: string) =>
      `{% assign x = 1.000000001 %}{% for i in (1..1000) %}{% assign x = x | ${filter} %}`
    for (const filter of ['times: 1.0375', 'times: "1.0375"', 'divided_by: 7', 'plus: x'])
      expect(fill(`${grow(filter)}{% if i == 900 %}{{ x }}{% endif %}{% endfor %}`).length).toBeLessThan(400)
  })
})

describe('number and currency', () => {
  test.for([
    ['{{ big | number }}', '12,345,678,901,234,567,890.12'],
    ['{{ big | currency: "EUR" }}', '€12,345,678,901,234,567,890.12'],
    ['{{ long | number: nil, 30 }}', '0.123456789012345678901234567890'],
    ['{{ -0.001 | currency: "EUR" }} {{ "-0.004" | currency: "USD" }}', '€0.00 $0.00'],
    ['{{ -0.4 | number: "en", 0 }} {{ zero | number }} {{ "-0" | number }}', '0 0 0'],
    ['{{ -0.005 | currency: "EUR" }} {{ -1 | number }}', '-€0.01 -1'],
    ['{{ 1.005 | currency: "EUR" }} {{ 2.675 | number: "en", 2 }}', '€1.01 2.68'],
    ['{{ tiny | number }} {{ 5 | number: "en", "2" }}', '0 5.00'],
    ['{{ nil | number: nil, 2 }}{{ "" | currency: "EUR" }}', ''],
  ])('print %s as %s', ([template = '', text]) => {
    const data = {
      big: '12345678901234567890.12',
      long: '0.123456789012345678901234567890',
      zero: -0,
      tiny: Number.MIN_VALUE,
    }
    expect(fill(template, { data })).toBe(text)
  })

  test.for([
    ['{{ 1 | number: "german" }}', 'there is no such locale: write a tag such as en-US'],
    ['{{ 1 | currency: "EUR", "short" }}', 'there is no such locale: write a tag such as en-US'],
    ['{{ 1 | currency: "EUR", "de", 2 }}', 'the filter currency takes 1 to 2 arguments, and here are 3'],
    ['{{ 1 | number: "de", 2, 3 }}', 'the filter number takes 0 to 2 arguments, and here are 3'],
    ['{{ 1 | number: "de", 1.5 }}', 'the digits must be a whole number from 0 to 100'],
    ['{{ 1 | number: "de", -1 }}', 'the digits must be a whole number from 0 to 100'],
    ['{{ "0x10" | number }}', 'the value is not a number: write it as 1234.5'],
    ['{{ "12,50" | currency: "EUR" }}', 'the value is not a number: write it as 1234.5'],
  ])('refuse %s', ([template = '', message]) => {
    expect(() => fill(template)).toThrow(`template.html:1:1: ${template}: ${message}`)
  })

  test('are of en-US in a locale that Intl does not know, whatever the machine has', () => {
    expect(fill('{{ 1234.5 | number }} {{ "2026-11-21" | date }}', { locale: 'la' })).toBe('1,234.5 Nov 21, 2026')
  })
})

describe('a number of the data', () => {
  const print = (json: string, template = '{{ n }} {{ n | plus: 0 }} {{ n | number: "en", 2 }}') => {
    const html = { template, javascript: false }
    return fillHtml({ ...aRenderWork({ template: { html } }), data: new TextEncoder().encode(json) }).html
  }

  test.for([
    ['9007199254740993', '9007199254740993 9007199254740993 9,007,199,254,740,993.00'],
    ['-12345678901234567890.12', '-12345678901234567890.12 -12345678901234567890.12 -12,345,678,901,234,567,890.12'],
    ['0.1', '0.1 0.1 0.10'],
    ['0.30000000000000004', '0.30000000000000004 0.30000000000000004 0.30'],
    ['-0', '0 0 0.00'],
    ['1e3', '1000 1000 1,000.00'],
  ])('keeps its digits: %s', ([json = '', text]) => {
    expect(print(`{"n":${json},"id":"12345678901234567890","list":[{"m":1.5}]}`)).toBe(text)
  })

  test('beside it are numbers and texts as they were', () => {
    const json = '{"n":12345678901234567890,"m":1.5,"t":"12345678901234567890","o":{"a":[1,null,true]}}'
    expect(print(json, '{{ m | plus: 1 }} {{ t }} {{ o | json | raw }}{% if m > 1 and n > m %} more{% endif %}')).toBe(
      '2.5 12345678901234567890 {"a":[1,null,true]} more',
    )
  })
})

describe('upcase, downcase and capitalize', () => {
  test.for([
    [
      'tr-TR',
      '{{ "istanbul" | upcase }} {{ "ISPARTA" | downcase }} {{ "ızgara İ" | capitalize }}',
      'İSTANBUL ısparta Izgara i',
    ],
    ['tr-TR', '{{ "iNCE" | capitalize }}', 'İnce'],
    [
      'en-US',
      '{{ "istanbul" | upcase }} {{ "ISPARTA" | downcase }} {{ "straße" | upcase }}',
      'ISTANBUL isparta STRASSE',
    ],
    ['el-GR', '{{ "Αθήνα" | upcase }} {{ "ΟΔΟΣ" | downcase }}', 'ΑΘΗΝΑ οδος'],
    ['lt-LT', '{{ "Ì" | downcase }}', 'i̇̀'],
    ['de-DE', '{{ 12 | upcase }}{{ nothing | upcase }}{{ nil | capitalize }}{{ "𐐨b" | capitalize }}', '12𐐀b'],
  ])('in %s: %s', ([locale = '', template = '', text]) => {
    expect(fill(template, { locale })).toBe(text)
  })
})

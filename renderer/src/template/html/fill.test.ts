import { isFailureCode, ServiceError } from '@platen/contract/domain/error.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { aRenderWork, type RenderWorkFields } from '../../../../test/fixture/render/work.ts'
import type { RenderWork } from '../../port/engine.ts'
import { HTML_BYTES_MAX } from '../limit.ts'
import { fillHtml, openHtmlFiller } from './fill.ts'

interface Source extends RenderWorkFields {
  readonly header?: string
  readonly footer?: string
}

function aWork(template: string, { header, footer, ...fields }: Source = {}): RenderWork {
  const edges = { ...(header !== undefined && { header }), ...(footer !== undefined && { footer }) }
  return aRenderWork({ ...fields, template: { html: { template, javascript: false, ...edges }, ...fields.template } })
}

function fill(template: string, source?: Source): string {
  return fillHtml(aWork(template, source)).html
}

function refusal(template: string, source?: Source): string {
  try {
    fill(template, source)
  } catch (error) {
    if (error instanceof ServiceError && isFailureCode(error.code)) return error.message
    throw error
  }
  throw new Error('the template was filled')
}

/** Replaces the several no-break spaces that Intl uses with plain ones. */
function plain(text: string): string {
  return text.replace(/[\u00a0\u202f]/g, ' ')
}

describe('fillHtml', () => {
  test('makes the fields of data the variables and sets options beside them', () => {
    const html = fill('{{ name }} {{ lines[0].text }} {{ options.page_size }}', {
      data: { name: 'Ada', lines: [{ text: 'Engine' }], options: 'hidden' },
      options: { page_size: 'A5' },
    })
    expect(html).toBe('Ada Engine A5')
  })

  test.for([
    ['a value', '{{ x }}', '&lt;i&gt;&amp;&#34;'],
    ['a value through a filter', '{{ x | append: "<b>" }}', '&lt;i&gt;&amp;&#34;&lt;b&gt;'],
    ['a value through json', '{{ x | json }}', '&#34;&lt;i&gt;&amp;\\&#34;&#34;'],
    ['nothing when raw ends the expression', '{{ x | raw }}', '<i>&"'],
    ['a value again when raw does not end it', '{{ x | raw | strip }}', '&lt;i&gt;&amp;&#34;'],
  ])('escapes %s', ([, template, html]) => {
    expect(fill(template ?? '', { data: { x: '<i>&"' } })).toBe(html)
  })

  test('fills header and footer where there are any', () => {
    const filled = fillHtml(aWork('body', { header: 'h {{ n }}', footer: 'f {{ n }}', data: { n: 1 } }))
    expect(filled).toEqual({ html: 'body', header: 'h 1', footer: 'f 1' })
    expect(fillHtml(aWork('body'))).toEqual({ html: 'body' })
  })

  test('prints a list joined and an object as JSON where they are raw', () => {
    expect(fill('{{ list | raw }} {{ map | raw }}', { data: { list: ['a', 1], map: { b: true } } })).toBe(
      'a1 {"b":true}',
    )
  })

  test('prints nothing for a variable that is not there', () => {
    expect(fill('[{{ a.b.c }}]')).toBe('[]')
  })

  test.for(['constructor.name', '__proto__', 'toString', 'list.constructor', 'list.map', 'text.constructor'])(
    'gives a template no property that is not the data’s own: %s',
    (path) => {
      expect(fill(`[{{ ${path} }}]`, { data: { list: [1], text: 'x' } })).toBe('[]')
    },
  )

  test('takes a field named like a part of every object for a plain field', () => {
    const data: unknown = JSON.parse('{"__proto__": {"polluted": "yes"}, "x": {"constructor": "mine"}}')
    expect(fill('{{ polluted }}{{ x.constructor }}', { data: data as JsonObject })).toBe('mine')
  })

  test.for([
    ['an unknown filter', 'a\n{{ x | nope }}', 'template.html:2:1: there is no filter nope'],
    [
      'a misspelt filter',
      '{{ x | curency: "EUR" }}',
      'template.html:1:1: there is no filter curency (did you mean currency?)',
    ],
    ['a misspelt end', '{% if x %}{% endiff %}', 'template.html:1:11: there is no tag endiff (did you mean endif?)'],
    [
      'a misspelt branch',
      '{% if x %}{% elseif y %}{% endif %}',
      'template.html:1:11: there is no tag elseif (did you mean elsif?)',
    ],
    ['a filter of Jinja', '{{ x | upper }}', 'template.html:1:1: there is no filter upper: write upcase'],
    [
      'an assignment for a comparison',
      '{% if x = 1 %}{% endif %}',
      'template.html:1:9: {% if x = 1 %}: write == to compare',
    ],
    [
      'a tag of Handlebars',
      'a\n{{#if x}}',
      'template.html:2:3: {{#if x}}: this is Liquid: write {% if x %} … {% endif %}',
    ],
    ['a tag without a name', '{% %}', 'template.html:1:4: the name of a tag is missing after {%'],
    ['an unknown tag', 'a\n\n {% foo %}', 'template.html:3:2: there is no tag foo (did you mean for?)'],
    ['an open tag', '{% if x %}', 'template.html:1:1: if is not closed: {% endif %} is missing'],
    ['an open branch', '{%- case x -%}\n{% else %}', 'template.html:1:1: case is not closed: {% endcase %} is missing'],
    ['an open tag without its end', 'a {% if x', 'template.html:1:3: the tag is not closed: %} is missing'],
    ['raw text without an end', '{% raw %} {{ x', 'template.html:1:10: raw is not closed: {% endraw %} is missing'],
    ['an open output', 'é {{ x\n'.repeat(9), 'template.html:1:3: the output is not closed: }} is missing'],
    [
      'an end without a beginning',
      '{% endif %}',
      'template.html:1:1: there is no if to close, or a tag inside of it is still open',
    ],
    [
      'crossed tags',
      '{% if x %}{% for y in z %}{% endif %}{% endfor %}',
      'template.html:1:27: there is no if to close, or a tag inside of it is still open',
    ],
    [
      'a branch of nothing',
      'a {% when 1 %}',
      'template.html:1:3: when is not inside of case, or a tag before it is still open',
    ],
    ['a file', '\n{% include "a" %}', 'template.html:2:1: the tag include is not available: a template is one file'],
    ['a file', '{% render "a" %}', 'template.html:1:1: the tag render is not available: a template is one file'],
    ['a file', '{% layout "a" %}', 'template.html:1:1: the tag layout is not available: a template is one file'],
    [
      'text for a number',
      '{{ "two" | number }}',
      'template.html:1:1: {{ "two" | number }}: the value is not a number: write it as 1234.5',
    ],
    ['a range without end', '{% for i in (1..999999999) %}{% endfor %}', /^template.html:1:1: filling made more than/],
    ['deep nesting', '{% if 1 %}'.repeat(9000), /^template.html:\d+:\d+: tags are nested too deeply/],
    ['a long source', ' '.repeat(200_000), /^template.html: the source is longer than 128 KiB/],
  ] as const)('refuses %s and names the place', ([, template, message]) => {
    if (typeof message === 'string') expect(refusal(template)).toBe(message)
    else expect(refusal(template)).toMatch(message)
  })

  test('refuses margins that leave no room before it fills anything', () => {
    const options = { page_size: 'A6', margin: 500 } as const
    expect(refusal('{% broken', { options })).toMatch(
      /^options\.margin leaves 0 × 0 of a page of 297\.6 × 419\.5 points;/,
    )
  })

  test('quotes the expression that a filter refuses on one line, and not its value', () => {
    const long = `{{ x\n | date: "en" ${'| append: "abc" '.repeat(9)}}}`
    const message = refusal(long, { data: { x: 'secret' } })
    expect(message).toMatch(
      /^template\.html:1:1: \{\{ x \| date: "en" \| append: [^\n]{30,50}…: the value is not a date: write YYYY-MM-DD/,
    )
  })

  test('names the header as the place of an error in the header', () => {
    expect(refusal('x', { header: '\n{% foo %}' })).toBe('header.html:2:1: there is no tag foo (did you mean for?)')
  })

  test.for([
    ['written', '{% for i in (1..9999) %}{% for j in (1..9999) %}{{ x | raw }}{% endfor %}{% endfor %}'],
    [
      'captured',
      `{% capture c %}{{ x }}{% endcapture %}${'{% capture c %}{{ c | raw }}{{ c | raw }}{% endcapture %}'.repeat(60)}`,
    ],
  ])('refuses more HTML than the limit while it is being %s', ([, template]) => {
    expect(refusal(template ?? '', { data: { x: 'x'.repeat(1000) } })).toMatch(/: the HTML is longer than 20 MiB$/)
  })

  test('counts the limit of HTML in bytes', () => {
    const data = { x: '€'.repeat(HTML_BYTES_MAX / 2) }
    expect(refusal('{{ x }}', { data })).toBe('template.html: the HTML is longer than 20 MiB')
  })

  test('never repeats a value of the data in an error', () => {
    const data = { iban: 'DE02 1203 0000', list: [{ iban: 'DE02 1203' }], count: -777, lost: '}} | DE02' }
    for (const [template, quoted] of [
      ['{{ iban | number }}', 'DE02'],
      ['{{ 1 | currency: iban }}', 'DE02'],
      ['{{ 1 | currency: "EUR", iban }}', 'DE02'],
      ['{{ 1 | number: iban }}', 'DE02'],
      ['{{ 1 | number: "en", count }}', '777'],
      ['{{ "2026-11-21" | date: iban }}', 'DE02'],
      ['{{ "2026-11-21" | date: "en", iban }}', 'DE02'],
      ['{{ "2026-11-21" | date: "en", "long", iban }}', 'DE02'],
      ['{{ list | where_exp: "each", lost }}', 'DE02'],
      ['{{ list | where_exp: lost, lost }}', 'DE02'],
    ] as const) {
      expect(refusal(template, { data })).not.toContain(quoted)
    }
  })
})

describe('locale filters', () => {
  test.for([
    ['{{ 1234.5 | currency: "EUR" }}', '1.234,50 €', '$1,234.50'],
    ['{{ 1234.5 | number }}', '1.234,5', '1,234.5'],
    ['{{ 1234.5 | number: nothing, 2 }}', '1.234,50', '1,234.50'],
    ['{{ "2026-11-21" | date }}', '21.11.2026', 'Nov 21, 2026'],
    ['{{ "2026-11-21" | date: nothing, "long" }}', '21. November 2026', 'November 21, 2026'],
    ['{{ "2026-11-21" | date: "%Y" }}', '2026', '2026'],
    ['{{ 1234.5 | number: "fr-FR" }}', '1 234,5', '1 234,5'],
  ])('print %s in the locale of the template', ([template = '', german, american]) => {
    const locale = (name: string) => plain(fill(template, { template: { locale: name } }))
    expect([locale('de-DE'), plain(fill(template)).replace('€', '$')]).toEqual([german, american])
  })

  test.for([
    ['{{ "2026-11-21T23:30:00Z" | date: "en-US", "short" }}', '11/22/26'],
    ['{{ "2026-11-21T23:30:00Z" | date: "en-US", "short", "America/New_York" }}', '11/21/26'],
    ['{{ "2026-11-21T23:30:00Z" | date: "%d %H:%M %z" }}', '22 08:30 +0900'],
    ['{{ "2026-11-21T23:30:00+09:00" | date: "%d %H:%M" }}', '21 23:30'],
    ['{{ 1795219200 | date: "%d" }}', '21'],
  ])('%s prints in the time zone of the options', ([template = '', text]) => {
    expect(plain(fill(template, { options: { time_zone: 'Asia/Tokyo' } }))).toBe(text)
  })

  test('a format with a time zone knows summer time, and half hours', () => {
    const at = (time_zone: string, instant: string) =>
      fill(`{{ "${instant}" | date: "%H:%M" }}`, { options: { time_zone } })
    expect(at('Europe/Berlin', '2026-01-01T12:00:00Z')).toBe('13:00')
    expect(at('Europe/Berlin', '2026-07-01T12:00:00Z')).toBe('14:00')
    expect(at('Asia/Kolkata', '2026-07-01T12:00:00Z')).toBe('17:30')
    expect(at('America/New_York', '2026-07-01')).toBe('00:00')
    expect(at('America/St_Johns', '2026-01-01T12:00:00Z')).toBe('08:30')
  })

  test.for([
    ['{{ 1234.5 | currency: "EUR", "de-DE" }}', '1.234,50 €'],
    ['{{ 1234.5 | currency: "USD" }}', '$1,234.50'],
    ['{{ "99.9" | currency: "PLN", "pl-PL" }}', '99,90 zł'],
    ['{{ 1234567.891 | number: "fr-FR" }}', '1 234 567,891'],
    ['{{ 2 | number: "de-DE", 2 }}', '2,00'],
    ['{{ 0.005 | number: "en-US", 2 }}', '0.01'],
    ['{{ "2026-11-21" | date: "de-DE", "long" }}', '21. November 2026'],
    ['{{ "2026-11-21T23:30:00Z" | date: "en-US", "short" }}', '11/21/26'],
    ['{{ "2026-11-21T23:30:00Z" | date: "en-US", "short", "Asia/Tokyo" }}', '11/22/26'],
    ['{{ 1795219200 | date: "el-GR" }}', '21 Νοε 2026'],
    ['{{ "2026-11-21" | date: "%d.%m.%Y" }}', '21.11.2026'],
    ['{{ "Rechnungsbetrag" | hyphenate: "de" }}', 'Rech\u00adnungs\u00adbe\u00adtrag'],
    ['{{ "Rechnungs\u00adbetrag" | hyphenate: "de" }}', 'Rechnungs\u00adbetrag'],
    ['{{ "Rechnungsbetrag" | hyphenate: "ja" }}', 'Rechnungsbetrag'],
    ['{{ nothing | currency: "EUR" }}{{ nothing | number }}{{ nothing | date }}{{ nothing | hyphenate }}', ''],
  ])('prints %s as %s', ([template, text]) => {
    expect(plain(fill(template ?? ''))).toBe(text)
  })

  test.for([
    ['{{ 1 | currency }}', 'the currency code must be a string'],
    ['{{ 1 | currency: "EURO" }}', 'the currency code must have three letters'],
    ['{{ 1 | hyphenate: "de" }}', 'the value is not a text'],
    ['{{ "a" | hyphenate: 1 }}', 'the locale must be a string'],
    ['{{ 1 | number: "not a locale" }}', 'the locale must be a tag such as en-US'],
    ['{{ 1 | number: "en", 999 }}', 'the digits must be a whole number from 0 to 100'],
    [
      '{{ "soon" | date: "en" }}',
      'the value is not a date: write YYYY-MM-DD, and with a time YYYY-MM-DDThh:mm:ss+hh:mm',
    ],
    ['{{ "now" | date: "%Y" }}', 'now is not available: pass the date in the data'],
    ['{{ "2026-11-21" | date_to_string }}', 'there is no filter date_to_string'],
    ['{{ "2026-11-21" | date: "en", "huge" }}', 'the date style must be one of full, long, medium, short'],
    ['{{ "2026-11-21" | date: "en", "long", "Mars/Base" }}', 'there is no such time zone'],
  ])('refuses %s', ([template, reason]) => {
    const quoted = reason?.startsWith('there is no filter') ? '' : `${template}: `
    expect(refusal(template ?? '')).toBe(`template.html:1:1: ${quoted}${reason}`)
  })
})

describe('openHtmlFiller', () => {
  test('fills each document of a template by its own data, time zone and counters', async () => {
    const filler = openHtmlFiller()
    const template =
      '{{ x }} {{ at | date: "%H:%M" }} {% cycle "odd", "even" %} {% increment n %} {% assign kept = x %}'
    const filled = async (x: string, time_zone: string) => {
      const data = { x, at: '2026-11-26T12:00:00Z' }
      return (await filler(aWork(template, { data, options: { time_zone } }))).html
    }
    expect(await filled('a', 'UTC')).toBe('a 12:00 odd 0 ')
    expect(await filled('b', 'Asia/Tokyo')).toBe('b 21:00 odd 0 ')
    expect(await filled('<', 'UTC')).toBe('&lt; 12:00 odd 0 ')
  })

  test('fills other templates after one that cannot be filled', async () => {
    const filler = openHtmlFiller()
    const failing = aWork('{{ x | currency: "EUR" }}', { data: { x: 'much' } })
    for (let times = 0; times < 2; times += 1)
      await expect(filler(failing)).rejects.toThrow(
        'template.html:1:1: {{ x | currency: "EUR" }}: the value is not a number',
      )
    expect((await filler(aWork('{{ x }}', { data: { x: 1 } }))).html).toBe('1')
  })
})

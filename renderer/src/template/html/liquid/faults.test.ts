import type { TemplateCode } from '@platen/contract/domain/tenant.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { Liquid } from 'liquidjs'
import { describe, expect, test } from 'vitest'
import { parseHtml } from '../fill.ts'
import { SIGNATURES } from '../filter/signature.ts'
import { localeFilters } from '../filter.ts'
import { openLiquidCheck } from './faults.ts'

const PERSON = {
  type: 'object',
  properties: { name: { type: 'string' }, vat: { type: ['string', 'null'] } },
  additionalProperties: false,
} as const

const SCHEMA: JsonObject = {
  type: 'object',
  properties: {
    total: { type: 'number' },
    paid: { type: 'boolean' },
    text: { type: 'string' },
    status: { enum: ['paid', 'open'] },
    level: { enum: [1, 2] },
    customer: PERSON,
    open: { type: 'object', properties: { known: { type: 'string' } } },
    rows: { type: 'array', items: { $ref: '#/$defs/row' } },
    either: { anyOf: [PERSON, { type: 'object', properties: { firm: true }, additionalProperties: false }] },
    maybe: { oneOf: [{ type: 'null' }, { $ref: '#/$defs/row' }] },
    named: { type: 'object', patternProperties: { '^x-': true }, additionalProperties: false },
    prices: { type: 'object', additionalProperties: { type: 'number' } },
    node: { $ref: '#/$defs/node' },
    merged: {
      allOf: [{ properties: { a: { type: 'number' } } }, { anyOf: [{ properties: { b: true } }, { required: ['a'] }] }],
      type: 'object',
      unevaluatedProperties: false,
    },
  },
  additionalProperties: false,
  $defs: {
    row: {
      type: 'object',
      properties: {
        text: { type: 'string' },
        price: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      additionalProperties: false,
    },
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, next: { $ref: '#/$defs/node' } },
      additionalProperties: false,
    },
  },
}

function faultsOf(template: string, schema = SCHEMA): readonly string[] {
  const [source] = parseHtml({
    code: 'invoice' as TemplateCode,
    name: 'Invoice',
    version: 1,
    options: {},
    html: { template, javascript: false },
  })
  return openLiquidCheck(schema)(source?.templates ?? []).map(
    ({ position, message }) => `${position.join(':')} ${message}`,
  )
}

describe('a path', () => {
  test.for([
    ['{{ totla }}', '1:4 there is no variable totla in variablesSchema (did you mean total?)'],
    ['{{ customer.nmae }}', '1:4 customer has no field nmae (did you mean name?)'],
    ['{{ customer["nmae"] }}', '1:4 customer has no field nmae (did you mean name?)'],
    ['\n  {{ rows.price }}', '2:6 rows is a list and has no price; use {% for %} or an index'],
    ['{{ rows[0].prise }}', '1:4 rows[0] has no field prise (did you mean price?)'],
    ['{{ rows.first.prise }}', '1:4 rows.first has no field prise (did you mean price?)'],
    ['{{ total.net }}', '1:4 total is a number and has no net'],
    ['{{ text.length }}', '1:4 text is a string and has no length; write text.size'],
    ['{{ either.vta }}', '1:4 either has no field vta (did you mean vat?)'],
    ['{{ maybe.prise }}', '1:4 maybe has no field prise (did you mean price?)'],
    ['{{ node.next.next.nmae }}', '1:4 node.next.next has no field nmae (did you mean name?)'],
    ['{{ merged.c }}', '1:4 merged has no field c'],
    ['{{ prices.apple.net }}', '1:4 prices.apple is a number and has no net'],
    ['{% for row in rows %}{{ row.txt }}{% endfor %}', '1:25 row has no field txt (did you mean text?)'],
    ['{% for row in rosw %}{% endfor %}', '1:15 there is no variable rosw in variablesSchema (did you mean rows?)'],
    ['{% for row in rows limit: limt %}{% endfor %}', '1:27 there is no variable limt in variablesSchema'],
    [
      '{% for i in (1..totla) %}{% endfor %}',
      '1:17 there is no variable totla in variablesSchema (did you mean total?)',
    ],
    ['{% for i in total %}{% endfor %}', '1:13 total is a number: there is nothing to loop over'],
    ['{% for row in rows %}{{ forloop.indx }}{% endfor %}', '1:25 forloop has no field indx (did you mean index?)'],
    ['{% tablerow row in rows %}{{ row.txt }}{% endtablerow %}', '1:30 row has no field txt (did you mean text?)'],
    [
      '{% for row in rows %}{% for tag in row.tgas %}{% endfor %}{% endfor %}',
      '1:36 row has no field tgas (did you mean tags?)',
    ],
    ['{% if totla %}{% endif %}', '1:7 there is no variable totla in variablesSchema (did you mean total?)'],
    [
      '{% if paid %}{% elsif piad %}{% endif %}',
      '1:23 there is no variable piad in variablesSchema (did you mean paid?)',
    ],
    ['{% unless piad %}{% endunless %}', '1:11 there is no variable piad in variablesSchema (did you mean paid?)'],
    [
      '{% case staus %}{% when 1 %}{% endcase %}',
      '1:9 there is no variable staus in variablesSchema (did you mean status?)',
    ],
    ['{% assign x = totla %}', '1:15 there is no variable totla in variablesSchema (did you mean total?)'],
    ['{% assign c = customer %}{{ c.nmae }}', '1:29 c has no field nmae (did you mean name?)'],
    [
      '{% capture c %}{{ totla }}{% endcapture %}{{ c }}',
      '1:19 there is no variable totla in variablesSchema (did you mean total?)',
    ],
    ['{% cycle totla, "b" %}', '1:10 there is no variable totla in variablesSchema (did you mean total?)'],
    ['{% echo totla %}', '1:9 there is no variable totla in variablesSchema (did you mean total?)'],
    ['{% liquid\n echo totla\n%}', '2:7 there is no variable totla in variablesSchema (did you mean total?)'],
    ['{{ prices[staus] }}', '1:11 there is no variable staus in variablesSchema (did you mean status?)'],
    ['{{ total | plus: totla }}', '1:18 there is no variable totla in variablesSchema (did you mean total?)'],
    ['{% assign first = rows | first %}{{ first.txt }}', '1:37 first has no field txt (did you mean text?)'],
    [
      '{% assign by = rows | sort: "prise" %}',
      '1:1 {% assign by = rows | sort: "prise" %}: an item has no field prise (did you mean price?)',
    ],
    ['{{ rows.length }}', '1:4 rows is a list and has no length; write rows.size'],
    [
      '{% for row in rows %}{% for tag in row.tags %}{{ forloop.parentloop.index }}{% endfor %}{% endfor %}',
      '1:50 forloop has no field parentloop; write {% assign outer = forloop.index %} before the inner loop',
    ],
    ['{% for row in rows %}{{ row }}{% endfor %}', '1:22 {{ row }} is an object: print one of its fields'],
    ['{{ rows | first }}', '1:1 {{ rows | first }} is an object: print one of its fields'],
    ['{% echo customer %}', '1:1 {% echo customer %} is an object: print one of its fields'],
    ['{{ rows | join: ", " }}', '1:1 {{ rows | join: ", " }}: the items are objects: write map: "…" before join'],
    ['{{ customer }}', '1:1 {{ customer }} is an object: print one of its fields'],
  ])('%s is held against a closed schema', ([template = '', fault]) => {
    expect(faultsOf(template)).toEqual([fault])
  })

  test.for([
    '{{ total }}{{ customer.name.size }}{{ rows.size }}{{ rows.first.text }}{{ rows[0].tags.last }}{{ text[0] }}',
    '{{ options.page_size }}{{ options.anything }}',
    '{% for row in rows reversed offset: continue limit: total %}{{ row.text }}{{ forloop.index }}{% else %}none{% endfor %}',
    '{% for pair in customer %}{{ pair[0] }}: {{ pair[1] }}{% endfor %}{% for letter in text %}{{ letter }}{% endfor %}',
    '{% assign sum = 0 %}{% for row in rows %}{% assign sum = sum | plus: row.price %}{% endfor %}{{ sum | currency: "EUR" }}',
    '{% unless seen %}{% assign seen = true %}{% endunless %}{% increment counter %}{{ counter }}',
    '{% assign text = rows %}{{ text.first.price }}',
    '{{ either.name }}{{ either.firm }}{{ maybe.price }}{{ named.x-a }}{{ named.y }}{{ prices.apple }}{{ open.any.thing }}',
    '{{ node.next.next.next.name }}{{ merged.a }}{{ merged.b }}{{ prices[text] }}{{ rows[total].price }}',
    '{{ rows | map: "price" | sum }}{{ rows | where: "text", "a" | size }}{{ rows | sort: "price" | map: "tags" | json }}',
    '{% comment %}{{ totla }}{% endcomment %}{% raw %}{{ totla }}{% endraw %}{% # totla | %}a |{{ text }}',
    '{{ text | default: nil }}{{ text | default: "a", allow_false: true }}{{ customer | json }}{{ rows }}',
    '{% if customer.vat != nil and status == "paid" or level == 2 %}{% endif %}{% if text contains "|" %}{% endif %}',
    '{% if total != "" and status != "" %}{% endif %}',
    '{% case status %}{% when "paid", "open" %}{% when text %}{% else %}{% endcase %}',
    '{{ "a" | append: text | upcase }}{{ text | number }}{{ text | date: "de-DE", "long" }}{{ total | date }}',
  ])('%s has no fault', (template) => {
    expect(faultsOf(template)).toEqual([])
  })

  test('is of no concern where the schema is open', () => {
    const source = '{{ anything.at.all }}{{ total.net }}{{ x | currency: "EUR" }}{% if status == "payed" %}{% endif %}'
    for (const schema of [{ type: 'object' }, { type: 'object', properties: { total: {}, status: {} } }])
      expect(faultsOf(source, schema)).toEqual([])
  })

  test.for<[string, JsonObject]>([
    ['a reference to elsewhere', { $ref: 'https://json-schema.org/draft/2020-12/schema' }],
    ['a dynamic reference', { $dynamicRef: '#a', unevaluatedProperties: false }],
    ['an own base', { properties: { a: { $id: 'a', $ref: '#/$defs/b', $defs: { b: { type: 'object' } } } } }],
    ['a pattern of names', { patternProperties: { '^a': true }, additionalProperties: false }],
    ['a schema of other names', { additionalProperties: { type: 'object' } }],
    ['a condition', { if: { required: ['b'] }, else: { properties: { a: true } }, unevaluatedProperties: false }],
    ['a contradiction', { properties: { a: { allOf: [{ type: 'string' }, { type: 'number' }] } } }],
    ['an open branch', { anyOf: [{ properties: { b: true }, additionalProperties: false }, { required: ['a'] }] }],
  ])('of a schema with %s may exist', ([, schema]) => {
    expect(faultsOf('{{ a.b }}', { type: 'object', ...schema })).toEqual([])
  })
})

describe('an expression', () => {
  test.for([
    ['{{ total | }}', '1:1 {{ total | }}: the name of a filter is missing after |'],
    ['{% assign x = total | %}', '1:1 {% assign x = total | %}: the name of a filter is missing after |'],
    ['{{ text total }}', '1:1 {{ text total }}: an operator or a filter is missing between two values'],
    ['{{ text | upcase: 1 }}', '1:1 {{ text | upcase: 1 }}: the filter upcase takes no argument, and here are 1'],
    [
      '{{ total | currency }}',
      '1:1 {{ total | currency }}: the filter currency takes 1 to 2 arguments, and here are 0',
    ],
    [
      '{{ total | number: digits: 2 }}',
      '1:1 {{ total | number: digits: 2 }}: the filter number has no argument digits',
    ],
    [
      '{{ rows | currency: "EUR" }}',
      '1:1 {{ rows | currency: "EUR" }}: the filter currency takes a number, and this is a list',
    ],
    ['{{ customer | date }}', '1:1 {{ customer | date }}: the filter date takes a date, and this is an object'],
    ['{{ customer | upcase }}', '1:1 {{ customer | upcase }}: the filter upcase takes a string, and this is an object'],
    ['{{ rows | plus: 1 }}', '1:1 {{ rows | plus: 1 }}: the filter plus takes a number, and this is a list'],
    ['{{ paid | number }}', '1:1 {{ paid | number }}: the filter number takes a number, and this is true or false'],
    ['{% if status == "payed" %}{% endif %}', '1:17 status is never "payed": it is "paid", "open"'],
    ['{% if 3 == level %}{% endif %}', '1:7 level is never 3: it is 1, 2'],
    ['{% if total != "3" %}{% endif %}', '1:16 total is a number and never equals "3"'],
    [
      '{% case status %}{% when "paid", "opne" %}{% endcase %}',
      '1:34 status is never "opne" (did you mean open?): it is "paid", "open"',
    ],
  ])('%s is refused', ([template = '', fault]) => {
    expect(faultsOf(template)).toEqual([fault])
  })

  test.for([
    ['{{ text | date: "%Q" }}', 'there is no %Q in a date format; write %% for a percent sign'],
    ['{{ text | date: "de-DE", "lang" }}', 'the date style must be one of full, long, medium, short'],
    ['{{ text | date: "%d", "long" }}', 'a date format with % takes a time zone, and neither a style nor a locale'],
    ['{{ text | date: "short" }}', 'the style comes after the locale: write date: nil, "short"'],
    ['{{ text | date: "de", "long", "Moon/Tycho" }}', 'there is no such time zone'],
    ['{{ "2026-02-30" | date: "%F" }}', 'the value is not a date: there is no such day'],
    ['{{ total | currency: "EURO" }}', 'the currency code must have three letters'],
    ['{{ total | number: "german" }}', 'there is no such locale: write a tag such as en-US'],
    ['{{ total | number: "de", 999 }}', 'the digits must be a whole number from 0 to 100'],
    ['{{ total | plus: "1,5" }}', 'the value is not a number: write it as 1234.5'],
    ['{% assign x = total | upcase | times: "x" %}', 'the value is not a number: write it as 1234.5'],
    [
      '{% if paid %}{{ total | divided_by: 0 }}{% endif %}',
      'the value is divided by 0, or by nothing: ask for the divisor with {% if %} first',
    ],
  ])('%s is refused without data', ([template = '', fault]) => {
    const [code] = /\{\{.*?\}\}|\{% assign.*%\}/.exec(template) ?? ['']
    const column = template.indexOf(code) + 1
    expect(faultsOf(template)).toEqual([`1:${column} ${code}: ${fault}`])
  })

  test.for([
    '{{ total | divided_by: level | currency: "EUR" | append: "%" }}{{ "12.50" | plus: text | round: 2 }}',
    '{{ text | date: nil, "long" }}{{ text | date: "%V %G %-d", "Asia/Tokyo" }}{{ text | date: text, "long" }}',
    '{{ rows | map: "price" | sum | times: 1.19 | round: 2 }}{{ 1795219200 | date: "%Y" }}{{ "" | date: "%F" }}',
  ])('%s has no fault', (template) => {
    expect(faultsOf(template)).toEqual([])
  })

  test('knows every filter that templates have, and no others', () => {
    const { filters } = new Liquid()
    const impure = ['sample', 'date_to_xmlschema', 'date_to_rfc822', 'date_to_string', 'date_to_long_string']
    const names = new Set([...Object.keys(filters), ...Object.keys(localeFilters())])
    expect([...SIGNATURES.keys()].toSorted()).toEqual([...names].filter((name) => !impure.includes(name)).toSorted())
  })
})

describe('hostile', () => {
  test('sources of many faults get the first ten', () => {
    expect(faultsOf('{{ totla }}'.repeat(9000))).toHaveLength(10)
  })

  test('nesting, long paths and many variables end', () => {
    const loops = '{% for a in rows %}'.repeat(800) + '{{ zzz }}' + '{% endfor %}'.repeat(800)
    expect(faultsOf(loops)).toHaveLength(1)
    expect(faultsOf(`{{ node${'.next'.repeat(20_000)}.nmae }}`)).toHaveLength(1)
    expect(faultsOf(`{{ prices${'[prices'.repeat(400)}${']'.repeat(400)} }}`)).toEqual([])
  })

  test('schemas that branch into themselves end, and say nothing that is not certain', () => {
    const branch = (name: string) => ({ anyOf: [{ $ref: `#/$defs/${name}` }, { $ref: '#/$defs/end' }] })
    const names = Array.from({ length: 60 }, (_, index) => `d${index}`)
    const $defs = {
      end: { type: 'object', properties: { x: { $ref: '#/$defs/d0' } }, additionalProperties: false },
      ...Object.fromEntries(
        names.map((name, index) => [
          name,
          {
            allOf: [branch(names[(index + 1) % 60] ?? ''), branch(names[(index * 7) % 60] ?? '')],
            properties: { x: branch(name) },
          },
        ]),
      ),
    }
    const schema: JsonObject = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs }
    expect(faultsOf(`{{ a${'.x'.repeat(5000)} }}`, schema)).toEqual([])
  })

  test('a schema that refers to itself without an end allows everything', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' }, b: { anyOf: [{ $ref: '#/properties/b' }] } },
      $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
    }
    expect(faultsOf('{{ a.b.c }}{{ b.c }}', schema)).toEqual([])
  })
})

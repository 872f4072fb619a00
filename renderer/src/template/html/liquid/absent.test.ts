import type { JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { aRenderWork } from '../../../../../test/fixture/render/work.ts'
import { openHtmlFiller } from '../fill.ts'

async function absentIn(template: string, data: JsonObject = {}, footer?: string): Promise<readonly string[]> {
  const html = { template, javascript: false, ...(footer !== undefined && { footer }) }
  const { absent } = await openHtmlFiller()(aRenderWork({ data, template: { html } }))
  return absent.map(({ code, place, message }) => `${code} ${place} ${message}`)
}

describe('a printed variable', () => {
  test.for<[template: string, data: JsonObject, place: string, message: string]>([
    ['{{ totla }}', { total: 1 }, '1:4', 'there is no value for totla (did you mean total?)'],
    [
      'a\n  {{ a.b.nmae | upcase }}',
      { a: { b: { name: '' } } },
      '2:6',
      'there is no value for a.b.nmae (did you mean name?)',
    ],
    ['{{ a.b.c }}', {}, '1:4', 'there is no value for a.b.c'],
    ['{{ rows[1].x }}', { rows: [{ x: 1 }] }, '1:4', 'there is no value for rows[1].x'],
    ['{{ a["b c"] | raw }}', { a: {} }, '1:4', 'there is no value for a["b c"]'],
    ['{% echo x %}', {}, '1:9', 'there is no value for x'],
    ['{% assign y = x %}{{ y }}', {}, '1:22', 'there is no value for y'],
    [
      '{% for row in rows %}{{ row.x }}{% endfor %}',
      { rows: [{ x: 1 }, {}, {}] },
      '1:25',
      'there is no value for row.x',
    ],
    ['{% capture c %}{{ x }}{% endcapture %}', {}, '1:19', 'there is no value for x'],
    ['{{ list.map }}', { list: [1] }, '1:4', 'there is no value for list.map'],
  ])('%s is named if it has no value, once and with its place', async ([template, data, place, message]) => {
    expect(await absentIn(template, data)).toEqual([`variable_absent template.html:${place} ${message}`])
  })

  test.for<[template: string, data: JsonObject]>([
    ['{{ x | default: "" }}{{ x | upcase | default: "-" }}', {}],
    ['{% if x %}{{ x }}{% endif %}{% unless x %}-{% endunless %}', {}],
    ['{{ a }}{{ b }}{{ c }}{{ d }}{{ e.f }}', { a: null, b: '', c: 0, d: false, e: null }],
    ['{{ a.size }}{{ b.size }}{{ a.first }}{{ a[0] }}{{ a[-1] }}{{ b[0] }}', { a: [1], b: 'text' }],
    ['{% for x in a %}{{ forloop.index }}{{ forloop.last }}{{ x }}{% endfor %}{{ a[i] }}', { a: [1] }],
    ['{% increment n %}{{ n }}{{ "text" }}{{ 1 }}{{ nil }}', {}],
  ])('%s needs no value, or has one', async ([template, data]) => {
    expect(await absentIn(template, data)).toEqual([])
  })

  test.for<[template: string, data: JsonObject, place: string, message: string]>([
    [
      '{{ c }}',
      { c: { name: 'Zoë' } },
      '1:1',
      '{{ c }} prints [object Object]: it is an object, so print one of its fields',
    ],
    [
      'a\n{% echo c %}',
      { c: {} },
      '2:1',
      '{% echo c %} prints [object Object]: it is an object, so print one of its fields',
    ],
    [
      '{{ rows }}',
      { rows: [1, {}] },
      '1:1',
      '{{ rows }} prints [object Object]: it is an object, so print one of its fields',
    ],
    [
      '{{ "Dear " | append: c }}',
      { c: {} },
      '1:1',
      '{{ "Dear " | append: c }} prints [object Object] in “Dear [object Object]”',
    ],
  ])('%s is named if it prints no text', async ([template, data, place, message]) => {
    expect(await absentIn(template, data)).toEqual([`variable_absent template.html:${place} ${message}`])
  })

  test.for<[template: string, data: JsonObject]>([
    ['{{ a }} {{ b }} {{ c }}', { a: 'undefined', b: 'an Invalid Date here', c: '[object Object]' }],
    ['NaN undefined [object Object] {{ a }}', { a: ['x', null, 1.5, true] }],
    ['{{ c | json }}{{ c | raw }}', { c: { a: 1 } }],
  ])('%s prints what the data have', async ([template, data]) => {
    expect(await absentIn(template, data)).toEqual([])
  })

  test('of a footer is named with its file', async () => {
    expect(await absentIn('x', {}, '\n{{ page }}')).toEqual([
      'variable_absent footer.html:2:4 there is no value for page',
    ])
  })

  test('is read as Liquid reads it', async () => {
    const template =
      '{{ a.b }}|{{ a["b"] }}|{{ l.first }}|{{ l[1] }}|{{ l.size }}|{{ s.size }}|{{ o.size }}|{{ o.x.size }}|{{ a.constructor }}'
    const html = { template, javascript: false }
    const data = { a: { b: '<' }, l: ['p', 'q'], s: 'abc', o: { x: { size: 'L' } } }
    const { html: filled } = await openHtmlFiller()(aRenderWork({ data, template: { html } }))
    expect(filled).toBe('&lt;|&lt;|p|q|2|3|1|L|')
  })

  test('is named in each document of a template, by what that document lacks', async () => {
    const fill = openHtmlFiller()
    const html = { template: '{{ a }}{{ b }}', javascript: false }
    const absentOf = async (data: JsonObject) =>
      (await fill(aRenderWork({ data, template: { html } }))).absent.map(({ message }) => message)
    const [noA, noB] = ['there is no value for a', 'there is no value for b']
    const first = await absentOf({})
    expect(await absentOf({ a: 1 })).toEqual([noB])
    expect(await absentOf({ a: 1, b: 1 })).toEqual([])
    expect(await absentOf({})).toEqual([noA, noB])
    expect(first).toEqual([noA, noB])
  })

  test('is one of at most twenty that are named', async () => {
    expect(await absentIn(Array.from({ length: 50 }, (_, index) => `{{ x${index} }}`).join(''))).toHaveLength(20)
  })
})

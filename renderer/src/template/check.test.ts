import type { CheckRequest } from '@platen/contract/domain/template-check.ts'
import type { TemplateCode, TemplateSource } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { aFont, anAsset, aPng } from '../../../test/fixture/asset.ts'
import { openTemplateCheck } from './check.ts'
import { openSandbox } from './evaluate.ts'

const checkSource = openTemplateCheck(await openSandbox())
const check = (request: Omit<CheckRequest, 'variablesSchema'> & Partial<CheckRequest>) =>
  checkSource({ variablesSchema: '{"type":"object"}', ...request })

function aSource(fields: Partial<TemplateSource>): TemplateSource {
  return { code: 'invoice' as TemplateCode, name: 'Invoice', version: 1, options: {}, ...fields }
}

const REACT_PDF = `import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => (
  <Document>
    <Page>{data.rows.map((row) => <Text key={row}>{row}</Text>)}</Page>
  </Document>
)`
const ROWS = '{"rows":["a"]}'
const HTML = { template: '{% for row in rows %}<p>{{ row }}</p>{% endfor %}', javascript: false }

test('finds nothing wrong with sound sources', async () => {
  const source = aSource({ reactPdf: REACT_PDF, html: HTML })
  expect(await check({ source, assets: [], sampleData: ROWS })).toEqual([])
  expect(await check({ source, assets: [] })).toEqual([])
})

test.for([
  ['is of no object', { type: 'array' }, /^needs type: object/],
  ['names no type', { properties: {} }, /^needs type: object/],
  ['is no schema', { type: 'object', properties: { a: { type: 'strin' } } }, /^schema is invalid/],
  ['refers to what is not there', { type: 'object', $ref: '#/$defs/nothing' }, /can't resolve reference/],
  [
    'refers outside itself',
    { type: 'object', properties: { a: { $ref: 'https://example.com/schema.json' } } },
    /can't resolve reference/,
  ],
] as const)('says of a schema that it %s, and no more', async ([, variablesSchema, message]) => {
  const source = aSource({ reactPdf: 'const = 1' })
  expect(await check({ source, assets: [], variablesSchema: JSON.stringify(variablesSchema) })).toEqual([
    { message: expect.stringMatching(message) },
  ])
})

test('refuses a variable that a closed schema does not have, whether or not the sample data lead there', async () => {
  const variablesSchema =
    '{"type":"object","properties":{"rows":{"items":{"type":"string"}}},"additionalProperties":false}'
  const source = aSource({ reactPdf: REACT_PDF.replace('{row}', '{row === "b" && data.rwos}') })
  const message = 'template.tsx:4:66: data.rwos: variablesSchema has no such variable (did you mean rows?)'
  expect(await check({ source, assets: [], sampleData: ROWS, variablesSchema })).toEqual([
    { engine: 'react_pdf', message },
  ])
})

test('refuses a style that react-pdf ignores, which only the data lead to', async () => {
  const source = aSource({ reactPdf: REACT_PDF.replace('<Text ', '<Text style={{ textAlign: row }} ') })
  const message = /^template\.tsx:4:\d+: <Text style>: the style textAlign must be one of left, /
  expect(await check({ source, assets: [], sampleData: '{"rows":["centre"]}' })).toEqual([
    { engine: 'react_pdf', message: expect.stringMatching(message) },
  ])
})

test('warns where that is wanted, and evaluates the template nevertheless', async () => {
  const variablesSchema = '{"type":"object","properties":{"a":{"type":"object","properties":{"rows":{}}}}}'
  const source = aSource({ reactPdf: REACT_PDF.replace('data.rows', 'data.a.rows') })
  const warning = 'template.tsx:4:12: data.a may be absent: variablesSchema does not require it'
  const failed = { engine: 'react_pdf', message: expect.stringMatching(/^template\.tsx:4:\d+: TypeError/) }
  const request = { source, assets: [], sampleData: ROWS, variablesSchema }
  expect(await check(request)).toEqual([failed])
  expect(await check({ ...request, isWarned: true })).toEqual([
    { engine: 'react_pdf', message: warning, isWarning: true },
    failed,
  ])
})

test.for([
  ['does not parse', { reactPdf: 'const = 1' }, undefined, 'react_pdf', /^template\.tsx:1:7: /],
  [
    'imports what there is not',
    { reactPdf: "import x from 'axios'\nexport default () => x" },
    undefined,
    'react_pdf',
    /cannot import "axios"/,
  ],
  [
    'has no component',
    { reactPdf: 'export const a = 1' },
    undefined,
    'react_pdf',
    /no component as its default export/,
  ],
  ['fails on its sample data', { reactPdf: REACT_PDF }, { lines: [] }, 'react_pdf', /^template\.tsx:4:\d+: TypeError/],
  [
    'uses what there is not',
    { reactPdf: REACT_PDF.replace('<Text ', '<Text onTap="x" ') },
    { rows: [1] },
    'react_pdf',
    /<Text onTap>: there is no such prop/,
  ],
  [
    'names no image',
    { reactPdf: REACT_PDF.replace('<Page>', '<Page><Image src="logo.png" />').replace('Text }', 'Text, Image }') },
    { rows: [] },
    'react_pdf',
    /image logo\.png/,
  ],
  ['never ends', { reactPdf: 'for (;;);' }, {}, 'react_pdf', /ran too long/],
  [
    'does not parse as Liquid',
    { html: { ...HTML, template: '<p>\n{% if %}' } },
    undefined,
    'html',
    /^template\.html:2:6: /,
  ],
  [
    'has a broken footer',
    { html: { ...HTML, footer: '{{ rows | nosuch }}' } },
    { rows: [] },
    'html',
    /^footer\.html:1:\d+: /,
  ],
] as const)('reports a source that %s', { timeout: 60_000 }, async ([, fields, sampleData, engine, message]) => {
  const faults = await check({
    source: aSource(fields),
    assets: [],
    ...(sampleData === undefined ? {} : { sampleData: JSON.stringify(sampleData) }),
  })
  expect(faults).toEqual([{ engine, message: expect.stringMatching(message) }])
})

describe('the assets of a template', () => {
  const shown = REACT_PDF.replace('<Page>', '<Page><Image src="asset:logo.png" />').replace('Text }', 'Text, Image }')
  const branded = REACT_PDF.replace('<Text ', '<Text style={{ fontFamily: "Brand" }} ')
  const fonts = [{ family: 'Brand', weight: 400, style: 'normal', asset: 'brand-regular.ttf' } as const]

  test('may be images and fonts of its own', async () => {
    const source = aSource({ reactPdf: shown.replace('<Text ', '<Text style={{ fontFamily: "Brand" }} '), fonts })
    const assets = [anAsset('logo.png', aPng()), aFont('brand-regular.ttf')]
    expect(await check({ source, assets, sampleData: ROWS })).toEqual([])
  })

  test.for([
    ['shows an image there is not', { reactPdf: shown }, [], /image asset:logo\.png: there is no such asset/],
    [
      'shows a font for an image',
      { reactPdf: shown },
      [aFont('brand-regular.ttf', 'logo.png')],
      /^asset logo\.png: the name says a PNG image, but this is a TrueType font/,
    ],
    ['names a family there is not', { reactPdf: branded }, [], /no such font family; there are DejaVu Sans/],
    [
      'has a font that is an image',
      { reactPdf: branded, fonts },
      [anAsset('brand-regular.ttf', aPng())],
      /^asset brand-regular\.ttf: the name says a TrueType font, but this is a PNG image/,
    ],
  ] as const)('are held against what a source says that %s', async ([, fields, assets, message]) => {
    const faults = await check({ source: aSource(fields), assets, sampleData: ROWS })
    expect(faults[0]).toEqual({ engine: 'react_pdf', message: expect.stringMatching(message) })
  })

  test('are reported all together and once, with the first engine there is', async () => {
    const assets = [anAsset('a.png', Buffer.from('a')), anAsset('b.jpg', aPng())]
    const messages = [expect.stringMatching(/^asset a\.png: /), expect.stringMatching(/^asset b\.jpg: /)]
    for (const [sources, engine] of [
      [{ reactPdf: 'const = 1', html: HTML }, 'react_pdf'],
      [{ html: HTML }, 'html'],
    ] as const) {
      const faults = await check({ source: aSource(sources), assets })
      expect(faults).toEqual(messages.map((message) => ({ engine, message })))
    }
  })
})

test('takes images of listed hosts as they come, which renders fetch, and refuses others', async () => {
  const shown = REACT_PDF.replace('<Page>', '<Page><Image src="https://a.test/a.png" />').replace(
    'Text }',
    'Text, Image }',
  )
  const header = '<img src="https://a.test/a.png">'
  const source = aSource({ reactPdf: shown, html: { ...HTML, header }, allowedHosts: ['a.test'] })
  expect(await check({ source, assets: [], sampleData: ROWS })).toEqual([])
  const faults = await check({
    source: { ...source, allowedHosts: ['b.test'] },
    assets: [],
    sampleData: ROWS,
  })
  const message = /^template\.tsx:\d+:\d+: <Image src>: image of a\.test: the host is not among the allowed hosts/
  expect(faults).toEqual([{ engine: 'react_pdf', message: expect.stringMatching(message) }])
})

test("reports a margin of the template's own that leaves no room", async () => {
  const source = aSource({ reactPdf: REACT_PDF, options: { margin: '10cm', page_size: 'A6' } })
  expect(await check({ source, assets: [], sampleData: '{"rows":[]}' })).toEqual([
    { engine: 'react_pdf', message: expect.stringMatching(/^template\.tsx:4.*options\.margin leaves 0 × 0 of a page/) },
  ])
})

test('reports both sources', async () => {
  const source = aSource({ reactPdf: 'const = 1', html: { ...HTML, template: '{% if %}' } })
  expect((await check({ source, assets: [] })).map(({ engine }) => engine)).toEqual(['react_pdf', 'html'])
})

test('holds the document, its header and its footer against a closed schema, also where no sample leads', async () => {
  const html = {
    ...HTML,
    template: '{% if rows %}x{% else %}{{ rosw }}{% endif %}',
    header: '{{ y }}',
    footer: '\n{{ rows | }}',
  }
  const variablesSchema = '{"type":"object","properties":{"rows":{"type":"array"}},"additionalProperties":false}'
  const messages = [
    'template.html:1:28: there is no variable rosw in variablesSchema (did you mean rows?)',
    'header.html:1:4: there is no variable y in variablesSchema',
    'footer.html:2:1: {{ rows | }}: the name of a filter is missing after |',
  ]
  const faults = await check({ source: aSource({ html }), assets: [], sampleData: ROWS, variablesSchema })
  expect(faults).toEqual(messages.map((message) => ({ engine: 'html', message })))
})

test('reports what Liquid does not know or leaves out, with its place, whether or not the source parses', async () => {
  const misread = (template: string, header = '') =>
    check({ source: aSource({ html: { ...HTML, template, header } }), assets: [], sampleData: ROWS })
  expect(await misread('<p>\n{{ a if b else "-" }}', '{% for row in rows | reverse %}{% endfor %}')).toEqual([
    {
      engine: 'html',
      message: 'template.html:2:6: {{ a if b else "-" }}: write {% if b %}{{ a }}{% else %}{{ "-" }}{% endif %}',
    },
    {
      engine: 'html',
      message:
        'header.html:1:20: {% for row in rows | reverse %}: a loop takes no filter: write {% assign x = rows | reverse %} before it',
    },
  ])
  expect(await misread('{% if status = "paid" %}{% endif %}')).toEqual([
    { engine: 'html', message: 'template.html:1:14: {% if status = "paid" %}: write == to compare' },
  ])
})

test('a wrong literal of a filter is one fault, with sample data and without', async () => {
  const template = '{{ total | divided_by: count }}{{ total | number: "de", 999 }}'
  const source = aSource({ html: { template, javascript: false } })
  const message = 'template.html:1:32: {{ total | number: "de", 999 }}: the digits must be a whole number from 0 to 100'
  for (const sampleData of ['{"total":1,"count":2}', undefined])
    expect(await check({ source, assets: [], ...(sampleData !== undefined && { sampleData }) })).toEqual([
      { engine: 'html', message },
    ])
})

test('nothing is divided by a value that there is not, without sample data', async () => {
  const source = aSource({ html: { template: '{{ total | divided_by: count }}', javascript: false } })
  expect(await check({ source, assets: [] })).toEqual([])
  expect(await check({ source, assets: [], sampleData: '{"total":1,"count":0}' })).toEqual([
    { engine: 'html', message: expect.stringMatching(/the value is divided by 0/) },
  ])
})

import type { TemplateCode, TemplateSource } from '@platen/contract/tenant.ts'
import { expect, test } from 'vitest'
import { openTemplateCheck } from './check.ts'

const check = await openTemplateCheck()

function aSource(fields: Partial<TemplateSource>): TemplateSource {
  return { code: 'invoice' as TemplateCode, name: 'Invoice', version: 1, options: {}, ...fields }
}

const REACT_PDF = `import { Document, Page, Text } from '@react-pdf/renderer'
export default ({ data }) => (
  <Document>
    <Page>{data.rows.map((row) => <Text key={row}>{row}</Text>)}</Page>
  </Document>
)`
const HTML = { template: '{% for row in rows %}<p>{{ row }}</p>{% endfor %}', javascript: false }

test('finds nothing wrong with sound sources', async () => {
  const source = aSource({ reactPdf: REACT_PDF, html: HTML })
  expect(await check({ source, assets: [], sampleData: { rows: ['a'] } })).toEqual([])
  expect(await check({ source, assets: [] })).toEqual([])
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
    ...(sampleData === undefined ? {} : { sampleData }),
  })
  expect(faults).toEqual([{ engine, message: expect.stringMatching(message) }])
})

test('reports both sources', async () => {
  const source = aSource({ reactPdf: 'const = 1', html: { ...HTML, template: '{% if %}' } })
  expect((await check({ source, assets: [] })).map(({ engine }) => engine)).toEqual(['react_pdf', 'html'])
})

import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { pageCountOf } from '../pdf/page-count.ts'
import { destinationPages, firstPageScale, setDates } from './pdf.ts'

/** A file of these objects in Skia's layout. The first object is the catalog. */
function aPdf(...objects: readonly string[]): Buffer {
  const head = '%PDF-1.4\n'
  const bodies = objects.map((object, at) => `${at + 1} 0 obj\n${object}\nendobj\n`)
  const starts = bodies.map((_, at) => head.length + bodies.slice(0, at).join('').length)
  const rows = starts.map((start) => `${String(start).padStart(10, '0')} 00000 n \n`).join('')
  const whole = head + bodies.join('')
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`
  return Buffer.from(`${whole}${table}trailer\n<</Root 1 0 R>>\nstartxref\n${whole.length}\n%%EOF\n`, 'latin1')
}

test.for([
  ['a page tree', ['<</Pages 2 0 R>>', '<</Type /Pages /Count 7 /Kids [3 0 R]>>'], 7],
  [
    'a nested page tree, whose root counts all',
    ['<</Pages 3 0 R>>', '<</Type /Pages /Count 8>>', '<</Type /Pages /Count 12 /Kids [2 0 R]>>'],
    12,
  ],
  [
    'a document whose text looks like a count',
    ['<</Pages 2 0 R>>', '<</Type /Pages /Count 1>>', '<</Title (/Count 999999999)>>'],
    1,
  ],
] as const)('counts the pages of %s', ([, objects, pages]) => {
  expect(pageCountOf(aPdf(...objects))).toBe(pages)
})

test('writes one date over those of the document, and moves nothing', () => {
  const pdf = Buffer.from(
    "<</Title (x) /CreationDate (D:20261121092205+00'00')\n/ModDate (D:20261121092205+00'00')>> tail",
  )
  expect(setDates(pdf, Date.UTC(2027, 0, 2, 3, 4, 5, 678)).toString()).toBe(
    "<</Title (x) /CreationDate (D:20270102030405+00'00')\n/ModDate (D:20270102030405+00'00')>> tail",
  )
})

test.for(['no date at all', '/CreationDate (D:soon)', '/CreationDate (D:2026'])('leaves %s as it is', (text) => {
  expect(setDates(Buffer.from(text), 0).toString()).toBe(text)
})

describe('the scale of the first page', () => {
  const units = '.24 0 0 -.24 0 842 cm\nq\n'
  const content = (scale: string) =>
    `100 50 2250 3275 re\nW* n\nq\n${scale} 0 0 ${scale} 100 50 cm\n0 0 0 RG 0 0 0 rg\n`
  const scaleOf = (text: string) => {
    const stream = deflateSync(text).toString('latin1')
    const page = `<</Type /Page /Contents 5 0 R>>`
    const tree = ['<</Pages 2 0 R>>', '<</Kids [3 0 R] /Count 1>>', '<</Kids [4 0 R 4 0 R] /Count 1>>', page]
    return firstPageScale(aPdf(...tree, `<</Length ${stream.length}>> stream\n${stream}\nendstream`))
  }

  test.for<[string, string, number | undefined]>([
    ['one that fits', units + content('3.125'), 1],
    ['one that was shrunk', units + content('2.5'), 0.8],
    ['one with a background', `${units}2.5 0 0 2.5 100 50 cm\n0 0 9 9 re\nf\nQ\nq\n${content('2.5')}`, 0.8],
    ['an empty one', '.24 0 0 -.24 0 842 cm\n', undefined],
    ['one of another producer', 'q\n1 0 0 1 0 0 cm\n', undefined],
    ['one that is turned', `${units}0 0 9 9 re\nW n\nq\n2.4 .1 -.1 2.4 0 0 cm\n`, undefined],
  ])('is read of %s', ([, text, scale]) => {
    const read = scaleOf(text)
    expect(read).toEqual(scale === undefined ? undefined : { scale: expect.closeTo(scale), width: expect.closeTo(720) })
  })

  test('is unknown of a document without pages, and of one whose content is not compressed', () => {
    expect(firstPageScale(aPdf('<</Pages 2 0 R>>', '<</Count 0 /Kids []>>'))).toBeUndefined()
    const plain = `<</Length 9>> stream\n${units}${content('2.5')}\nendstream`
    expect(firstPageScale(aPdf('<</Pages 2 0 R>>', '<</Contents 3 0 R>>', plain))).toBeUndefined()
  })
})

test('finds the page of each destination, in a tree of any depth, by its name without escapes', () => {
  const pdf = aPdf(
    '<</Pages 2 0 R /Dests 6 0 R>>',
    '<</Type /Pages /Count 3 /Kids [3 0 R 7 0 R]>>',
    '<</Type /Pages /Count 2 /Kids [4 0 R 5 0 R]>>',
    '<</Type /Page>>',
    '<</Type /Page>>',
    '<</a [4 0 R /XYZ 0 0 0] /two#2520b [7 0 R /XYZ 0 0 0] /b [5 0 R /XYZ 0 0 0] /lost [9 0 R /XYZ 0 0 0]>>',
    '<</Type /Page>>',
  )
  expect(Object.fromEntries(destinationPages(pdf))).toEqual({ a: 1, b: 2, 'two%20b': 3 })
  expect(destinationPages(aPdf('<</Pages 2 0 R>>', '<</Type /Page>>')).size).toBe(0)
})

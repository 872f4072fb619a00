import { expect, test } from 'vitest'
import { countPages, setDates } from './pdf.ts'

/** A file of these objects in Skia's layout. The first object is the catalog. */
function aPdf(...objects: readonly string[]): Buffer {
  const head = '%PDF-1.4\n'
  const bodies = objects.map((object, at) => `${at + 1} 0 obj\n${object}\nendobj\n`)
  const starts = bodies.map((_, at) => head.length + bodies.slice(0, at).join('').length)
  const rows = starts.map((start) => `${String(start).padStart(10, '0')} 00000 n \n`).join('')
  const whole = head + bodies.join('')
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`
  return Buffer.from(`${whole}${table}trailer\n<</Root 1 0 R>>\nstartxref\n${whole.length}\n%%EOF\n`)
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
  expect(countPages(aPdf(...objects))).toBe(pages)
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

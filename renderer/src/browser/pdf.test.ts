import { expect, test } from 'vitest'
import { countPages, fixDates } from './pdf.ts'

test.for([
  ['a page tree', '<</Type /Pages /Count 7 /Kids [1 0 R]>>', 7],
  [
    'a nested page tree, whose root counts all',
    '<</Type /Pages /Count 8>> <</Type /Pages /Count 12>> <</Count 4>>',
    12,
  ],
  ['a count at the end of the bytes', '/Count 3', 3],
  ['something else that counts', '/Count [1 2]', 0],
  ['nothing', '', 0],
] as const)('counts the pages of %s', ([, pdf, pages]) => {
  expect(countPages(Buffer.from(pdf))).toBe(pages)
})

test('writes one date over those of the document, and moves nothing', () => {
  const pdf = Buffer.from(
    "<</Title (x) /CreationDate (D:20261121092205+00'00')\n/ModDate (D:20261121092205+00'00')>> tail",
  )
  expect(fixDates(pdf).toString()).toBe(
    "<</Title (x) /CreationDate (D:20000101000000+00'00')\n/ModDate (D:20000101000000+00'00')>> tail",
  )
})

test.for(['no date at all', '/CreationDate (D:soon)', '/CreationDate (D:2026'])('leaves %s as it is', (text) => {
  expect(fixDates(Buffer.from(text)).toString()).toBe(text)
})

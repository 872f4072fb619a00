/** What is added to finished PDFs, on files with all the liberties the format has, judged by programs of others. */
import { finishPdf } from '@platen/renderer/pdf/finish.ts'
import { pageCountOf } from '@platen/renderer/pdf/page-count.ts'
import { describe, expect, test } from 'vitest'
import { inspectPdf } from '../topology/oracle.ts'

/** A PDF of these objects, the first of which is its catalog and the second its document information. */
function aPdf(objects: readonly string[]): Uint8Array {
  let file = '%PDF-1.4\n'
  const rows = objects.map((body, at) => {
    const row = `${String(file.length).padStart(10, '0')} 00000 n \n`
    file += `${at + 1} 0 obj\n${body}\nendobj\n`
    return row
  })
  const size = objects.length + 1
  const tail = `xref\n0 ${size}\n0000000000 65535 f \n${rows.join('')}trailer\n<</Size ${size} /Root 1 0 R /Info 2 0 R>>\nstartxref\n${file.length}\n%%EOF\n`
  return Buffer.from(file + tail, 'latin1')
}

const stream = (content: string) => `<</Length ${content.length}>>\nstream\n${content}\nendstream`
const FONT = '<</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>'
const text = (word: string) => stream(`BT /F 12 Tf 20 20 Td (${word}) Tj ET 0.5 0 0 0.5 0 0 cm`)

/** A tree of pages in two levels: attributes that are inherited, contents in parts, resources here and there, an origin elsewhere. */
const TREE = aPdf([
  '<</Type /Catalog /Pages 3 0 R>>',
  '<</Title (old \\) title) /Creator (kept)>>',
  '<</Type /Pages /Kids [4 0 R 7 0 R] /Count 3 /MediaBox [0 0 300 200] /Resources 10 0 R>>',
  '<</Type /Pages /Parent 3 0 R /Kids [5 0 R 6 0 R] /Count 2>>',
  '<</Type /Page /Parent 4 0 R /Contents 8 0 R>>',
  '<</Type /Page /Parent 4 0 R /Contents [8 0 R 9 0 R] /MediaBox [-100 -50 300 350]>>',
  '<</Type /Page /Parent 3 0 R /Contents 9 0 R /Resources <</Font <</F 11 0 R>> /XObject 12 0 R>>>>',
  text('one'),
  text('two'),
  '<</Font <</F 11 0 R>>>>',
  FONT,
  '<<>>',
])

/** The words of each page, in no order of significance. */
async function look(pdf: Uint8Array) {
  const { pages, info, text } = await inspectPdf(pdf)
  return {
    pages,
    info,
    pageTexts: text
      .split('\f')
      .slice(0, -1)
      .map((page) => (page.match(/\S+/g) ?? []).sort()),
  }
}

test('the pages of a tree in two levels are counted', () => {
  expect(pageCountOf(TREE)).toBe(3)
})

describe('the watermark', () => {
  test('is on every page, whatever the tree of pages is like, and leaves the rest as it was', async () => {
    const marked = finishPdf(TREE, { isSandbox: true })
    const { pages, pageTexts } = await look(marked)
    expect(pages).toBe(3)
    expect(pageTexts).toEqual([
      ['TEST', 'one'],
      ['TEST', 'one', 'two'],
      ['TEST', 'two'],
    ])
    expect(Buffer.from(marked.subarray(0, TREE.length)).equals(TREE)).toBe(true)
  })

  test('is on pages of every size the service makes', async () => {
    for (const side of [28, 72, 600, 14_400]) {
      const pdf = aPdf([
        '<</Type /Catalog /Pages 3 0 R>>',
        '<<>>',
        '<</Type /Pages /Kids [4 0 R] /Count 1>>',
        `<</Type /Page /Parent 3 0 R /MediaBox [0 0 ${side} 28]>>`,
      ])
      expect((await look(finishPdf(pdf, { isSandbox: true }))).pageTexts).toEqual([['TEST']])
    }
  })

  test('comes out the same each time', () => {
    expect(finishPdf(TREE, { isSandbox: true })).toEqual(finishPdf(TREE, { isSandbox: true }))
  })
})

describe('metadata', () => {
  test('takes the place of what is there, and leaves what it does not name', async () => {
    const metadata = { title: 'Zażółć (漢) 😀', author: 'A) /Author (B', language: 'pl-PL' }
    const { info } = await look(finishPdf(TREE, { metadata, isSandbox: false }))
    expect(info).toMatchObject({ Title: metadata.title, Author: metadata.author, Creator: 'kept' })
  })

  test('that is none changes nothing', () => {
    expect(finishPdf(TREE, { isSandbox: false })).toBe(TREE)
  })
})

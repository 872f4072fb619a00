/** The same invoice, printed by both engines, in two languages that are written from the right. */
import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, test } from 'vitest'
import { anEngine, aWork as anHtmlWork } from '../../html/html-fixture.ts'
import { aReactPdfEngine, aWork } from '../../react-pdf/react-pdf-fixture.ts'
import { ARABIC, HEBREW } from './invoice.ts'
import { differenceOf, fromTheRight, linesOf, pictureOf } from './page-view.ts'

const TSX = readFileSync(new URL('invoice.tsx', import.meta.url), 'utf8')
const HTML = readFileSync(new URL('invoice.html', import.meta.url), 'utf8')
/** How far apart words may be in the two engines: react-pdf spreads letters in a justified line, and sets large letters higher. */
const TOLERANCE_PT = 2.5
const DEADLINE_MS = 30_000

const reactPdf = aReactPdfEngine()
const html = await anEngine()
afterAll(() => html[Symbol.asyncDispose]())

async function printed(data: typeof HEBREW, tsx = TSX): Promise<{ ours: Uint8Array; chromium: Uint8Array }> {
  const { pdf, warnings } = await reactPdf.render(aWork({ source: tsx, data }), AbortSignal.timeout(DEADLINE_MS))
  expect(warnings).toEqual([])
  return { ours: pdf, chromium: await html.render(anHtmlWork(HTML, { data }), AbortSignal.timeout(DEADLINE_MS)) }
}

describe.for([
  ['Hebrew', HEBREW],
  ['Arabic', ARABIC],
] as const)('an invoice in %s', ([, data]) => {
  test('has the same words in the same lines and order in both engines, at the same places', async () => {
    const { ours, chromium } = await printed(data)
    expect(fromTheRight(ours).map(withoutBrackets)).toEqual(fromTheRight(chromium).map(withoutBrackets))
    const [words = [], others = []] = [ours, chromium].map((pdf) => linesOf(pdf).flat(2))
    for (const edge of ['left', 'right', 'top'] as const) {
      const distances = words.map((word, at) => Math.abs(word[edge] - (others[at]?.[edge] ?? 0)))
      expect(Math.max(...distances)).toBeLessThan(TOLERANCE_PT)
    }
  })

  test('looks the same in both engines, and otherwise without its direction', async () => {
    const { ours, chromium } = await printed(data)
    const { ours: leftToRight } = await printed(data, TSX.replace("direction: 'rtl', padding", 'padding'))
    for (const page of [1, 2]) {
      const [picture, same, mirrored] = [chromium, ours, leftToRight].map((pdf) => pictureOf(pdf, page))
      if (picture === undefined || same === undefined || mirrored === undefined) throw new Error('three pictures')
      expect(differenceOf(picture, same)).toBeLessThan(0.015)
      expect(differenceOf(picture, mirrored)).toBeGreaterThan(0.04)
    }
  })
})

/** A mirrored bracket is drawn by the glyph of the other one. As which of the two it can be copied depends on the engine. */
function withoutBrackets(line: string): string {
  return line.replace(/[()]/g, '|')
}

/** Vowels and accents, which react_pdf sets where the font says, as Chromium does. */
import { afterAll, expect, test } from 'vitest'
import { anEngine, aWork as anHtmlWork } from '../../html/html-fixture.ts'
import { aReactPdfEngine, aWork } from '../../react-pdf/react-pdf-fixture.ts'
import { differenceOf, pictureOf } from './page-view.ts'

const reactPdf = aReactPdfEngine()
const html = await anEngine()
afterAll(() => html[Symbol.asyncDispose]())

test.for([
  ['Hebrew vowels', 'בְּרֵאשִׁית', 'rtl'],
  ['Arabic vowels', 'الرَّحِيمِ', 'rtl'],
  ['Arabic vowels in a line from the left', 'الرَّحِيمِ', 'ltr'],
  ['Latin accents without a letter of their own', 'q\u0323\u0301 W\u0301', 'ltr'],
] as const)('%s look as in Chromium', async ([, text, direction]) => {
  const data = { text, direction }
  const document =
    '<Page size={[300, 120]} style={{ direction: data.direction, fontSize: 50 }}><Text>{data.text}</Text></Page>'
  const { pdf } = await reactPdf.render(aWork({ document, data }), AbortSignal.timeout(30_000))
  const style =
    "@page { size: 300pt 120pt; margin: 0 } body { margin: 0; font: 50pt 'DejaVu Sans'; text-rendering: geometricPrecision }"
  const chromium = await html.render(
    anHtmlWork(`<style>${style}</style><body dir="{{ direction }}">{{ text }}`, { data }),
  )
  const difference = differenceOf(pictureOf(pdf, 1, 72), pictureOf(chromium, 1, 72))
  // At the places of react-pdf it is 0.003 to 0.014.
  expect(difference).toBeLessThan(0.0015)
})

/** Where lines end in both engines, on a corpus of twenty languages: where a browser ends them, and in boxes that hold all their letters. */
import { readFileSync } from 'node:fs'
import { findChromium } from '@platen/renderer/browser/executable.ts'
import { breakOpportunities } from '@platen/renderer/engine/text/rule/opportunities.ts'
import * as steps from '@platen/renderer/engine/text/textkit.ts'
import { defaultFaces } from '@platen/renderer/template/asset/font/default-fonts.ts'
import { openFont } from '@platen/renderer/template/asset/font/font-file.ts'
import type { AttributedString, Attributes, LayoutOptions } from '@react-pdf/textkit'
import { launch } from 'puppeteer'
import { describe, expect, test } from 'vitest'
import { shared } from '../../fixture/lifetime.ts'
import { anEngine, aWork as htmlWork, inspect } from '../html/html-fixture.ts'
import { aReactPdfEngine, aWork, type WorkFields } from '../react-pdf/react-pdf-fixture.ts'
import { CORPUS } from './corpus.ts'

const DEADLINE_MS = 60_000
const engine = aReactPdfEngine()
const html = shared(() => anEngine())

/** Where we differ from Chromium on purpose. The place is between the two parts of each pattern. */
const OURS: readonly (readonly [why: string, before: RegExp, after: RegExp])[] = [
  ['Chromium keeps addresses whole', /\/$/, /^\p{L}/u],
  ['the dictionaries of Khmer differ', /[\p{sc=Khmer} ]$/u, /^\p{sc=Khmer}/u],
]
const THEIRS: readonly (readonly [why: string, before: RegExp, after: RegExp])[] = [
  ['UAX #14 keeps dates and numbers whole', /-$/, /^\d/],
  ['UAX #14 keeps French punctuation with its word', / $/, /^[;:!?»]/],
  ['UAX #14 keeps what guillemets hold with them', /« $/, /^./],
  ['a small kana begins no line of ours', /./, /^[ァィゥェォッャュョヮぁぃぅぇぉっゃゅょゎー]/],
  ['the dictionaries of Khmer differ', /[\p{sc=Khmer} ]$/u, /^\p{sc=Khmer}/u],
]

describe('a line may end', () => {
  test('where Chromium ends it, but for what UAX #14 and books say otherwise', async () => {
    const chromium = await chromiumBreaks()
    const faults = CORPUS.flatMap(({ language, text }, at) => {
      const breaks = breakOpportunities(text)
      const ours = new Set([...breaks.keys()].filter((end) => breaks[end] === 1 && end < text.length))
      const theirs = new Set(chromium[at])
      const shown = (end: number) => `${language}: ${text.slice(end - 6, end)}|${text.slice(end, end + 6)}`
      const isFault = (allowed: typeof OURS) => (end: number) =>
        !allowed.some(([, before, after]) => before.test(text.slice(0, end)) && after.test(text.slice(end)))
      return [
        ...[...ours.difference(theirs)].filter(isFault(OURS)).map((end) => `only here: ${shown(end)}`),
        ...[...theirs.difference(ours)].filter(isFault(THEIRS)).map((end) => `only in Chromium: ${shown(end)}`),
      ]
    })
    expect(chromium.map(({ length }) => length > 0)).toEqual(CORPUS.map(() => true))
    expect(faults).toEqual([])
  })
})

describe('a line ends', () => {
  const [face] = defaultFaces()
  const font = openFont(readFileSync(face?.file ?? ''))

  test.for([45, 90, 160, 320])('only there, or within a word that is too wide, %i points wide', (width) => {
    const faults = CORPUS.flatMap(({ language, text }) => {
      const breaks = breakOpportunities(text)
      let start = 0
      return logicalLines(text, width).flatMap((line) => {
        const end = start + line.length
        let next = end
        while (text.charAt(next) === ' ') next += 1
        const isWord = !breaks.slice(start + 1, end).includes(1)
        const fault = breaks[next] === 1 || isWord ? [] : [`${language}: ${line}|${text.slice(end, end + 6)}`]
        start = next
        return fault
      })
    })
    expect(faults).toEqual([])
  })

  /** The lines in the order in which they are read. */
  function logicalLines(text: string, width: number): string[] {
    const lines: string[] = []
    const recorded = (options: LayoutOptions) => (paragraph: AttributedString, widths: number[]) => {
      const broken = steps.linebreaker(options)(paragraph, widths)
      lines.push(...broken.map(({ string: line }) => line))
      return broken
    }
    const attributes = { font: [font], fontSize: 9, align: 'left' } as unknown as Attributes
    const container = { x: 0, y: 0, width, height: Number.POSITIVE_INFINITY }
    // As react-pdf calls it where it sets a text.
    steps.default({ ...steps, linebreaker: recorded })(steps.fromFragments([{ string: text, attributes }]), container)
    return lines
  }
})

/** All places at which Chromium ends a line: those where it does in a box without any room. */
async function chromiumBreaks(): Promise<readonly (readonly number[])[]> {
  const executablePath = await findChromium({})
  if (executablePath === undefined) throw new Error('this test needs Chromium')
  const browser = await launch({ executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] })
  try {
    const page = await browser.newPage()
    return (await page.evaluate(`(${measureBreaks})(${JSON.stringify(CORPUS)})`)) as number[][]
  } finally {
    await browser.close()
  }
}

const measureBreaks = `(corpus) => corpus.map(({ language, text }) => {
  const box = document.createElement('div')
  box.lang = language
  box.style.cssText = 'width: 0; font: 16px sans-serif; white-space: pre-wrap'
  box.textContent = text
  document.body.append(box)
  const breaks = []
  let top = 0
  for (let at = 0; at < text.length; at += 1) {
    const range = document.createRange()
    range.setStart(box.firstChild, at)
    range.setEnd(box.firstChild, at + 1)
    const [letter] = range.getClientRects()
    if (letter === undefined) continue
    if (at > 0 && letter.top > top + 4) breaks.push(at)
    top = Math.max(top, letter.top)
  }
  box.remove()
  return breaks
})`

const WIDTHS = [45, 90, 160, 320]
const PADDING = 30
/** Letters may reach a little over their own width. */
const TOLERANCE = 1

describe('no letter is outside its box', () => {
  test.for(WIDTHS)('in react_pdf, %i points wide', async (width) => {
    const document = `${pageOf(width)}{data.texts.map((text, at) => <Text key={at} style={{ fontSize: 9 }}>{text}</Text>)}</Page>`
    const pdf = await render({ document, data: { texts: CORPUS.map(({ text }) => text) } })
    expect(outside(pdf, width)).toEqual([])
  })

  test.for(WIDTHS)('in html, %i points wide', async (width) => {
    const source = `<!doctype html><style>@page { size: ${width + 2 * PADDING}pt 800pt; margin: ${PADDING}pt } p { font: 9pt sans-serif; overflow-wrap: anywhere; margin: 0 }</style>
      {% for text in texts %}<p dir="auto">{{ text }}</p>{% endfor %}`
    const pdf = await html().render(htmlWork(source, { data: { texts: CORPUS.map(({ text }) => text) } }))
    expect(outside(pdf, width)).toEqual([])
  })
})

describe('in react_pdf', () => {
  test('a word that is too wide breaks, and the next column stays free', async () => {
    const document = `<Page size={[260, 200]} style={{ padding: 30 }}><View style={{ flexDirection: 'row' }}>
      <Text style={{ width: 100 }}>a.very.long.name.of.somebody@a-long-domain.example.com</Text>
      <Text>next</Text></View></Page>`
    const pdf = await render({ document })
    const next = wordsOf(pdf).find(({ text }) => text === 'next')
    expect(next?.left).toBeCloseTo(130, 0)
    expect(wordsOf(pdf).filter(({ text, right }) => text !== 'next' && right > 130 + TOLERANCE)).toEqual([])
  })

  test('a letter that its font draws in parts, as ำ of ํ and า, counts as one, and is copied', async () => {
    const text = 'ตามหนังสือที่อ้างถึง บริษัทได้รับคำสั่งพิมพ์หนังสือจำนวนมากบนกระดาษปลอดกรดน้ำหนัก 120 แกรม และจะนำส่งในเดือนมกราคม 2570'
    for (const first of ['จำ', 'ตา']) {
      const document = `${pageOf(90)}<Text>${first}</Text><Text style={{ fontSize: 9 }}>${text}</Text></Page>`
      const lines = inspect(await render({ document }), 'pdftotext', '-raw', 'FILE', '-')
        .trim()
        .split('\n')
      expect(solid(lines.join(''))).toBe(solid(first + text))
      const parts = Array.from(breakOpportunities(text), (kind, end) => (kind === 1 ? solid(text.slice(0, end)) : '-'))
      for (const at of lines.keys()) if (at > 0) expect(parts).toContain(solid(lines.slice(1, at + 1).join('')))
    }
  })

  test('overflowWrap: normal keeps it whole, on the page, a view or the text', async () => {
    const word = 'x'.repeat(40)
    const document = `<Page size={[260, 200]} style={{ padding: 30, fontSize: 6, overflowWrap: 'normal' }}>
      <View style={{ width: 60 }}><Text>${word}</Text></View>
      <View style={{ width: 60, overflowWrap: 'anywhere' }}><Text>y${word}</Text></View></Page>`
    const words = wordsOf(await render({ document })).map(({ text }) => text)
    expect(words).toContain(word)
    expect(words).not.toContain(`y${word}`)
  })

  test.for([
    ['by no dictionary unless asked', '', 'Rechnungsbetrag', 'de-DE', ['Rechnungsb', 'etrag']],
    ["by the template's language", "style={{ hyphens: 'auto' }}", 'Rechnungsbetrag', 'de-DE', ['Rechnungs-', 'betrag']],
    [
      'by a lang of its own',
      'lang="en" style={{ hyphens: \'auto\' }}',
      'representative',
      'de-DE',
      ['representa-', 'tive'],
    ],
    [
      'by no dictionary that there is not',
      "style={{ hyphens: 'auto' }}",
      'Rechnungsbetrag',
      'ja-JP',
      ['Rechnungsb', 'etrag'],
    ],
  ] as const)('words are hyphenated %s', async ([, props, word, locale, lines]) => {
    const document = `${narrowPageOf('manual')}<Text ${props}>${word}</Text></Page>`
    const words = wordsOf(await render({ document, template: { locale } })).map(({ text }) => text)
    expect(words).toEqual(lines)
  })

  test('views hand hyphens on to their texts, also to those made for each page', async () => {
    const document = `${narrowPageOf('auto')}
      <View render={() => <Text>Rechnungsbetrag</Text>} /></Page>`
    const words = wordsOf(await render({ document, template: { locale: 'de' } })).map(({ text }) => text)
    expect(words).toEqual(['Rechnungs-', 'betrag'])
  })

  test('a text that begins with a soft hyphen is printed', async () => {
    const words = wordsOf(await render({ document: `<Page><Text>{'\\u00ad\\u00adword'}</Text></Page>` }))
    expect(words.map(({ text }) => text)).toEqual(['word'])
  })
})

async function render(fields: WorkFields): Promise<Uint8Array> {
  return (await engine.render(aWork(fields), AbortSignal.timeout(DEADLINE_MS))).pdf
}

/** A text without blanks, its letters in their parts. */
function solid(text: string): string {
  return text.normalize('NFKD').replaceAll(/\s/g, '')
}

function pageOf(width: number): string {
  return `<Page size={[${width + 2 * PADDING}, 800]} style={{ padding: ${PADDING} }}>`
}

function narrowPageOf(hyphens: string): string {
  return `<Page size={[146, 200]} style={{ padding: 30, fontSize: 14, hyphens: '${hyphens}' }}>`
}

interface Word {
  readonly text: string
  readonly left: number
  readonly right: number
}

function wordsOf(pdf: Uint8Array): readonly Word[] {
  const words = inspect(pdf, 'pdftotext', '-bbox', 'FILE', '-').matchAll(
    /<word xMin="([-\d.]+)" yMin="[-\d.]+" xMax="([-\d.]+)"[^>]*>([^<]*)</g,
  )
  return Array.from(words, ([, left, right, text = '']) => ({ text, left: Number(left), right: Number(right) }))
}

function outside(pdf: Uint8Array, width: number): readonly Word[] {
  const words = wordsOf(pdf)
  expect(words.length).toBeGreaterThan(CORPUS.length)
  return words.filter(({ left, right }) => left < PADDING - TOLERANCE || right > PADDING + width + TOLERANCE)
}

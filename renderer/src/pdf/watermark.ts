/**
 * The sandbox watermark: a light diagonal TEST over every page, and the word TEST in the top margin as text that can be searched and
 * extracted. It is added to the finished PDF, after and above everything the template drew, so a template cannot prevent it. Its letters
 * are a Type 3 font that is drawn here: no font file, no subset, always embedded.
 */
import assert from 'node:assert/strict'
import { arrayOf, type Dictionary, dictionaryOf, referenceOf, write } from './syntax.ts'
import type { PdfUpdate } from './update.ts'

/** The word, and the only name we add to the resources of a page. */
const WORD = 'TEST'
const NAME = 'PlatenTest'

/** Puts the watermark on every page of the document. */
export function addWatermark(update: PdfUpdate): void {
  const catalog = update.read(update.root)
  const font = addFont(update)
  const before = update.add(new Map(), 'q')
  // Pages of one size share the drawings. Usually all pages have one size.
  const marks = new Map<string, string>()
  for (const { object, page, box } of pagesOf(update, catalog.get('Pages') ?? '')) {
    const mark = marks.get(box) ?? update.add(...drawing(box, font))
    marks.set(box, mark)
    // The Q ends whatever the page changed in its graphics state.
    const after = marks.get('after') ?? update.add(new Map(), `Q /${NAME} Do`)
    marks.set('after', after)
    update.replace(
      object,
      new Map([
        ...page,
        ['Contents', contentsOf(page, { before, after })],
        ['Resources', resourcesOf(update, page, mark)],
      ]),
    )
  }
}

interface FoundPage {
  readonly object: number
  /** Includes the resources that the page inherits. */
  readonly page: Dictionary
  /** The media box, as it was written. It may be inherited too. */
  readonly box: string
}

/** Attributes that a page can inherit from the page tree. */
const INHERITED = ['MediaBox', 'Resources']

function* pagesOf(update: PdfUpdate, reference: string, above: Dictionary = new Map()): Generator<FoundPage> {
  const object = referenceOf(reference)
  assert(object !== undefined, 'pages are objects')
  const own = update.read(object)
  const inherited = INHERITED.flatMap((key) => {
    const value = own.get(key) ?? above.get(key)
    return value === undefined ? [] : [[key, value] as const]
  })
  const kids = own.get('Kids')
  if (kids !== undefined) {
    for (const kid of arrayOf(kids)) yield* pagesOf(update, kid, new Map(inherited))
    return
  }
  const page = new Map([...own, ...inherited])
  yield { object, page, box: page.get('MediaBox') ?? '' }
}

function contentsOf(page: Dictionary, { before, after }: { before: string; after: string }): string {
  const contents = page.get('Contents') ?? '[]'
  const own = contents.startsWith('[') ? arrayOf(contents) : [contents]
  return `[${[before, ...own, after].join(' ')}]`
}

function resourcesOf(update: PdfUpdate, page: Dictionary, mark: string): string {
  const resources = update.dictionary(page.get('Resources') ?? '<<>>')
  const drawings = update.dictionary(resources.get('XObject') ?? '<<>>')
  return write(new Map([...resources, ['XObject', write(new Map([...drawings, [NAME, mark]]))]]))
}

/** Advance widths in thousandths of the font size. The letters are lines of width `STROKE`, at a capital height of 700. */
const LETTERS = {
  T: { width: 620, path: '30 645 m 590 645 l 310 645 m 310 0 l' },
  E: { width: 600, path: '570 645 m 115 645 l 115 55 l 575 55 l 115 355 m 530 355 l' },
  S: {
    width: 620,
    path: `540 545 m 500 615 415 645 310 645 c 185 645 95 590 95 500 c 95 405 190 378 310 352 c
440 323 535 290 535 190 c 535 100 430 55 310 55 c 195 55 105 95 75 170 c`,
  },
} as const
const STROKE = 110

type Letter = keyof typeof LETTERS
const SPELLED = ['T', 'E', 'S', 'T'] as const satisfies readonly Letter[]
const WORD_WIDTH = SPELLED.reduce((sum, letter) => sum + LETTERS[letter].width, 0)
const CAPITAL_HEIGHT = 700

/** The letters as a Type 3 font, whose glyphs are drawings. */
function addFont(update: PdfUpdate): string {
  const glyphs = Object.entries(LETTERS).map(([letter, { width, path }]) => {
    const content = `${width} 0 0 -60 ${width} ${CAPITAL_HEIGHT + 60} d1 ${STROKE} w ${path} S`
    return [letter, update.add(new Map(), content)] as const
  })
  const [first, last] = ['E', 'T'].map((letter) => letter.charCodeAt(0))
  const codes = Array.from({ length: (last ?? 0) - (first ?? 0) + 1 }, (_, at) =>
    String.fromCharCode((first ?? 0) + at),
  )
  const isLetter = (code: string): code is Letter => Object.hasOwn(LETTERS, code)
  return update.add(
    new Map([
      ['Type', '/Font'],
      ['Subtype', '/Type3'],
      ['FontBBox', `[0 -60 ${LETTERS.T.width} ${CAPITAL_HEIGHT + 60}]`],
      ['FontMatrix', '[0.001 0 0 0.001 0 0]'],
      ['CharProcs', write(new Map(glyphs))],
      [
        'Encoding',
        `<</Type /Encoding /Differences [${codes.flatMap((code) => (isLetter(code) ? [code.charCodeAt(0), `/${code}`] : [])).join(' ')}]>>`,
      ],
      ['FirstChar', `${first}`],
      ['LastChar', `${last}`],
      ['Widths', `[${codes.map((code) => (isLetter(code) ? LETTERS[code].width : 0)).join(' ')}]`],
      ['Resources', '<<>>'],
    ]),
  )
}

/** Points, on a page that is large enough. */
const LABEL_SIZE = 8
const LABEL_FROM_EDGE = 7

/** The form that is drawn on pages of one media box. */
function drawing(box: string, font: string): [Dictionary, string] {
  const [left = 0, bottom = 0, right = 0, top = 0] = arrayOf(box).map(Number)
  const page = { width: right - left, height: top - bottom }
  const content = [`1 0 0 1 ${left} ${bottom} cm`, diagonal(page), label(page)].join('\n')
  const resources = dictionaryOf(`<</Font <</Letters ${font}>> /ExtGState <</Sheer <</ca 0.22 /CA 0.22>>>>>>`)
  return [
    new Map([
      ['Type', '/XObject'],
      ['Subtype', '/Form'],
      ['BBox', box],
      ['Resources', write(resources)],
    ]),
    content,
  ]
}

interface Area {
  readonly width: number
  readonly height: number
}

/**
 * The word from corner to corner, in mid grey, so that it shows on white and on black. It is a drawing, because slanted text would be
 * extracted in pieces.
 */
function diagonal({ width, height }: Area): string {
  const length = Math.hypot(width, height)
  const [cos, sin] = [width / length, height / length]
  // The corners of the word must stay on the page, also on a very flat page.
  const scale = Math.min((0.62 * length) / WORD_WIDTH, (0.45 * Math.min(width, height)) / CAPITAL_HEIGHT)
  const turn = `${decimal(cos)} ${decimal(sin)} ${decimal(-sin)} ${decimal(cos)} ${decimal(width / 2)} ${decimal(height / 2)} cm`
  const place = `${decimal(scale)} 0 0 ${decimal(scale)} ${decimal((-WORD_WIDTH / 2) * scale)} ${decimal((-CAPITAL_HEIGHT / 2) * scale)} cm`
  const letters = SPELLED.map((letter) => `${LETTERS[letter].path} S 1 0 0 1 ${LETTERS[letter].width} 0 cm`)
  return `q /Sheer gs 0.5 G ${turn} ${place} ${STROKE} w ${letters.join(' ')} Q`
}

/** The word on a white rectangle, in the middle of the top margin. */
function label({ width, height }: Area): string {
  const size = Math.min(LABEL_SIZE, width / 6, height / 6)
  const [wordWidth, wordHeight] = [WORD_WIDTH, CAPITAL_HEIGHT].map((units) => (units * size) / 1000)
  const padding = size / 2
  const plate = { width: (wordWidth ?? 0) + 2 * padding, height: (wordHeight ?? 0) + 2 * padding }
  const x = (width - plate.width) / 2
  const y = height - Math.min(LABEL_FROM_EDGE, height / 10) - plate.height
  const rectangle = [x, y, plate.width, plate.height].map(decimal).join(' ')
  const word = `BT /Letters ${decimal(size)} Tf ${decimal(x + padding)} ${decimal(y + padding)} Td (${WORD}) Tj ET`
  return `q 1 g 0.6 G 0.5 w ${rectangle} re B Q q 0.3 g 0.3 G ${word} Q`
}

/** PDF has no exponents. */
function decimal(number: number): string {
  return `${Number(number.toFixed(5))}`
}

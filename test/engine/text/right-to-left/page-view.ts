/** What a reader of a PDF sees of a page: its words with their places, line by line, and its picture. */
import { execFileSync } from 'node:child_process'
import { inspect } from '../../html/html-fixture.ts'

/** A word as it is drawn, in points from the upper left corner. The letters of a Hebrew or Arabic word are in the order of reading. */
export interface Word {
  readonly text: string
  readonly left: number
  readonly right: number
  readonly top: number
}

/** The lines of each page, from top to bottom. The words of a line are ordered from left to right. */
export function linesOf(pdf: Uint8Array): readonly (readonly Word[])[][] {
  const pages = inspect(pdf, 'pdftotext', '-bbox', 'FILE', '-').split('<page ').slice(1)
  return pages.map((page) => {
    const words = page
      .matchAll(/<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)"[^>]*>([^<]*)</g)
      .map(([, left, top, right, text = '']) => ({
        text: isReversed(text) ? Array.from(text).reverse().join('') : text,
        left: Number(left),
        right: Number(right),
        top: Number(top),
      }))
      .toArray()
      .sort((one, other) => one.top - other.top)
    const lines: Word[][] = []
    for (const word of words) {
      const line = lines.at(-1)
      if (line?.[0] !== undefined && word.top - line[0].top < LINE_DISTANCE_PT) line.push(word)
      else lines.push([word])
    }
    return lines.map((line) => line.sort((one, other) => one.left - other.left))
  })
}

/** Words of one line may begin at slightly different heights, because of their fonts. */
const LINE_DISTANCE_PT = 4

/** pdftotext gives such words as they are drawn. */
function isReversed(text: string): boolean {
  return /[\p{Script=Hebrew}\p{Script=Arabic}]/u.test(text) && !/^[\p{Nd}\p{P}]+$/u.test(text)
}

/** The words of each line in the order in which they are drawn, from the right. */
export function fromTheRight(pdf: Uint8Array): readonly string[] {
  return linesOf(pdf).flatMap((page) =>
    page.map((line) =>
      line
        .toReversed()
        .map(({ text }) => text)
        .join(' '),
    ),
  )
}

export function wordOf(pdf: Uint8Array, text: string): Word {
  const word = linesOf(pdf)
    .flat(2)
    .find((candidate) => candidate.text === text)
  if (word === undefined) throw new Error(`there is no ${text} in ${fromTheRight(pdf).join('; ')}`)
  return word
}

/** A page as a grey picture, a byte a dot. With 36 dots an inch it is so coarse that lines of text are grey bands. */
export function pictureOf(pdf: Uint8Array, page: number, dotsPerInch = 36): Uint8Array {
  const pages = ['-f', `${page}`, '-l', `${page}`]
  // A header of three lines comes before the dots.
  const file = execFileSync('pdftoppm', ['-r', `${dotsPerInch}`, '-gray', ...pages, '-'], { input: pdf })
  const header = /^P5\s+\d+ \d+\s+\d+\s/.exec(file.subarray(0, 30).toString('latin1'))?.[0].length ?? 0
  return file.subarray(header)
}

/** Which part of the dots of two pictures differ clearly. */
export function differenceOf(one: Uint8Array, other: Uint8Array): number {
  if (one.length !== other.length) return 1
  return one.filter((dot, at) => Math.abs(dot - (other[at] ?? 0)) > 50).length / one.length
}

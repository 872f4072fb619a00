/** Finds the numbers with a unit in what people wrote in a document. */
import { listFiles, readText } from '../architecture/source-tree.ts'

/** Decisions and the changelog say what was true when they were written. */
const HISTORY = /^(docs\/decisions\/|CHANGELOG\.md$)/

/** Documents about the product; others are about the tests. */
const DOCUMENT = /^(docs\/[^/]+|README|SECURITY|CONTRIBUTING|charts\/platen\/README|client\/README)\.md$/

const NUMBER =
  '(?:half an?|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|sixteen|twenty|thirty|forty|fifty|\\d+(?:[.,]\\d+)*)'
const TIME = '(?:ms|s|min|milliseconds?|seconds?|minutes?|hours?|days?|weeks?|months?|years?)'
const SIZE = '(?:bytes?|[KMGT]i?B|%|percent|characters?|points?|pixels?|levels?)'
const COUNT = '(?:times|retries|attempts|partitions|calls|connections|renders|spans|members|dialogs|secrets)'

/** `10 MiB`, `ten seconds`, `45 more days`; `a day`, but no rate (`300 a day`); `within a second`, but not `a second time`. */
const WITH_UNIT = new RegExp(
  [
    `(?<![\\w.\`-])${NUMBER}(?: |-|(?=%))(?:more )?(?:${TIME}|${SIZE}|${COUNT})(?![\\w-])`,
    '(?<![\\d] )\\b(?:an hour|(?:a|one) (?:day|week|month))(?![\\w-])',
    '(?<=\\b(?:within|after|for|every|once|than|least|until|over|most|little|gives it) )(?:a|one) (?:second|minute)\\b(?! time)',
  ].join('|'),
  'gi',
)

export interface Found {
  readonly place: string
  readonly start: number
  readonly end: number
  /** The number amid its sentence, for people. */
  readonly shown: string
}

/** A document in small letters, without what a generator wrote and without code. What is left out keeps its lines. */
export interface Document {
  readonly path: string
  readonly text: string
}

export function documents(): readonly Document[] {
  const paths = listFiles().filter((path) => DOCUMENT.test(path) && !HISTORY.test(path) && !isGenerated(path))
  return paths.map((path) => ({ path, text: written(path).toLowerCase() }))
}

/** The whole of it, by test/docs.test.ts. */
function isGenerated(path: string): boolean {
  return path === 'docs/errors.md'
}

function written(path: string): string {
  const blank = (text: string) => text.replaceAll(/[^\n]/g, '')
  const text = readText(path)
    .replaceAll(/<!-- ([\w-]+): written[^]*?<!-- end of \1 -->/g, blank)
    .replaceAll(/^```[^]*?^```/gm, blank)
  // A row for each field, which test/resources.test.ts holds against the schemas.
  return path === 'docs/resources.md' ? text.replaceAll(/^\| `[\w.]+`.*\|$/gm, blank) : text
}

export function numbersIn({ path, text }: Document): readonly Found[] {
  return [...text.matchAll(WITH_UNIT)].map(({ index: start, 0: number }) => {
    const end = start + number.length
    const line = text.slice(0, start).split('\n').length
    const shown = `${text.slice(Math.max(0, start - 40), start)}«${number}»${text.slice(end, end + 25)}`
    return { place: `${path}:${line}`, start, end, shown: shown.replaceAll('\n', ' ') }
  })
}

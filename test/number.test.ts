/**
 * Numbers in documents are those of the code.
 *
 * `OF_…` are phrases of the documents whose numbers come from constants. If a constant changes, its phrase is in no document any more, and
 * the old number is held by nobody: both fail. `LISTED` are phrases whose numbers come from measurements, standards or other systems. So a
 * new number with a unit is either held by a constant, or is listed by somebody who looked for one.
 */
import { describe, expect, test } from 'vitest'
import { OF_ALERTS } from './number/alert.ts'
import { OF_CLUSTERS } from './number/cluster.ts'
import { type Document, documents, numbersIn } from './number/found.ts'
import { LISTED, LISTED_SECTIONS } from './number/listed.ts'
import { OF_RENDERS } from './number/render.ts'
import { OF_REQUESTS } from './number/request.ts'

const HELD = [...OF_REQUESTS, ...OF_RENDERS, ...OF_CLUSTERS, ...OF_ALERTS]
/** Letters around a number that say what it is of. A phrase with fewer would hold every such number. */
const LETTERS_MIN = 8

const all = documents()

describe('a phrase', () => {
  test.for([...new Set([...HELD, ...LISTED])])('is in a document: %s', (phrase) => {
    expect(all.filter(({ text }) => text.includes(phrase.toLowerCase())).length).toBeGreaterThan(0)
  })

  test('says what its number is of', () => {
    const lettersOf = (phrase: string) => phrase.replaceAll(/[\d.,\s]|\b(seconds?|minutes?|hours?|days?)\b/g, '').length
    expect([...HELD, ...LISTED].filter((phrase) => lettersOf(phrase) < LETTERS_MIN)).toEqual([])
  })

  test('is held or listed, but not both', () => {
    expect(LISTED.filter((phrase) => HELD.includes(phrase))).toEqual([])
  })
})

test('every number with a unit is held by a constant in test/number, or is listed there', () => {
  const phrases = [...HELD, ...LISTED].map((phrase) => phrase.toLowerCase())
  const loose = all.flatMap((document) => {
    const covered = [...phrases.flatMap((phrase) => rangesOf(phrase, document)), ...listedSectionsOf(document)]
    return numbersIn(document).filter(
      (found) => !covered.some(({ start, end }) => start <= found.start && found.end <= end),
    )
  })
  // As one text, of which a failure shows every line.
  expect(loose.map(({ place, shown }) => `${place}: ${shown}`).join('\n')).toBe('')
})

test.for(LISTED_SECTIONS)('$path has the section $heading', ({ path, heading }) => {
  const sections = all.filter((document) => document.path === path).flatMap(listedSectionsOf)
  expect(sections.map((section) => section.heading)).toContain(heading)
})

interface Range {
  readonly start: number
  readonly end: number
}

function listedSectionsOf({ path, text }: Document): readonly (Range & { readonly heading: string })[] {
  return LISTED_SECTIONS.filter((section) => section.path === path).flatMap(({ heading }) => {
    const start = text.indexOf(`\n${heading.toLowerCase()}\n`)
    const next = text.indexOf('\n## ', start + 1)
    return start === -1 ? [] : [{ heading, start, end: next === -1 ? text.length : next }]
  })
}

function rangesOf(phrase: string, { text }: Document): readonly Range[] {
  const ranges: Range[] = []
  for (let start = text.indexOf(phrase); start !== -1; start = text.indexOf(phrase, start + 1))
    ranges.push({ start, end: start + phrase.length })
  return ranges
}

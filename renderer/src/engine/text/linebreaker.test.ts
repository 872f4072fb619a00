import { readFileSync } from 'node:fs'
import layoutEngine, * as textkit from '@react-pdf/textkit'
import { array, assert, constantFrom, integer, oneof, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaultFaces } from '../../template/asset/font/default-fonts.ts'
import { openFont } from '../../template/asset/font/font-file.ts'
import { type WrappingStyle, wrappingOf } from '../../template/wrapping.ts'
import { linebreaker } from './linebreaker.ts'
import * as steps from './textkit.ts'

const [face] = defaultFaces()
const font = openFont(readFileSync(face?.file ?? ''))
/** DejaVu Sans at this size has letters of some six points. */
const SIZE = 10

interface TextStyle extends WrappingStyle {
  readonly width: number
  readonly align?: 'left' | 'justify'
  readonly direction?: 'ltr' | 'rtl'
  readonly size?: number
}

/** Sets a text with react-pdf's own steps and the given line breaker. */
function linesBy(breaker: typeof textkit.linebreaker, text: string, style: TextStyle): textkit.AttributedString[] {
  const { width, align = 'left', direction = 'ltr', size = SIZE } = style
  const layout = layoutEngine({ ...steps, linebreaker: breaker })
  const attributes = { font: [font], fontSize: size, align, direction } as unknown as textkit.Attributes
  const container = { x: 0, y: 0, width, height: Number.POSITIVE_INFINITY }
  const options = { hyphenationCallback: wrappingOf(style), shrinkWhitespaceFactor: { before: -0.5, after: -0.5 } }
  return layout(textkit.fromFragments([{ string: text, attributes }]), container, options as never).flat()
}

function linesOf(text: string, style: TextStyle): string[] {
  return linesBy(linebreaker as never, text, style).map(({ string: line }) => line)
}

/** How far a line reaches, without the blanks at its ends. */
function widthOf({ runs, overflowLeft = 0, overflowRight = 0 }: textkit.AttributedString): number {
  const advances = runs.flatMap(({ positions = [] }) => positions.map(({ xAdvance }) => xAdvance))
  return advances.reduce((sum, advance) => sum + advance, 0) - overflowLeft - overflowRight
}

describe('lines end', () => {
  test.for<[string, string, TextStyle, string[]]>([
    ['between words', 'three short words', { width: 40 }, ['three', 'short', 'words']],
    ['after hyphens, without another one', 'Umsatzsteuer-Nummer', { width: 80 }, ['Umsatzsteuer-', 'Nummer']],
    ['after slashes', 'https://example.com/invoices', { width: 90 }, ['https://', 'example.com/', 'invoices']],
    ['at a zero width space', 'zerowidth\u200bspacehere', { width: 60 }, ['zerowidth', 'spacehere']],
    ['at a soft hyphen, which is shown', 'soft\u00adhyphen', { width: 45 }, ['soft-', 'hyphen']],
    ['not at a soft hyphen that is off', 'soft\u00adhyphen', { width: 45, hyphens: 'none' }, ['softhyph', 'en']],
    ['at no hyphen of a dictionary unless asked', 'hyphenation', { width: 45, language: 'en' }, ['hyphena', 'tion']],
    ['where a dictionary says', 'hyphenation', { width: 45, language: 'en', hyphens: 'auto' }, ['hyphen-', 'ation']],
    ['within a word that is too long', '12345678901234', { width: 32 }, ['12345', '67890', '1234']],
    ['before a word that is too long', 'to 12345678', { width: 32 }, ['to', '12345', '678']],
    ['not within such a word if off', '12345678', { width: 32, overflowWrap: 'normal' }, ['12345678']],
    ['within a ligature', 'ffiffi', { width: 7 }, ['ff', 'if', 'fi']],
    ['at line feeds', 'one\n\ntwo\n', { width: 90 }, ['one', '', 'two']],
    ['before letters that are whole', 'e\u0301e\u0301e\u0301', { width: 7 }, ['e\u0301', 'e\u0301', 'e\u0301']],
  ])('%s', ([, text, style, lines]) => {
    expect(linesOf(text, style).map((line) => line.trimEnd())).toEqual(lines)
  })

  test('without a hyphen that nobody asked for, where a text changes within a word', () => {
    const attributes = { font: [font], fontSize: SIZE, align: 'left' } as unknown as textkit.Attributes
    const parts = textkit.fromFragments(['inter', 'national', ' orders'].map((part) => ({ string: part, attributes })))
    const layout = layoutEngine(steps)
    const container = { x: 0, y: 0, width: 80, height: Number.POSITIVE_INFINITY }
    const lines = layout(parts, container, { hyphenationCallback: wrappingOf({}) as never }).flat()
    expect(lines.map(({ string: line }) => line)).toEqual(['international', 'orders'])
  })
})

describe('blanks', () => {
  test('hang over the end of a line, and begin none', () => {
    const lines = linesOf('one        two   \u3000 three', { width: 25 })
    expect(lines).toEqual(['one', 'two', 'thre', 'e'])
  })

  test('are kept at the start and the end of a paragraph', () => {
    expect(linesOf('  one two ', { width: 30 })).toEqual(['  one', 'two '])
  })
})

describe('right to left', () => {
  test('brackets stay with the words they hold', () => {
    // The lines are in the order of their letters on paper.
    const lines = linesOf('שלום (עולם) שלום (עולם)', { width: 45, direction: 'rtl', align: 'left' })
    expect(lines).toEqual(['םולש', '(םלוע)', 'םולש', '(םלוע)'])
  })
})

test('plain words are set as react-pdf alone sets them', () => {
  const word = string({ unit: constantFrom('a', 'e', 'i', 'm', 'n', 'o', 'r', 't', 'l'), minLength: 1, maxLength: 9 })
  const text = array(word, { minLength: 2, maxLength: 40 }).map((words) => words.join(' '))
  assert(
    property(text, integer({ min: 110, max: 400 }), constantFrom('left', 'justify'), (plain, width, align) => {
      const [ours, theirs] = [linebreaker as never, textkit.linebreaker].map((breaker) =>
        linesBy(breaker, plain, { width, align }).map(({ string: line }) => line.trim()),
      )
      expect(ours).toEqual(theirs)
    }),
    // A line that fits, and does not with the blank after it.
    { numRuns: 300, examples: [['aaaaaaama aarmaaaa tmmarl ri m a', 111, 'left']] },
  )
})

describe('any text', () => {
  const unit = oneof(
    constantFrom('a', 'W', '-', '/', '.', '(', ')', '«', '»'),
    constantFrom(' ', ' ', '\u00ad', '\u200b', '\u0301', '\u202e', '\u2069', '\ud800', '\t', '\u3000', '\u00a0'),
    constantFrom('ffi', '日', '、', 'ไทย', 'שלום', '(', 'عربي', '👍🏽', '각', '\u{20000}'),
  )

  test('is set whole, in lines that have letters and stay in their boxes', () => {
    assert(
      property(string({ unit, minLength: 1, maxLength: 60 }), integer({ min: 14, max: 120 }), (text, width) => {
        const lines = linesBy(linebreaker, text, { width })
        expect(lettersOf(lines.map(({ string: line }) => line).join(''))).toEqual(lettersOf(text))
        for (const line of lines) expect(overhang(line, width)).toBeLessThan(0.5)
        if (text.trim() !== '') expect(lines.slice(0, -1).filter(({ string: line }) => line === '')).toEqual([])
      }),
      { numRuns: 500 },
    )
  })

  /** In no order, as lines are in that of paper. Brackets may be mirrored, and hyphens added. */
  function lettersOf(text: string): string[] {
    return Array.from(text.replaceAll(/[\s\u00ad\u200b-]/gu, '').replaceAll(/[()«»]/g, '|')).toSorted()
  }

  /** How far a line reaches over its box, if it could be shorter. */
  function overhang(line: textkit.AttributedString, width: number): number {
    return breaks(line.string.trim()) > 1 ? widthOf(line) - width : 0
  }

  function breaks(text: string): number {
    return [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].length
  }
})

import { assert, constantFrom, oneof, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { breakOpportunities } from './opportunities.ts'

/** The parts of a text between the places where a line may end. */
function partsOf(text: string): readonly string[] {
  const breaks = breakOpportunities(text)
  const ends = [...breaks.keys()].filter((at) => breaks[at] === 1)
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end))
}

/** A bar marks each place. */
const cases: readonly (readonly [rule: string, text: string])[] = [
  ['LB7, LB18: after blanks, and not before them', 'one  |two|'],
  ['LB8: after a zero width space', 'zero\u200b|width|'],
  ['LB8a: not in a family of emoji', '👨‍👩‍👧|👨‍👩‍👧|'],
  ['LB9: not before combining marks', 'e\u0301\u0302 |e|'],
  ['LB11: not beside a word joiner', 'a-\u2060b|'],
  ['LB12: not beside a no-break space', '10\u00a0km |away|'],
  ['LB13: not before what closes, even after blanks', 'Combien ? |Rien ! |(a )|'],
  ['LB14: not after what opens, even before blanks', 'see |( this)|'],
  ['LB15: not between guillemets and what they hold', 'dit |« oui » |et|'],
  ['LB15c: before a number that begins with a point', 'costs |.50 |each , |so|'],
  ['LB16, LB17: not between dashes', 'so |——|yes|'],
  ['LB19: not beside quotation marks', 'the |"word" |here|'],
  ['LB19a: but beside those of Chinese', '他|说|“你|好”|了|'],
  ['LB20a: not after a hyphen that begins a word', 'option |-v |or |-v|'],
  ['LB21: after a hyphen within a word', 'Umsatz-|steuer-|nummer|'],
  ['LB21a: not between a hyphen of Hebrew and other letters', 'בית-x |בית-|ספר|'],
  ['LB21b, LB13: after a slash, and not before it', 'and/|or/|not|'],
  ['LB22: not before an ellipsis', '待っ|て…|'],
  ['LB23, LB24: not between letters and numbers', 'A4 |$USD |5kg|'],
  ['LB25: not within numbers', '-1.234,56 |€ |(12) |10/12/2026 |50% |$(3)|'],
  ['LB26: not within a syllable of Korean', '각|각|한|글|'],
  ['LB28a: not within a syllable of Javanese', 'ꦏꦁ|'],
  ['LB30: not between letters and brackets', 'f(x) |or |(s)he|'],
  ['LB30a: only between whole flags', '🇩🇪|🇫🇷|'],
  ['LB30b: not before the tone of a skin', '👍🏽|👍🏽|'],
  ['LB31: between ideographs', '請|求|書|'],
  ['no line begins with a small kana or a long vowel', 'ちょっ|と|コー|ヒー|'],
  ['no line begins or ends with the wrong bracket', '「日|本」|は、|国。|'],
  ['words of Thai', 'ใบ|แจ้ง|หนี้|สำหรับ|ลูกค้า|'],
  ['words of Lao', 'ລາຄາ|ທັງໝົດ|'],
  ['words of Khmer', 'វិក្កយបត្រ|សម្រាប់|អតិថិជន|'],
  ['words of Burmese', 'ငွေ|တောင်းခံ|လွှာ|'],
  ['addresses of the web', 'https://|example.com/|a/|b?|x=1&y=2|'],
  ['an e-mail address has no such place', 'a.long.name@example.com|'],
]

test.for(cases)('%s', ([, marked]) => {
  expect(`${partsOf(marked.replaceAll('|', '')).join('|')}|`).toBe(marked)
})

describe('the short way for plain western text', () => {
  test('finds what the rules find', () => {
    const unit = oneof(constantFrom(' ', '.', ',', ':', "'", '"', '1', 'a', 'É', 'ȣ'))
    assert(
      property(string({ unit, maxLength: 20 }), (text) => {
        // Another character at the end keeps the text from the short way. Its own place is left out.
        const slow = breakOpportunities(`${text}x-`).slice(0, text.length)
        expect(breakOpportunities(`${text}x`).slice(0, text.length)).toEqual(slow)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('hostile text', () => {
  test.for([
    ['a lone surrogate', '\ud800 \udc00\ud800'],
    ['only marks', '\u0301\u0301'],
    ['only joiners', '\u200d\u200d'],
    ['unassigned and private characters', '\u{e000}\u{10ffff}\u0378'],
    ['controls', '\u0000\u0007\u009f'],
    ['unbalanced directions', '\u202e\u2067a b\u2069\u2069'],
    ['nothing', ''],
  ])('ends: %s', ([, text = '']) => {
    expect(partsOf(text).join('')).toBe(text)
  })
})

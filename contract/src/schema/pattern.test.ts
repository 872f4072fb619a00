import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compilePattern } from './pattern.ts'

describe('a pattern', () => {
  test.for<[pattern: string, matches: string, not: string]>([
    ['^[a-z]{2}(-[A-Z]{2})?$', 'en-IE', 'en-ie'],
    ['b', 'abc', 'ac'],
    ['^$', '', '\n'],
    ['^.$', 'é', '\u2028'],
    ['^.$', '😀', '\r'],
    ['^\\s$', '\u00a0', 'x'],
    ['^[\\s]$', '\ufeff', '\u200b'],
    ['^\\S$', '\u200b', '\u3000'],
    ['^[^\\S]$', '\u3000', 'x'],
    ['^[\\u0000-\\u001f]$', '\u0007', ' '],
    ['^\\ud83d\\ude00$', '😀', '\ud83d'],
    ['^[\\ud83d\\ude00a]$', '😀', 'b'],
    ['^\\u{1F600}$', '😀', '😁'],
    ['^\\cJ[\\cJ\\b]$', '\n\b', 'J'],
    ['^\\p{L}+$', 'Żółć', 'a1'],
    ['^\\p{Script=Greek}$', 'λ', 'l'],
    ['^[\\p{sc=Cyrillic}\\P{L}]$', 'я', 'z'],
    ['^\\p{gc=Lu}$', 'Ż', 'ż'],
    ['^[[\\]&&]$', '&', 'a'],
    ['^(?<year>\\d{4})$', '2026', '٢٠٢٦'],
    ['a[]|b', 'b', 'a'],
    ['^[^]$', '\n', ''],
    ['^a\\/b\\.c[\\-x]$', 'a/b.c-', 'a/bcc-'],
    ['\\x41\\v?\\0', 'A\0', 'A'],
    ['\\bé', 'aé', 'éé'],
  ])('%s matches %j and not %j, as in JavaScript', ([pattern, matches, not]) => {
    const { test } = compilePattern(pattern)
    const regExp = new RegExp(pattern, 'u')
    expect([test(matches), test(not)]).toEqual([true, false])
    expect([regExp.test(matches), regExp.test(not)]).toEqual([true, false])
  })

  test.for(['(?=a)b', 'a(?!b)', '(?<=a)b', '(?<!a)b', '(a)\\1', '(?<n>a)\\k<n>'])(
    '%s is refused, as no engine matches it in linear time',
    (pattern) => {
      expect(() => compilePattern(pattern)).toThrow(
        `the pattern ${JSON.stringify(pattern)} is not taken: look-around and back-references`,
      )
    },
  )

  test.for([
    ['(?:.{1000}){1000}', 'invalid repeat count'],
    [`(?:${'\\d{900}|'.repeat(3)}.{900}z)`, 'is too large'],
    ['\\p{ASCII_Hex_Digit}x{1001}', 'is not taken'],
  ] as const)('%s is refused: %s', ([pattern, reason]) => {
    expect(() => compilePattern(pattern)).toThrow(reason)
  })

  test('of any length is quoted in part', () => {
    const refuse = () => compilePattern(`(?=${'a'.repeat(100_000)})`)
    expect(refuse).toThrow(/^.{100,200}$/)
  })
})

test('a pattern of the common ground says the same as in JavaScript of any text', () => {
  const atom = fc.constantFrom(
    'a',
    'b',
    '.',
    '\\s',
    '\\S',
    '\\d',
    '\\w',
    '[ab]',
    '[^a\\s]',
    '[\\S\\n]',
    '\\u00e9',
    '^',
    '$',
    '\\b',
  )
  const repeated = fc
    .tuple(atom, fc.constantFrom('', '', '*', '+', '?', '{1,2}'))
    .map(([one, times]) => (/^(\^|\$|\\b)$/.test(one) ? one : one + times))
  const sequence = fc.array(repeated, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''))
  const pattern = fc.array(sequence, { minLength: 1, maxLength: 3 }).map((options) => `(?:${options.join('|')})`)
  const text = fc.string({
    unit: fc.constantFrom('a', 'b', '1', ' ', '\n', '\u00a0', '\u2028', 'é', '😀', '\ud83d'),
    maxLength: 8,
  })
  fc.assert(
    fc.property(pattern, text, (source, value) => {
      expect(compilePattern(source).test(value)).toBe(new RegExp(source, 'u').test(value))
    }),
    { numRuns: 500 },
  )
})

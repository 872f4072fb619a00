import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compilePattern, weightOfPattern } from './pattern.ts'

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
        `the pattern ${JSON.stringify(pattern)} is not accepted: look-around and back-references`,
      )
    },
  )

  test.for([
    ['(?:.{1000}){1000}', 'invalid repeat count'],
    [`(?:${'\\d{900}|'.repeat(3)}.{900}z)`, 'is too large'],
    ['\\p{ASCII_Hex_Digit}x{1001}', 'is not accepted'],
    ['(?i:a)', 'no group has flags of its own'],
    ['(?-i:a)', 'no group has flags of its own'],
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

test.for<[pattern: string, instructions: number]>([
  ['', 0],
  ['^[a-z]{2}$', 4],
  ['a{1000}', 1000],
  ['(?:a{30}b){30}', 930],
  ['(a{0,1000}|b)+', 1001],
  ['(?<name>[)\\]]{7,})\\){9}', 16],
  [`(?:${'a{9}'.repeat(100)}){10}`, 9000],
  ['(?:((){0,9}){0,9}){2,}', 704],
  [`(?:a|${'(b|'.repeat(100)}c${')'.repeat(100)}){100}`, 20_000],
])('%s weighs at least its %i instructions, and not many times them', ([pattern, instructions]) => {
  const weight = weightOfPattern(pattern)
  expect(weight).toBeGreaterThanOrEqual(instructions / 32)
  expect(weight).toBeLessThan(4 + instructions / 12)
})

test('a pattern weighs no less than what becomes of it', () => {
  const { pattern } = fc.letrec<{ pattern: string; part: string }>((tie) => ({
    part: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('a', '.', '\\d', '\\(', '[(){9}\\]]', '\\u{1F600}', '\\p{Lu}', '^', 'é'),
      tie('pattern').map((inner) => `(?:${inner})`),
      tie('pattern').map((inner) => `(${inner})`),
    ),
    pattern: fc
      .array(fc.tuple(tie('part'), fc.constantFrom('', '*', '+?', '{3}', '{0,9}', '{2,}', '|')), { maxLength: 4 })
      .map((parts) => parts.map(([part, times]) => (part === '^' ? part : part + times)).join('')),
  }))
  // Instructions of RE2 itself: one at the start, one at the end, and one to skip to the match.
  const own = 3
  fc.assert(
    fc.property(pattern, (source) => {
      fc.pre(weightOfPattern(source) < 30)
      expect(weightOfPattern(source)).toBeGreaterThanOrEqual((compilePattern(source).stepsFor(16) - own) / 32)
    }),
  )
})

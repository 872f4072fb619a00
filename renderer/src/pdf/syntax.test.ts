import { describe, expect, test } from 'vitest'
import { arrayOf, dictionaryOf, referenceOf, textString, write } from './syntax.ts'

describe('a dictionary', () => {
  test.for([
    ['a number and a name', '<</Size 44 /Type /Page>>', { Size: '44', Type: '/Page' }],
    [
      'values that touch',
      '<</A/B/C[1 2]/D<</E 1>>/F(x)/G<00>>>',
      { A: '/B', C: '[1 2]', D: '<</E 1>>', F: '(x)', G: '<00>' },
    ],
    ['references among numbers', '<<\n/A 12 0 R\n/B 12\n/C 0 /D 1 0 R>>', { A: '12 0 R', B: '12', C: '0', D: '1 0 R' }],
    [
      'a string with parentheses, escapes and delimiters',
      '<</A (a(b)\\) >> /B 1) /B 2>>',
      { A: '(a(b)\\) >> /B 1)', B: '2' },
    ],
    ['a string that ends in a backslash', '<</A (a\\\\) /B 2>>', { A: '(a\\\\)', B: '2' }],
    [
      'a string of UTF-16 bytes',
      '<</A (\u00fe\u00ff\u0000a\u0001>) /B 2>>',
      { A: '(\u00fe\u00ff\u0000a\u0001>)', B: '2' },
    ],
    ['nested arrays', '<</A [[1 0 R] (]) <</B [1]>>] /C null>>', { A: '[[1 0 R] (]) <</B [1]>>]', C: 'null' }],
    ['nothing', '<< >>', {}],
  ] as const)('with %s is read as it was written', ([, source, entries]) => {
    expect(Object.fromEntries(dictionaryOf(source))).toEqual(entries)
  })

  test('is written as it is read', () => {
    const entries = { A: '12 0 R', B: '<</C (x)>>', D: '[1 2]' }
    expect(Object.fromEntries(dictionaryOf(write(new Map(Object.entries(entries)))))).toEqual(entries)
  })

  test.for(['', '(text)', '<</A>>', '<</A 1', '<</A (x>>'])('is not what %s is', (source) => {
    expect(() => dictionaryOf(source)).toThrow()
  })
})

test('an array has its elements, references whole', () => {
  expect(arrayOf('[ 1 0 R 2 0 R(a b)/C <</D [1]>>]')).toEqual(['1 0 R', '2 0 R', '(a b)', '/C', '<</D [1]>>'])
  expect(arrayOf('[]')).toEqual([])
})

test('a reference names an object, and nothing else does', () => {
  expect(['12 0 R', '12', '/R', '12 0 RG', '[12 0 R]'].map(referenceOf)).toEqual([
    12,
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})

test('a text is UTF-16 with its mark, surrogates and all', () => {
  expect(textString('é😀)')).toBe('<FEFF00E9D83DDE000029>')
})

import { describe, expect, test } from 'vitest'
import { documentAt, splitText } from './yaml-text.ts'

const open = (text: string, line?: number) => documentAt(splitText(text), line)

describe('a document of a file', () => {
  const text = 'a: 1\n---\n# two\nb:\n  - x: 1\n  - y/z: {q: 2}\n---\nc: 3\n'

  test('is found by the line it begins at, and has its own part of the text', () => {
    expect(open(text, 4)).toMatchObject({ firstLine: 2, text: '---\n# two\nb:\n  - x: 1\n  - y/z: {q: 2}\n' })
    expect(open(text)).toMatchObject({ firstLine: 1, text: 'a: 1\n' })
    expect(open(text, 3)).toBeUndefined()
    expect(open('')).toBeUndefined()
  })

  test.for([
    ['', 4, 1],
    ['/b', 5, 3],
    ['/b/0/x', 5, 8],
    ['/b/1/y~1z/q', 6, 14],
    ['/b/1/y~1z/none', 6, 10],
    ['/b/7', 5, 3],
    ['/none/of/it', 4, 1],
  ] as const)('has %j, or what is around it, at line %i, column %i', ([pointer, line, column]) => {
    expect(open(text, 4)?.positionOf(pointer)).toEqual({ line, column })
  })

  test('is looked into where an alias leads', () => {
    expect(open('a: &a {b: 1}\nc: *a\n')?.positionOf('/c/b')).toEqual({ line: 1, column: 11 })
    expect(open('a: &a [*a]\n')?.positionOf('/a/0/0/0')).toEqual({ line: 1, column: 8 })
  })
})

describe('a place inside a text', () => {
  const inside = (text: string, line: number, column: number) => open(text)?.positionInside('/a', { line, column })

  test.for([
    ['a literal block', 'a: |\n  one\n    two\n', 2, 3, { line: 3, column: 5 }],
    ['a block with an indentation of its own', 'a: |4-\n      one\n    two', 1, 3, { line: 2, column: 7 }],
    [
      'a block under a comment, with a tag and an anchor',
      'a: !!str &x |+ # why\n\n  one\n',
      2,
      1,
      { line: 3, column: 3 },
    ],
    ['a block with Windows’ line ends', 'a: |\r\n  one\r\n  two\r\n', 2, 2, { line: 3, column: 4 }],
    ['the empty line that ends a block', 'a: |+\n  one\n\n', 2, 1, { line: 3, column: 1 }],
    ['an alias of a block', 'b: &b |\n  one\na: *b\n', 1, 1, { line: 2, column: 3 }],
  ] as const)('of %s is known', ([, text, line, column, position]) => {
    expect(inside(text, line, column)).toEqual(position)
  })

  test.for([
    ['a folded block', 'a: >\n  one\n  two\n', 1],
    ['quotes', 'a: "one\\ntwo"\n', 2],
    ['a plain text', 'a: one\n', 1],
    ['a number', 'a: 1\n', 1],
    ['a list', 'a: [one]\n', 1],
    ['nothing', 'b: 1\n', 1],
    ['a block that has just ended', 'a: |\n  one\nb: 1\n', 2],
    ['a block that has fewer lines', 'a: |\n  one\nb: 1\n', 3],
  ] as const)('of %s is not', ([, text, line]) => {
    expect(inside(text, line, 1)).toBeUndefined()
  })
})

test('three dashes begin a document at the start of a line alone', () => {
  expect(splitText('a: |\n  ---\n---\nb: 1\n---x\n').map(({ linesBefore }) => linesBefore)).toEqual([0, 2])
})

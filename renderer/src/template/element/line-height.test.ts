import { expect, test } from 'vitest'
import { lineHeightOf } from './line-height.ts'

test.for([
  ['a factor of the font size beside it', { lineHeight: 1.5, fontSize: 10 }, '15pt'],
  ['a factor as a text', { lineHeight: '1.5', fontSize: '1in' }, '108pt'],
  ['a percentage', { lineHeight: '150%', fontSize: '10pt' }, '15pt'],
  ['a factor of the font size that stands for none', { lineHeight: 2 }, '36pt'],
  ['a length as it is', { lineHeight: '20pt', fontSize: 10 }, '20pt'],
  ['nothing of nothing', { fontSize: 10 }, undefined],
  ['nothing where the font size is of the page', { lineHeight: 1.5, fontSize: '2rem' }, undefined],
] as const)('means %s', ([, style, height]) => {
  expect(lineHeightOf(style)).toBe(height)
})

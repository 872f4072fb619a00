import type { Json } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { styleFault } from './style-form.ts'

describe('a style takes', () => {
  test.for<[name: string, ...values: Json[]]>([
    ['color', 'red', '#f00', 'rgba(0, 0, 0, .5)'],
    ['width', 10, -1, '10', '.5in', '3.5mm', '50%', 'auto', 'calc(100% - 3px)'],
    ['gap', 4, '4', '1mm 2%'],
    ['borderRadius', 3, '2mm'],
    ['borderTopLeftRadius', '20%'],
    ['fontWeight', 700, '700', 'bold', 'UltraLight'],
    ['transformOrigin', 'top left', '50% 10', 5],
    ['transform', 'rotate(45deg)', 'scale(2,3) skewX( 5 )', [{ operation: 'rotate', value: [15, 0, 0] }], []],
    ['opacity', 0.5, '.5'],
    ['alignItems', 'whatever react-pdf forgives'],
  ])('as %s what react-pdf can use', ([name, ...values]) => {
    expect(values.filter((value) => styleFault(name, value) !== undefined)).toEqual([])
  })

  test.for<[name: string, fault: string, ...values: Json[]]>([
    ['color', 'must be a string', 5, ['red']],
    ['borderStyle', 'must be a string', 3],
    ['opacity', 'must be a number', 'x', '50%'],
    ['width', 'must be a number, a length such as 5mm, a percentage or auto', 'abc', '1em', '5 mm', {}],
    ['borderWidth', 'must be a number or a length such as 5mm', 'a lot', 'auto', '5%'],
    ['gap', 'must be one or two lengths such as 5mm', 'x', '1 x'],
    ['fontWeight', 'must be a weight such as bold or 700', 'boldish'],
    ['fontStyle', 'must be normal, italic or oblique', 'slanted', 1],
    ['textIndent', 'must be a number of points', '10pt'],
    [
      'transform',
      'must be operations such as rotate(45deg) translate(10, 0)',
      'rotate',
      'foo(',
      'none',
      [5],
      [{ operation: 'rotate' }],
      [{ operation: 'rotate', value: ['1'] }],
    ],
  ])('as %s nothing at which it would stop: it %s', ([name, fault, ...values]) => {
    expect(values.map((value) => styleFault(name, value))).toEqual(values.map(() => fault))
  })
})

import { expect, test } from 'vitest'
import { marginFault } from './page-margins.ts'

const A6 = { width: 297.64, height: 419.53 }

test.for([
  ['no margin', A6, {}],
  ['a margin as people have it', A6, { top: 28, right: 28, bottom: 28, left: 28 }],
  ['one wide side', A6, { left: 260 }],
  ['exactly the room there must be', { width: 100, height: 100 }, { left: 36, right: 36, top: 72 }],
  ['the smallest page without one', { width: 28, height: 28 }, {}],
  ['a page that grows with its content', { width: 100, height: Number.POSITIVE_INFINITY }, { top: 5000 }],
] as const)('takes %s', ([, page, margin]) => {
  expect(marginFault(page, margin)).toBeUndefined()
})

test.for([
  [
    '500 all round on A6',
    A6,
    { top: 500, right: 500, bottom: 500, left: 500 },
    'options.margin leaves 0 × 0 of a page of 297.6 × 419.5 points; at least 28 × 28 must be left',
  ],
  [
    'two sides that meet',
    A6,
    { left: 150, right: 150 },
    'options.margin leaves 0 × 419.5 of a page of 297.6 × 419.5 points; at least 28 × 28 must be left',
  ],
  [
    'one point too much',
    { width: 100, height: 100 },
    { top: 36, bottom: 37 },
    'options.margin leaves 100 × 27 of a page of 100 × 100 points; at least 28 × 28 must be left',
  ],
] as const)('refuses %s', ([, page, margin, fault]) => {
  expect(marginFault(page, margin)).toBe(fault)
})

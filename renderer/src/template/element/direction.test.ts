import { expect, test } from 'vitest'
import { directionOf, LOGICAL_STYLES, physicalName, physicalStyle } from './direction.ts'
import { STYLES } from './primitive.ts'

test('each logical style means a style of react-pdf in both directions, and another one in each', () => {
  for (const name of LOGICAL_STYLES) {
    const [left, right] = [physicalName(name, 'ltr'), physicalName(name, 'rtl')]
    expect([...STYLES]).toEqual(expect.arrayContaining([left, right]))
    expect(left).not.toBe(right)
  }
})

test('start is left or right, in the order in which the author wrote the styles', () => {
  const style = { paddingLeft: 1, paddingStart: 2, start: 3, borderTopEndRadius: 4, color: 'red' }
  expect(Object.entries(physicalStyle(style, 'ltr'))).toEqual(
    Object.entries({ paddingLeft: 2, left: 3, borderTopRightRadius: 4, color: 'red' }),
  )
  expect(Object.entries(physicalStyle(style, 'rtl'))).toEqual(
    Object.entries({ paddingLeft: 1, paddingRight: 2, right: 3, borderTopLeftRadius: 4, color: 'red' }),
  )
})

test('styles under a media query follow the direction, too', () => {
  expect(physicalStyle({ '@media max-width: 400': { marginEnd: 1 } }, 'rtl')).toEqual({
    '@media max-width: 400': { marginLeft: 1 },
  })
})

test('a style without logical names is the same object', () => {
  const style = { paddingLeft: 1 }
  expect(physicalStyle(style, 'rtl')).toBe(style)
})

test.for([
  ['ltr', 'ltr'],
  ['rtl', 'rtl'],
  ['inherit', undefined],
  [7, undefined],
] as const)('the direction %s is %s', ([direction, meant]) => {
  expect(directionOf({ direction })).toBe(meant)
})

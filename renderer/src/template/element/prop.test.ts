import { ServiceError } from '@platen/contract/domain/error.ts'
import { expect, test } from 'vitest'
import { openStyles } from './prop.ts'

const scope = { faults: (message: string) => new ServiceError('template_error', message), families: new Map() }

test('equal styles of a document are one object, and each says what is ignored of it', () => {
  const check = openStyles()
  const one = check({ width: 1, flexDirection: 'rows' }, scope)
  const equal = check({ width: 1, flexDirection: 'rows' }, scope)
  expect(equal.style).toBe(one.style)
  expect(equal.ignored).toEqual([expect.stringContaining('flexDirection')])
  expect(check({ width: 2 }, scope)).toEqual({ style: { width: 2 }, ignored: [] })
})

test('no style is shared with another document', () => {
  expect(openStyles()({ width: 1 }, scope).style).not.toBe(openStyles()({ width: 1 }, scope).style)
})

test('a style that is wrong is wrong each time', () => {
  const check = openStyles()
  for (let round = 0; round < 2; round += 1) expect(() => check({ width: 'wide' }, scope)).toThrow('the style width')
})

test('a very long style is not kept', () => {
  const check = openStyles()
  const style = { color: 'x'.repeat(3000) }
  expect(check(style, scope).style).not.toBe(check(style, scope).style)
})

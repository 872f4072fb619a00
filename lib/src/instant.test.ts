import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseInstant } from './instant.ts'

test.for([
  ['2027-01-31T23:59:59Z', Date.UTC(2027, 0, 31, 23, 59, 59)],
  ['2027-01-31T23:59:59.5Z', Date.UTC(2027, 0, 31, 23, 59, 59, 500)],
  ['2027-01-31T23:59:59.000000001Z', Date.UTC(2027, 0, 31, 23, 59, 59)],
  ['2027-02-01T00:59:59+01:00', Date.UTC(2027, 0, 31, 23, 59, 59)],
] as const)('%s is a time', ([text, at]) => {
  expect(parseInstant(text)).toBe(at)
})

test.for([
  '',
  'now',
  '2027-01-31',
  '2027-01-31T23:59Z',
  '2027-01-31T23:59:59',
  '2027-01-31t23:59:59z',
  '2027-01-31 23:59:59Z',
  '2027-01-31T23:59:59.Z',
  '2027-01-31T23:59:59.0000000001Z',
  '2027-02-30T00:00:00Z',
  '2027-01-31T24:00:01Z',
  '2016-12-31T23:59:60Z',
  '0000-01-01T00:00:00+01:00',
  '9999-12-31T23:59:59-01:00',
])('%j is none', (text) => {
  expect(parseInstant(text)).toBeUndefined()
})

test('what is read is written so that it reads the same', () => {
  const digits = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'))
  const year = fc.integer({ min: 0, max: 9999 }).map((value) => String(value).padStart(4, '0'))
  const offset = fc.oneof(
    fc.constant('Z'),
    fc
      .tuple(fc.constantFrom('+', '-'), digits(24), digits(60))
      .map(([sign, hours, minutes]) => `${sign}${hours}:${minutes}`),
  )
  fc.assert(
    fc.property(fc.tuple(year, digits(13), digits(32), digits(24), offset), ([years, month, day, hours, zone]) => {
      const at = parseInstant(`${years}-${month}-${day}T${hours}:00:00${zone}`)
      return at === undefined || parseInstant(new Date(at).toISOString()) === at
    }),
  )
})

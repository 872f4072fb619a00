import { describe, expect, test } from 'vitest'
import { aRecord } from '../../../test/fixture/build.ts'
import { dayOf, decodeExpiry, expiryFolder, expiryObjectOf, isDayOver } from './expiry.ts'

const MIDNIGHT = Date.UTC(2026, 11, 22)

describe('an object of the expiry index', () => {
  const { id, storage, account } = aRecord()
  const { key, bytes } = expiryObjectOf('2026-12-21', [{ id, storage, account }])

  test('is read as it was written', () => {
    expect(decodeExpiry(bytes)).toEqual([{ id, storage, account }])
    expect(key.startsWith(expiryFolder('2026-12-21'))).toBe(true)
  })

  test.for([
    ['in the last moment of its day', MIDNIGHT - 1, false],
    ['when its day is over', MIDNIGHT, true],
    ['a year later', MIDNIGHT + 365 * 24 * 60 * 60 * 1000, true],
    ['a year before', MIDNIGHT - 365 * 24 * 60 * 60 * 1000, false],
  ] as const)('%s is due: %s', ([, now, isDue]) => {
    expect(isDayOver('2026-12-21', now)).toBe(isDue)
  })

  test('never holds a render that may be there still when it is due', () => {
    for (const expiresAt of [MIDNIGHT - 1, MIDNIGHT, MIDNIGHT + 1]) {
      expect(isDayOver(dayOf(expiresAt), expiresAt)).toBe(false)
      expect(isDayOver(dayOf(expiresAt), expiresAt + 24 * 60 * 60 * 1000)).toBe(true)
    }
  })

  test('has another name where it has other renders', () => {
    expect(expiryObjectOf('2026-12-21', []).key).not.toBe(key)
    expect(expiryObjectOf('2026-12-21', [{ id, storage, account }]).key).toBe(key)
  })

  test.for(['', '{}', '[1]', '{"version":1}', '{"version":1,"renders":{}}', '\u0000'])(
    'is refused where it is %j',
    (text) => {
      expect(() => decodeExpiry(Buffer.from(text))).toThrow()
    },
  )
})

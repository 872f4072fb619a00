import { anything, assert, dictionary, property, string } from 'fast-check'
import { expect, test } from 'vitest'
import { packStatus, unpackStatus } from './packed-status.ts'

test('a status is unpacked as it was', () => {
  assert(
    property(dictionary(string({ unit: 'grapheme' }), anything()), (found) => {
      const status = JSON.parse(
        JSON.stringify({ ...found, conditions: [{ type: 'Ready', reason: 'Ready' }] }),
      ) as object
      expect(unpackStatus(packStatus(status))).toEqual(status)
    }),
  )
})

test('of the times of a status, those that are like the first are unpacked, too', () => {
  const times = ['2026-11-22T13:39:16Z', '2026-11-23T00:00:00Z', '2026-11-22T13:39:16Z', '2026-11-22T13:39:16.5Z']
  const status = { conditions: times.map((lastTransitionTime) => ({ lastTransitionTime })) }
  expect(unpackStatus(packStatus(status))).toEqual(status)
})

test('of what most statuses say little is kept', () => {
  const lastTransitionTime = '2026-11-22T13:39:16Z'
  const condition = { lastTransitionTime, message: '', observedGeneration: 1 }
  const status = {
    conditions: ['Ready', 'Accepted', 'Published', 'Propagated'].map((type) => ({
      ...condition,
      reason: type,
      status: 'True',
      type,
    })),
    keyId: '3f9ac21be07d',
    observedGeneration: 1,
    sha256: '9b74c9897bac770ffc029102a200c5de4a1b1d2f7e0a55bb28a8a2d0a8bcd1f7',
  }
  expect(packStatus(status).length).toBeLessThan(JSON.stringify(status).length / 4)
})

import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { QueuedRender } from '@platen/contract/port/render-queue.ts'
import { expect, test } from 'vitest'
import { aRecord } from '../../../test/fixture/build.ts'
import { SYNC_BUFFERED_MAX } from './limit.ts'
import { openSyncQueue } from './sync-queue.ts'

/** A lane that holds renders of these tenants, one letter each. */
function aLane(tenants: string) {
  const lane = tenants.split('').map((tenant): QueuedRender => {
    const record = aRecord({ lane: 'sync', tenant: tenant as TenantId })
    return { record, done: async () => undefined, deadLetter: async () => undefined }
  })
  const line = openSyncQueue(() => lane.shift())
  const take = (isLastSlot = false) => line.take(isLastSlot)
  return { lane, line, take, taken: (isLastSlot = false) => take(isLastSlot)?.record.tenant }
}

test('each tenant has its turn after one of each other, and those of one are first come, first served', () => {
  const { lane, take } = aLane('aaaabbc')
  const ids = lane.map(({ record }) => record.id)
  const taken = ids.map(() => take()?.record)
  expect(taken.map((record) => record?.tenant).join('')).toBe('abcabaa')
  expect(taken.filter((record) => record?.tenant === 'a').map((record) => record?.id)).toEqual(ids.slice(0, 4))
  expect(take()).toBeUndefined()
})

test('whoever comes is before what the others have left', () => {
  const { lane, taken } = aLane('aaa')
  expect(taken()).toBe('a')
  lane.push(...aLane('b').lane)
  expect([taken(), taken(), taken()].join('')).toBe('aba')
})

test('the last slot is for a tenant that has none in hand', () => {
  const { line, take, taken } = aLane('aabab')
  const first = take(true)
  expect(first?.record.tenant).toBe('a')
  expect(taken(true)).toBe('b')
  expect(taken(true)).toBeUndefined()
  if (first !== undefined) line.markEnded(first)
  expect([taken(true), taken(true), taken()]).toEqual(['a', undefined, 'b'])
})

test('holds no more than its limit', () => {
  const { lane, taken } = aLane('a'.repeat(SYNC_BUFFERED_MAX + 10))
  expect(taken()).toBe('a')
  expect(lane).toHaveLength(10)
  for (let count = 1; count < SYNC_BUFFERED_MAX + 10; count++) expect(taken()).toBe('a')
  expect(taken()).toBeUndefined()
})

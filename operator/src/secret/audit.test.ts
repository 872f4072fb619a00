import { expect, test } from 'vitest'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { auditSecrets, type Unread } from './audit.ts'
import { SECRET_AUDIT_READS_PER_SECOND_MAX } from './limit.ts'
import type { ObservedSecret } from './update-secret.ts'

const SECOND = 1000

/** An audit of these owners. Each has a Secret of its name at version 1. */
function audit(names: readonly string[]) {
  const clock = manualClock()
  const controller = new AbortController()
  const seen = new Map<string, ObservedSecret | Unread>(
    names.map((name) => [name, { place: { namespace: 'team', name }, resourceVersion: '1' }]),
  )
  const versions = new Map(names.map((name) => [name, '1']))
  const reads: string[] = []
  const changed: string[] = []
  const failed: string[] = []
  const read = { during: (_name: string) => {} }
  const ended = auditSecrets(
    {
      observed: seen,
      onChange: (name) => changed.push(name),
      onError: (name, error) => failed.push(`${name}: ${String(error)}`),
      clock,
      observe: (place) => {
        const { name } = place
        reads.push(name)
        read.during(name)
        const resourceVersion = versions.get(name)
        return Promise.resolve({ place, ...(resourceVersion !== undefined && { resourceVersion }) })
      },
    },
    controller.signal,
  )
  const stop = async () => {
    controller.abort(new Error('stopped'))
    await expect(ended).rejects.toThrow('stopped')
  }
  return { clock, seen, versions, reads, changed, failed, read, stop }
}

const many = Array.from({ length: 25 }, (_, at) => `s${at}`)

test('reads one Secret after the other, and no more in a second than it may', async () => {
  const { clock, reads, stop } = audit(many)
  await clock.advance(SECOND)
  expect(reads).toHaveLength(SECRET_AUDIT_READS_PER_SECOND_MAX)
  await clock.advance(10 * SECOND)
  expect(reads.slice(0, 26)).toEqual([...many, 's0'])
  expect(reads.length).toBeLessThanOrEqual(11 * SECRET_AUDIT_READS_PER_SECOND_MAX)
  await stop()
})

test('reports one that was changed, removed or created, until it is settled', async () => {
  const { clock, seen, versions, changed, stop } = audit(['a', 'b', 'c', 'd'])
  versions.set('a', '2')
  versions.delete('b')
  seen.set('c', { place: { namespace: 'team', name: 'c' } })
  await clock.advance(SECOND)
  expect(changed.slice(0, 3)).toEqual(['a', 'b', 'c'])
  expect(new Set(changed)).toEqual(new Set(['a', 'b', 'c']))
  seen.set('a', { place: { namespace: 'team', name: 'a' }, resourceVersion: '2' })
  seen.set('b', { place: { namespace: 'team', name: 'b' } })
  seen.delete('c')
  changed.length = 0
  await clock.advance(SECOND)
  expect(changed).toEqual([])
  await stop()
})

test('has one settled that nobody has looked at yet, and does not look itself', async () => {
  const { clock, seen, changed, reads, stop } = audit(['a', 'b'])
  seen.set('a', 'unread')
  await clock.advance((2 * SECOND) / SECRET_AUDIT_READS_PER_SECOND_MAX)
  expect([changed, reads]).toEqual([['a'], ['b']])
  await stop()
})

test('says nothing of one that was settled while it was read', async () => {
  const { clock, seen, versions, changed, read, stop } = audit(['a'])
  read.during = (name) => {
    versions.set(name, '2')
    seen.set(name, { place: { namespace: 'team', name }, resourceVersion: '2' })
  }
  await clock.advance(SECOND)
  expect(changed).toEqual([])
  await stop()
})

test('goes on where one cannot be read', async () => {
  const { clock, failed, reads, read, stop } = audit(['a', 'b'])
  read.during = (name) => {
    if (name === 'a') throw new Error('no answer')
  }
  await clock.advance((2 * SECOND) / SECRET_AUDIT_READS_PER_SECOND_MAX)
  expect(failed).toEqual(['a: Error: no answer'])
  expect(reads.at(1)).toBe('b')
  await stop()
})

test('waits for the first Secret without haste', async () => {
  const { clock, seen, reads, stop } = audit([])
  await clock.advance(SECOND)
  seen.set('a', { place: { namespace: 'team', name: 'a' }, resourceVersion: '1' })
  await clock.advance(SECOND)
  expect(reads.length).toBeGreaterThan(0)
  expect(reads.length).toBeLessThanOrEqual(SECRET_AUDIT_READS_PER_SECOND_MAX)
  await stop()
})

import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { openKnownRevisions } from './known-revisions.ts'

test('of a revision its id and number stay in memory, and no settings', async () => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const known = openKnownRevisions()
  const publish = () => {
    const next = { revisionId: 'a', revision: 7, values: {} }
    known.add(next)
    return new WeakRef(next.values)
  }
  const values = publish()
  await setImmediate()
  collect()
  expect(values.deref()).toBeUndefined()
  expect(known.revisionOf('a')).toBe(7)
})

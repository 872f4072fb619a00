import { type SealKeyReport, type SealKeys, sealKeyId } from '@platen/lib/seal.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import { NEVER, SILENT } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { SEAL_KEYS_CHECK_MS } from './limit.ts'
import { openSealKeyWatch } from './seal-key.ts'

const [OLD, NEXT, OTHER] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)]

/** What a process with these keys reported so long ago. */
function reported(keys: SealKeys, ageMs = 0): SealKeyReport {
  return { sealKeys: keys.map(sealKeyId), ageMs }
}

/** A watch of an operator, whose keys and reports a test sets. */
function watched(start: { keys: SealKeys; reports: readonly SealKeyReport[] | Error }) {
  const clock = manualClock()
  const now = { ...start }
  const watch = openSealKeyWatch({
    sealKeys: () => now.keys,
    async readReports() {
      if (now.reports instanceof Error) throw now.reports
      return now.reports
    },
    clock,
    log: SILENT,
  })
  return { ...watch, clock, now, check: () => watch.check(NEVER) }
}

test.for<{ what: string; reports: readonly SealKeyReport[]; isReadable: boolean }>([
  { what: 'no process', reports: [], isReadable: true },
  { what: 'a process with the key of the operator', reports: [reported([OLD])], isReadable: true },
  { what: 'a process that has it beside another', reports: [reported([OTHER, OLD])], isReadable: true },
  { what: 'a process with another key', reports: [reported([OTHER])], isReadable: false },
  { what: 'one of two with another key', reports: [reported([OLD]), reported([OTHER])], isReadable: false },
])('secrets are opened by $what: $isReadable', async ({ reports, isReadable }) => {
  const watch = watched({ keys: [OLD], reports })
  expect(await watch.check()).toBe(!isReadable)
  expect(watch.isReadable()).toBe(isReadable)
  expect(await watch.check()).toBe(false)
})

test('secrets are opened again when the keys agree again', async () => {
  const watch = watched({ keys: [OLD], reports: [reported([OTHER])] })
  await watch.check()
  watch.now.reports = [reported([OTHER, OLD])]
  expect([await watch.check(), watch.isReadable()]).toEqual([true, true])
})

test('a report from before the rotation of the operator neither accuses nor clears a process', async () => {
  const watch = watched({ keys: [OLD], reports: [reported([OLD])] })
  await watch.check()
  await watch.clock.advance(60_000)
  watch.now.keys = [NEXT, OLD]
  watch.now.reports = [reported([OLD], 1)]
  expect([await watch.check(), watch.isReadable()]).toEqual([true, true])
  watch.now.reports = [reported([OLD])]
  expect([await watch.check(), watch.isReadable()]).toEqual([true, false])
  // The process has the key of the operator now, which goes back to the one before.
  await watch.clock.advance(1000)
  watch.now.keys = [OLD]
  watch.now.reports = [reported([OLD], 500)]
  expect([await watch.check(), watch.isReadable()]).toEqual([true, false])
  watch.now.reports = [reported([OLD])]
  expect([await watch.check(), watch.isReadable()]).toEqual([true, true])
})

test('the answer stays while Redis is away, and a defect is no outage', async () => {
  const watch = watched({ keys: [OLD], reports: [reported([OTHER])] })
  await watch.check()
  watch.now.reports = new Unavailable('redis is away')
  expect([await watch.check(), watch.isReadable()]).toEqual([false, false])
  watch.now.reports = new TypeError('a defect')
  await expect(watch.check()).rejects.toThrow('a defect')
})

test('a change is reported, and only a change, until the stop', async () => {
  const watch = watched({ keys: [OLD], reports: [reported([OLD])] })
  const over = new AbortController()
  let changes = 0
  const running = watch.run(() => changes++, over.signal)
  await watch.clock.advance(2 * SEAL_KEYS_CHECK_MS)
  expect(changes).toBe(0)
  watch.now.reports = [reported([OTHER])]
  await watch.clock.advance(2 * SEAL_KEYS_CHECK_MS)
  expect(changes).toBe(1)
  watch.now.keys = [OTHER]
  await watch.clock.advance(SEAL_KEYS_CHECK_MS)
  expect(changes).toBe(2)
  over.abort()
  await running
})

import { manualClock } from '@platen/adapters/memory/clock.ts'
import type { CheckRequest } from '@platen/contract/template-check.ts'
import { expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { aTemplateResource } from '../../../test/fixture/resource.ts'
import { checkRequestsOf } from '../compile/template.ts'
import { openCheckScheduler } from './check-scheduler.ts'
import { CHECK_HANG_BACK_OFF, CHECKS_AT_ONCE, TEMPLATE_CHECK_MS_MAX } from './limit.ts'

const [REQUEST] = checkRequestsOf([aTemplateResource()], new Map()).values().toArray() as [CheckRequest]

/** Checks that never end for a template named `hanging`. */
function scene() {
  const clock = manualClock()
  const begun: string[] = []
  const turns = openCheckScheduler({
    clock,
    check: async ({ source }, signal) => {
      begun.push(source.name)
      if (source.name === 'hanging') await clock.sleep(Number.POSITIVE_INFINITY, signal)
      return []
    },
  })
  const ask = (tenant: string, name: string, signal = NEVER) =>
    turns.check(tenant, { ...REQUEST, source: { ...REQUEST.source, name } }, signal)
  return { clock, begun, ask }
}

test('a tenant whose templates hang has one thread, and others are checked meanwhile', async () => {
  const { clock, begun, ask } = scene()
  for (let times = 0; times < 10; times++) void ask('hostile', 'hanging')
  await clock.advance(0)
  expect(begun).toEqual(['hanging'])
  expect(CHECKS_AT_ONCE).toBeGreaterThan(1)
  for (let times = 0; times < 10; times++) expect(await ask('honest', 'sound')).toEqual({ faults: [], isFinal: true })
})

test('a template that takes too long is refused, and told so', async () => {
  const { clock, ask } = scene()
  const asked = ask('hostile', 'hanging')
  await clock.advance(0)
  await clock.advance(TEMPLATE_CHECK_MS_MAX)
  const message = 'it could not be checked: it or its types take more than 30 s'
  expect(await asked).toEqual({ faults: [{ engine: 'react_pdf', message }], isFinal: false })
})

test('a tenant whose templates hang waits longer each time, and no longer when one is answered', async () => {
  const { clock, begun, ask } = scene()
  const over = new AbortController()
  const hanging = Array.from({ length: 20 }, () => ask('hostile', 'hanging', over.signal))
  const starts: number[] = []
  for (let seen = 0; starts.length < 14; ) {
    await clock.advance(1000)
    if (begun.length > seen) starts.push(clock.monotonic())
    seen = begun.length
  }
  const waits = starts.slice(1).map((at, index) => at - (starts[index] ?? 0) - TEMPLATE_CHECK_MS_MAX)
  expect(waits).toEqual(waits.toSorted((one, other) => one - other))
  expect(waits[0]).toBeLessThanOrEqual(2000 + CHECK_HANG_BACK_OFF.msMin)
  expect(waits.at(-1)).toBeGreaterThanOrEqual(CHECK_HANG_BACK_OFF.msMax)
  over.abort(new Error('gone'))
  await Promise.allSettled(hanging)
  const mended = ask('hostile', 'sound')
  await clock.advance(CHECK_HANG_BACK_OFF.msMax + TEMPLATE_CHECK_MS_MAX)
  expect((await mended).isFinal).toBe(true)
  expect((await ask('hostile', 'sound')).isFinal).toBe(true)
})

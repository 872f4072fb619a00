/** The table of signals: each row has a fault, a metric that processes show, and an alert that there is. Faults without a row do not compile. */
import { beforeAll, expect, test } from 'vitest'
import { allSeries, type Series, unknownIn } from '../../../monitoring/known.ts'
import { FAULTS } from '../../../operator/chaos/fault.ts'
import { GROUPS } from '../trial/fault.ts'
import { CONDITIONS } from './condition.ts'
import { SIGNALS, type Signal } from './signal.ts'

let series: readonly Series[]
beforeAll(async () => {
  series = await allSeries()
})

test('each row has a fault', () => {
  const used = new Set([...GROUPS.flatMap(({ faults }) => faults), ...FAULTS].map(({ signal }) => signal))
  expect(Object.keys(SIGNALS).filter((name) => !new Set<string>(used).has(name))).toEqual([])
})

test.for(Object.entries<Signal>(SIGNALS))('%s: its metric and its alert exist', ([, { selector, wakes }]) => {
  expect(unknownIn(selector, series)).toEqual([])
  if ('alert' in wakes) expect(CONDITIONS.keys()).toContain(wakes.alert)
  const named = 'nobody' in wakes ? wakes.nobody.match(/Platen\w+/g) : []
  for (const alert of named ?? []) expect(CONDITIONS.keys()).toContain(alert)
})

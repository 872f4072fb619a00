/** Each fault of `make chaos` has a metric that shows it, and the alert that it names watches that metric's dependency or state. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHART } from '../../chart/helm.ts'
import { allSeries, type Series, unknownIn } from '../../monitoring/known.ts'
import { FAULTS } from '../../operator/chaos/fault.ts'
import { SIGNALS, signalOf } from './signal.ts'
import { GROUPS } from './trial/fault.ts'

const { groups } = parse(readFileSync(join(CHART, 'file/alerts.yaml'), 'utf8')) as {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[]
}
const alerts = new Set(groups.flatMap(({ rules }) => rules.map(({ alert }) => alert)))
const names = [...GROUPS.flatMap(({ faults }) => faults), ...FAULTS]
  .map(({ name }) => name)
  .filter((name) => name !== 'nothing')

let series: readonly Series[]
beforeAll(async () => {
  series = await allSeries()
})

test('each fault has a row, and each row a fault', () => {
  expect(names.filter((name) => signalOf(name) === undefined)).toEqual([])
  expect(SIGNALS.filter((row) => !names.some((name) => signalOf(name) === row))).toEqual([])
})

test.for(SIGNALS)('$fault: its metric and its alert exist', ({ selector, alert }) => {
  // A histogram is known by its buckets, too.
  expect(unknownIn(selector, series)).toEqual([])
  if (alert !== undefined) expect(alerts).toContain(alert)
})

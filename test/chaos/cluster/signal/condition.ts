/** Evaluates the condition of an alert on what processes have shown, by Prometheus' own tool. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { CHART } from '../../../chart/helm.ts'
import { readQuery } from '../../../monitoring/promql.ts'
import { promtool } from '../../../monitoring/promtool.ts'
import type { Exposition, Sample, Scrape } from './exposition.ts'

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

const ALERTS = parse(readFileSync(join(CHART, 'file/alerts.yaml'), 'utf8')) as Rules

/** The condition of each alert, in PromQL. */
export const CONDITIONS: ReadonlyMap<string, string> = new Map(
  ALERTS.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr])),
)

/** What was shown before the fault, and while it lasted. Both of the same processes. */
export interface Shown {
  readonly before: Scrape
  readonly during: Scrape
}

export interface Condition {
  readonly alert: string
  /** The labels that tell this fault from others. */
  readonly labels?: Readonly<Record<string, string>>
}

/** Prometheus has seen the processes without the fault for an hour, which is as far as a condition looks back. */
const MINUTES_BEFORE = 60
const MINUTE_S = 60
const SECOND_MS = 1000

/** Is the condition true a minute after the fault was first scraped? */
export async function isTrue({ alert, labels = {} }: Condition, shown: Shown): Promise<boolean> {
  const condition = CONDITIONS.get(alert)
  if (condition === undefined) throw new RangeError(`there is no alert ${alert}`)
  const metrics = new Set(readQuery(condition).selectors.map(({ metric }) => metric))
  const { isGood } = await promtool('test', {
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: seriesOf(shown, metrics),
        promql_expr_test: [
          {
            expr: `count((${condition})${onlyOf(labels)}) > bool 0`,
            eval_time: `${MINUTES_BEFORE + 1}m`,
            exp_samples: [{ labels: '{}', value: 1 }],
          },
        ],
      },
    ],
  })
  return isGood
}

function onlyOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => ` and on (${name}) label_replace(vector(1), "${name}", "${value}", "", "")`)
    .join('')
}

function seriesOf({ before, during }: Shown, metrics: ReadonlySet<string>): readonly object[] {
  return before.flatMap((_, process) => {
    const [earlier, later] = [before[process], during[process]].map((each) => namedIn(each, metrics))
    const names = new Set([...(earlier?.keys() ?? []), ...(later?.keys() ?? [])])
    return [...names].map((name) => ({
      series: `${name.slice(0, -1)}namespace="platen",job="platen",instance="${process}"}`,
      values: `${valuesOf(earlier?.get(name), { from: 0, count: MINUTES_BEFORE })} ${valuesOf(later?.get(name), { from: MINUTES_BEFORE, count: 5 })}`,
    }))
  })
}

interface Timed extends Sample {
  readonly at: number
}

function namedIn(exposition: Exposition | undefined, metrics: ReadonlySet<string>): ReadonlyMap<string, Timed> {
  const { at = 0, samples = [] } = exposition ?? {}
  const own = samples.filter(({ metric }) => metrics.has(metric))
  return new Map(own.map((each) => [`${each.metric}{${each.labels}${each.labels === '' ? '' : ','}}`, { ...each, at }]))
}

/** In the notation of promtool, whose time begins at 0. A series that is not shown becomes stale. */
function valuesOf(
  sample: Timed | undefined,
  { from, count }: { readonly from: number; readonly count: number },
): string {
  if (sample === undefined) return `stale _x${count - 1}`
  if (sample.metric !== 'platen_time_seconds') return `${sample.value}x${count - 1}`
  return `${sample.value - sample.at / SECOND_MS + from * MINUTE_S}+${MINUTE_S}x${count - 1}`
}

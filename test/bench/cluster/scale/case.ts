/** How long renders wait when there are ten times as many for a minute, on paper: see `simulate.ts`, and docs/sizing.md for the table. */
import { SYNC_START_MS_MAX } from '@platen/api/admission/limit.ts'
import type { Figure } from '../../measure.ts'
import { quantile } from '../../measure.ts'
import { CHART_RULE } from './autoscaler.ts'
import { type Scenario, simulate } from './simulate.ts'
import { ASSUMPTIONS, sizeOf } from './sizing.ts'

const BASE = {
  seed: 7,
  seconds: 420,
  warmUpSeconds: 30,
  burst: { atSeconds: 120, seconds: 60, times: 10 },
  syncShare: 0.2,
  tenants: 200,
  size: { cores: ASSUMPTIONS.podCores, concurrency: 2 },
  serviceMs: [{ share: 1, ms: ASSUMPTIONS.coreMsOfDocument }],
  startSeconds: [15, 25],
  rebalanceMs: 1000,
} as const satisfies Partial<Scenario>

/** As `sizeOf` says, with room for twice the pods, except for what is changed. */
function scenario(
  perSecond: number,
  { min, max, lagPerReplica }: { min?: number; max?: number; lagPerReplica?: number } = {},
): Scenario {
  const size = sizeOf(perSecond, ASSUMPTIONS)
  const most = max ?? size.partitions
  return {
    ...BASE,
    perSecond,
    partitions: { sync: most, async: most, bulk: most },
    range: { min: min ?? size.renderers, max: most },
    rule: { ...CHART_RULE, lagPerReplica: lagPerReplica ?? size.lagPerReplica },
  }
}

const SCENARIOS: readonly (readonly [name: string, scenario: Scenario])[] = [
  ['100/s, ×10 for a minute, the chart as it is', scenario(100, { lagPerReplica: CHART_RULE.lagPerReplica, max: 48 })],
  ['100/s, ×10 for a minute, lagPerReplica as sized', scenario(100, { max: 48 })],
  ['100/s, ×10 for a minute, pods for it there before', scenario(100, { min: 48, max: 48 })],
  ['1,000/s, ×10 for a minute, as sized', scenario(1000, { max: 200 })],
]

/** The seed and not the machine decides on these figures, so what is measured less is fewer scenarios. */
export async function* scale(share: number): AsyncGenerator<Figure> {
  for (const [name, given] of SCENARIOS.slice(0, Math.ceil(SCENARIOS.length * share))) {
    const { before, burst, refused, pods, calmAfterSeconds } = simulate(given)
    const calm = calmAfterSeconds === undefined ? 'not calm at the end' : `calm after ${calmAfterSeconds.toFixed(0)} s`
    const detail = `pods ${pods.before} → ${pods.most}, ${calm}, ${refused} sync refused; before ${spelled(before.sync)} sync, ${spelled(before.async)} async`
    const bound = { atMost: SYNC_START_MS_MAX / 1000 }
    yield {
      name: `${name}: sync p95, s`,
      detail: `${spelled(burst.sync)}; ${detail}`,
      value: quantile(burst.sync, 0.95) / 1000,
      target: bound,
    }
    const most = 60 * BASE.burst.times
    yield {
      name: `${name}: async p95, s`,
      detail: spelled(burst.async),
      value: quantile(burst.async, 0.95) / 1000,
      target: { atMost: most },
    }
  }
}

/** Half of them, most of them, and the longest. */
function spelled(waits: readonly number[]): string {
  const longest = waits.reduce((most, wait) => Math.max(most, wait), 0)
  return [quantile(waits, 0.5), quantile(waits, 0.95), longest].map((wait) => (wait / 1000).toFixed(2)).join('/')
}

/** The simulation of `make bench ONLY=scale`: that it goes by the chart's rules, decides as Kubernetes does, and loses nothing. */
import { expect, test } from 'vitest'
import { CHART_RULE, openAutoscaler } from '../../bench/cluster/scale/autoscaler.ts'
import { type Scenario, simulate } from '../../bench/cluster/scale/simulate.ts'
import { ofKind, rendered } from '../helm.ts'

const SCENARIO: Scenario = {
  seed: 1,
  perSecond: 100,
  burst: { atSeconds: 40, seconds: 10, times: 5 },
  seconds: 150,
  warmUpSeconds: 10,
  syncShare: 0.2,
  tenants: 20,
  partitions: { sync: 12, async: 12, bulk: 12 },
  size: { cores: 2, concurrency: 2 },
  range: { min: 3, max: 12 },
  rule: CHART_RULE,
  serviceMs: [
    { share: 0.9, ms: 30 },
    { share: 0.1, ms: 100 },
  ],
  startSeconds: [5, 10],
  rebalanceMs: 500,
}

test('its rule is that of the ScaledObjects the chart makes', async () => {
  const scaled = ofKind(await rendered(), 'ScaledObject')
  expect(scaled.length).toBeGreaterThan(0)
  for (const { spec } of scaled) {
    const { scalingModifiers, horizontalPodAutoscalerConfig } = spec.advanced
    const { scaleUp, scaleDown } = horizontalPodAutoscalerConfig.behavior
    expect({
      lagPerReplica: Number(scalingModifiers.target),
      stabilizationSeconds: scaleDown.stabilizationWindowSeconds,
      up: scaleUp.policies,
      down: scaleDown.policies,
    }).toEqual(CHART_RULE)
    // What it takes for given.
    expect([scaleUp.selectPolicy, scaleUp.stabilizationWindowSeconds]).toEqual(['Max', 0])
  }
})

test.for<[string, readonly number[], readonly number[]]>([
  ['doubles, or adds four, in 15 seconds', [800, 800, 800, 800, 800], [5, 10, 20, 40, 50]],
  ['does nothing within a tenth of the target', [8, 8.7, 8.9], [1, 1, 2]],
  ['never goes above its most', [10_000, 10_000, 10_000, 10_000, 10_000, 10_000], [5, 10, 20, 40, 50, 50]],
  [
    'keeps for three minutes what it once wished for',
    [32, ...Array<number>(11).fill(0)],
    [4, ...Array<number>(11).fill(4)],
  ],
  [
    'then takes a quarter away in a minute',
    [32, ...Array<number>(16).fill(0)],
    [4, ...Array<number>(11).fill(4), 3, 3, 3, 3, 2],
  ],
])('it %s', ([, lags, replicas]) => {
  const autoscaler = openAutoscaler(CHART_RULE, { min: 1, max: 50 })
  expect(lags.map((lag, at) => autoscaler.look(15 * (at + 1), lag))).toEqual(replicas)
})

test('all that is accepted ends, and the same seed gives the same run', () => {
  const run = simulate(SCENARIO)
  expect(run.accepted).toBeGreaterThan(15_000)
  expect(run.accepted - run.ended).toBeLessThan(50)
  expect(run.pods.most).toBeGreaterThan(run.pods.before)
  expect(run.calmAfterSeconds).toBeDefined()
  expect(simulate(SCENARIO)).toEqual(run)
  expect(simulate({ ...SCENARIO, seed: 2 }).accepted).not.toBe(run.accepted)
})

test('a cluster that cannot keep up shows it, and loses nothing when pods come', () => {
  const run = simulate({ ...SCENARIO, syncShare: 0.9, range: { min: 1, max: 2 } })
  const { accepted, ended, calmAfterSeconds, burst, refused } = run
  expect(ended + run.inHand + run.waiting).toBe(accepted)
  expect(accepted - ended).toBeGreaterThan(1000)
  expect(calmAfterSeconds).toBeUndefined()
  // Sync renders go first, whatever waits.
  expect(Math.max(...burst.async)).toBeGreaterThan(Math.max(...burst.sync))
  expect(refused).toBeLessThan(accepted * SCENARIO.syncShare)
})

/** Tests upgrades, rollbacks and drains under load: every answer keeps the promises, and nothing is lost. */
import { beforeAll, expect, test } from 'vitest'
import { judge } from '../chaos/cluster/trial/judge.ts'
import { readFacts } from '../chaos/cluster/trial/oracle.ts'
import { CHART } from '../chart/helm.ts'
import { IS_LONG } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { beginTeamLoad, type Installed, installed } from './installed.ts'
import { NODE } from './machine/runtime.ts'
import { kubectl, onRelease, RELEASE } from './release.ts'

let all: Installed
beforeAll(async () => {
  all = await installed()
})

const ACTS: readonly [string, () => Promise<unknown>][] = [
  ['an upgrade that rolls all pods, and its rollback', upgradeAndBack],
  ['a drain', drain],
]

test.for(IS_LONG ? ACTS : ACTS.slice(0, 1))('%s', async ([, act], { signal }) => {
  const { team, scene } = all
  const load = beginTeamLoad(all)
  const begunAt = performance.now()
  try {
    await poll(() => load.issued().length).until((count) => count > 10)
    await act()
  } finally {
    await load.stop()
  }
  // Answers 503 are allowed during the upgrade. Broken connections are not.
  const outages = [{ from: begunAt, until: performance.now() }]
  const broken = load.exchanges.filter(({ status }) => status === 0)
  expect(broken).toEqual([])
  const violations = await poll(async () => {
    await load.poll()
    const facts = await readFacts(scene, team.tenant, signal)
    return judge({ exchanges: load.exchanges, issued: load.issued(), outages, facts })
  })
    .until((found) => found.length === 0)
    .catch(String)
  expect(violations).toEqual([])
  const counts = Object.entries(Object.groupBy(load.exchanges, ({ kind, status }) => `${kind} ${status}`))
  process.stdout.write(`${JSON.stringify(Object.fromEntries(counts.map(([name, own]) => [name, own?.length])))}\n`)
})

async function upgradeAndBack(): Promise<void> {
  await onRelease(all.node, ['upgrade', RELEASE, CHART, '--wait'], { logLevel: 'debug' })
  await onRelease(all.node, ['rollback', RELEASE, '--wait'])
}

/** Evicts every pod, as fast as the disruption budgets allow. The only node is made schedulable again meanwhile. */
async function drain(): Promise<void> {
  const drained = kubectl(all.node, ['drain', NODE, '--delete-emptydir-data', '--ignore-daemonsets', '--timeout=300s'])
  let isOver = false
  const over = drained.finally(() => {
    isOver = true
  })
  const takeBack = poll(() => kubectl(all.node, ['uncordon', NODE])).until(() => isOver)
  await Promise.all([over, takeBack])
  await kubectl(all.node, ['uncordon', NODE])
}

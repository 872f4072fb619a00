/** Rehearses an outage: the alerts of the runbook fire in time, and stop with the outage. */
import { setInterval } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { poll } from '../time/poll.ts'
import { beginTeamLoad, type Installed, installed } from './installed.ts'
import { startPrometheus } from './machine/prometheus.ts'
import { kubectl, NAMESPACE } from './release.ts'

/** Alerts that fire while Redis and Kafka are down together. The last one has a delay of five minutes. */
const EXPECTED = ['PlatenDependencyAway', 'PlatenSettingsNotFollowed', 'PlatenRequestsFail']

let all: Installed
beforeAll(async () => {
  all = await installed()
})

test('while Redis and Kafka are away, three alerts fire, and none a while before', async () => {
  const { node } = all
  const selector = 'app.kubernetes.io/component in (api,events,operator,renderer-html-sync,renderer-react-pdf-sync)'
  const path = 'jsonpath={range .items[*]}{.status.podIP}:9090{"\\n"}{end}'
  const pods = await kubectl(node, ['get', 'pods', '--namespace', NAMESPACE, '--selector', selector, '--output', path])
  await using prometheus = await startPrometheus(pods.trim().split('\n'), NAMESPACE)
  const load = beginTeamLoad(all)
  try {
    await poll(() => load.issued().length).until((count) => count > 50)
    expect(await prometheus.firing()).toEqual(new Set())
    const begunAt = performance.now()
    await Promise.all([node.redis.kill(), node.kafka.kill()])
    const seen = new Map<string, number>()
    try {
      for await (const _ of setInterval(1000)) {
        for (const name of await prometheus.firing())
          if (!seen.has(name)) seen.set(name, Math.round((performance.now() - begunAt) / 1000))
        if (EXPECTED.every((name) => seen.has(name))) break
      }
    } finally {
      await Promise.all([node.redis.start(), node.kafka.start()])
    }
    process.stdout.write(`seconds to each alert: ${JSON.stringify(Object.fromEntries(seen))}\n`)
    // The third alert counts the failures of the last five minutes, so it takes longer to stop.
    for (const name of EXPECTED.slice(0, 2))
      await poll(async () => (await prometheus.firing()).has(name)).until((is) => !is)
  } finally {
    await load.stop()
  }
})

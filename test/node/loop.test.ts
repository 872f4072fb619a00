/** Tests the closed loop of scaling: a queue in Kafka adds renderers, and an empty queue removes them. */
import { beforeAll, expect, test } from 'vitest'
import { judge } from '../chaos/cluster/trial/judge.ts'
import type { Exchange } from '../chaos/cluster/trial/load.ts'
import { readFacts } from '../chaos/cluster/trial/oracle.ts'
import { IS_LONG } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { ended, render, submit } from '../topology/service.ts'
import { type Installed, installed } from './installed.ts'
import { kubectl, NAMESPACE, VALUES } from './release.ts'

const ENGINES = ['html', 'react_pdf'] as const
type Engine = (typeof ENGINES)[number]
const RENDERS = 300
const ROUNDS = IS_LONG ? 3 : 1
/** Number of callers at the same time. */
const CALLERS = 10

interface Pod {
  readonly name: string
  readonly isReady: boolean
}

let all: Installed
beforeAll(async () => {
  all = await installed()
})

async function podsOf(engine: Engine): Promise<readonly Pod[]> {
  const selector = `app.kubernetes.io/component=renderer-${engine.replace('_', '-')}-async`
  const path = `jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].ready}{"\\n"}{end}`
  const lines = await kubectl(all.node, [
    'get',
    'pods',
    '--namespace',
    NAMESPACE,
    '--selector',
    selector,
    '--output',
    path,
  ])
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '))
    .map(([name = '', ready]) => ({ name, isReady: ready === 'true' }))
}

const podsOfAll = async () => (await Promise.all(ENGINES.map(podsOf))).flat()

/** Runs an action on each item, at most `CALLERS` at the same time. */
async function each<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values()
  await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      for (const item of waiting) await action(item)
    }),
  )
}

test('renderers come from none for what waits, lose nothing when they are told to go, and go', async ({ signal }) => {
  const { team, receiver, scene, node } = all
  const { service, key, data } = team
  const issued: string[] = []
  const exchanges: Exchange[] = []
  const seconds = (from: number) => `${((performance.now() - from) / 1000).toFixed(1)} s`
  for (let round = 1; round <= ROUNDS; round++) {
    await poll(podsOfAll).until((pods) => pods.length === 0)
    // Renderers for sync renders always run.
    for (const engine of ENGINES)
      expect((await render(service, key, { template: 'invoice', engine, data })).status).toBe(200)
    const receivedBefore = receiver.received.length
    const begunAt = performance.now()
    const took: Record<string, string> = {}
    const ids: string[] = []
    await each(
      Array.from({ length: RENDERS }, (_, at) => ENGINES[at % 2]),
      async (engine) => {
        ids.push(await submit(service, key, { template: 'invoice', engine, data, webhook_url: `${receiver.url}/hook` }))
      },
    )
    took['accepted'] = seconds(begunAt)
    await poll(podsOfAll).until((pods) => pods.length > 0)
    took['first pod'] = seconds(begunAt)
    const ready = await poll(podsOfAll).until((pods) => pods.some(({ isReady }) => isReady))
    took['first pod ready'] = seconds(begunAt)
    // Deletes one of them during renders.
    const victim = ready.find(({ isReady }) => isReady)?.name ?? ''
    await kubectl(node, ['delete', 'pod', victim, '--namespace', NAMESPACE, '--wait=false'])
    await receiver.until(receivedBefore + RENDERS)
    took['all told'] = seconds(begunAt)
    const endedAt = performance.now()
    await poll(podsOfAll).until((pods) => pods.length === 0)
    took['gone after'] = seconds(endedAt)
    const ends: number[] = []
    await each(ids, async (id) => {
      const askedAt = performance.now()
      const { status, finished_at: finishedAt } = await ended(service, key, id)
      ends.push(Date.parse(finishedAt ?? ''))
      const shown = { status, finishedAt }
      const answer = { kind: 'get', status: 200, hasRetryAfter: false, render: id, shown } as const
      exchanges.push({ ...answer, begunAt: askedAt, endedAt: performance.now() })
    })
    const begun = performance.timeOrigin + begunAt
    took['first PDF'] = `${((Math.min(...ends) - begun) / 1000).toFixed(1)} s`
    took['last PDF'] = `${((Math.max(...ends) - begun) / 1000).toFixed(1)} s`
    process.stdout.write(`${JSON.stringify({ round, ...took })}\n`)
    issued.push(...ids)
  }
  const violations = await poll(async () =>
    judge({ exchanges, issued, outages: [], facts: await readFacts(scene, team.tenant, signal) }),
  )
    .until((found) => found.length === 0)
    .catch(String)
  expect(violations).toEqual([])
})

test('a Kafka that is away takes no renderer away', async () => {
  const { team, node } = all
  const { service, key, data } = team
  const ids: string[] = []
  await each(
    Array.from({ length: RENDERS }, (_, at) => ENGINES[at % 2]),
    async (engine) => {
      ids.push(await submit(service, key, { template: 'invoice', engine, data }))
    },
  )
  for (const engine of ENGINES) await poll(() => podsOf(engine)).until((pods) => pods.length > 0)
  await node.kafka.kill()
  try {
    // KEDA's operator then cannot create a Kafka client, and its fallback covers only existing clients. So the autoscaler gets no metric,
    // and changes nothing.
    for (const engine of ENGINES) {
      const hpa = `keda-hpa-platen-renderer-${engine.replace('_', '-')}-async`
      const path = 'jsonpath={.status.conditions[?(@.type=="ScalingActive")].status}'
      const ask = () => kubectl(node, ['get', 'hpa', hpa, '--namespace', NAMESPACE, '--output', path])
      await poll(ask).until((status) => status === 'False')
    }
    // Longer than the removal of renderers would take with an empty queue.
    const deadline = performance.now() + 2 * 1000 * VALUES.autoscaling.cooldownSeconds
    await poll(async () => {
      for (const engine of ENGINES) expect(await podsOf(engine)).not.toEqual([])
      return performance.now()
    }).until((now) => now > deadline)
  } finally {
    await node.kafka.start()
  }
  await each(ids, async (id) => expect((await ended(service, key, id)).status).toBe('succeeded'))
})

/**
 * A Kafka that is away: nothing new is taken and nothing is charged for it, what was taken is rendered when it is back, and no
 * process has to be started again for that.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { poll } from '../../time/poll.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import { openClusterStores } from '../../topology/cluster/store.ts'
import type { TestCluster } from '../../topology/cluster/test-cluster.ts'
import { type ProxiedKafka, startProxiedKafka } from '../../topology/proxy/kafka.ts'
import { ended, type RenderAnswer, reaches, render, request, submit } from '../../topology/service.ts'
import { aCluster, aTenant, connectTo, erase, eventsIn, eventsOf, LETTER, manifestsIn, offsetsIn } from '../harness.ts'

const KILL_LIVE = `service_live_${'K'.repeat(43)}`
const PAUSE_LIVE = `service_live_${'P'.repeat(43)}`
const BREAK_LIVE = `service_live_${'B'.repeat(43)}`
/** Two seconds of a core, in which Kafka goes. */
const SLOW = { template: 'letter', data: { rounds: 8e6 } }
const UNITS = 12
/** More than the units of a month: were one of them charged, it would be missed. */
const REFUSED = 2 * UNITS
/** Few enough that all of them have room in the month while they are asked about. */
const AT_ONCE = ['sync', 'async', 'async', 'async']

let kafka: ProxiedKafka
let cluster: TestCluster
beforeAll(async () => {
  kafka = await startProxiedKafka()
  // The slow renders take several times as long on a busy machine.
  const limits = { syncRateLimitPerMinute: 100_000, asyncRateLimitPerMinute: 100_000, renderTimeoutSeconds: 120 }
  cluster = await aCluster({
    kafka: { broker: kafka.broker },
    // No test waits for the end of such a drain.
    settings: { PLATEN_DRAIN_SECONDS: '3600' },
    documents: [
      ...aTenant('kill', KILL_LIVE, { ...limits, renderLimitMonthly: UNITS }),
      ...aTenant('pause', PAUSE_LIVE, { ...limits, renderLimitMonthly: UNITS }),
      ...aTenant('break', BREAK_LIVE, limits),
    ],
  })
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await kafka[Symbol.asyncDispose]()
})

test.for([
  { tenant: 'kill', live: KILL_LIVE, leave: () => kafka.kill(), comeBack: () => kafka.start(), late: 0 },
  {
    tenant: 'pause',
    live: PAUSE_LIVE,
    leave: async () => kafka.pause(),
    comeBack: async () => kafka.resume(),
    late: 1,
  },
])(
  'away by $tenant, it costs callers a 503 and nothing else',
  async ({ tenant, live, leave, comeBack, late }, { signal }) => {
    const service = cluster.at(0)
    const before = await recordsIn(signal)
    // Two in hand, and some that wait.
    const taken = await Promise.all([SLOW, SLOW, LETTER, LETTER, LETTER].map((body) => submit(service, live, body)))
    await reaches(service, { key: live, id: taken[0] ?? '', states: ['running'] })
    await leave()
    // The signal takes a moment to reach all threads of a server, which may take some renders until then.
    const ask = (mode: string) => render(service, live, { ...LETTER, mode })
    for (let answer = await ask('async'); answer.status !== 503; answer = await ask('async')) taken.push(idOf(answer))

    for (let refused = 0; refused < REFUSED; refused += AT_ONCE.length) {
      for (const answer of await Promise.all(AT_ONCE.map(ask))) {
        expect([answer.status, answer.json()]).toMatchObject([503, { error: { code: 'RENDER_UNAVAILABLE' } }])
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      }
    }
    expect(await livezOfAll()).toEqual([200, 200, 200])

    await comeBack()
    while (taken.length < UNITS) {
      const answer = await poll(() => ask('async')).until(({ status }) => status !== 503)
      expect(answer.status).toBe(202)
      taken.push(idOf(answer))
    }
    expect((await ask('async')).status).toBe(402)
    for (const id of taken) expect(await ended(service, live, id)).toMatchObject({ status: 'succeeded' })
    expect(await livezOfAll()).toEqual([200, 200, 200])

    // What was sent to a server that was paused it takes when it goes on, and nothing comes of it.
    expect((await recordsIn(signal)) - before).toBeGreaterThanOrEqual(UNITS + late)
    const own = (await manifestsIn(cluster, signal)).filter(
      ({ render }) => 'tenant' in render && render.tenant === tenant,
    )
    const [kept, abandoned] = [own.filter(isSucceeded), own.filter((each) => !isSucceeded(each))]
    expect(kept.map(({ render: { id } }) => String(id)).sort()).toEqual(taken.toSorted())
    expect(new Set(abandoned.map(({ outcome }) => 'error' in outcome && outcome.error.code))).toEqual(
      new Set(['canceled']),
    )
    await eventsOf(cluster, taken, signal)
    const reported = (await eventsIn(cluster, UNITS, signal)).filter(
      ({ manifest }) => manifest.render.tenant === tenant,
    )
    expect(new Set(reported.map(({ manifest }) => String(manifest.render.id)))).toEqual(new Set(taken))
  },
)

test.for(['request', 'answer'] as const)(
  'a connection that breaks in the middle of the %s to a produce costs nobody anything',
  async (at, { signal }) => {
    const service = cluster.at(0)
    const before = await recordsIn(signal)
    const broken = kafka.breakNextProduce(at)
    const id = await submit(service, BREAK_LIVE, LETTER)
    await broken
    expect((await ended(service, BREAK_LIVE, id)).status).toBe('succeeded')
    // What the broker has taken and could not say is there again.
    expect((await recordsIn(signal)) - before).toBe(at === 'answer' ? 2 : 1)
    const events = await eventsOf(cluster, [id], signal)
    expect(new Set(events.map((event) => event.id)).size).toBe(1)
  },
)

test('a renderer that is stopped meanwhile does not wait for it: the next one publishes what it has rendered', async ({
  signal,
}) => {
  const service = cluster.at(0)
  const ids = await Promise.all([SLOW, SLOW].map((body) => submit(service, BREAK_LIVE, body)))
  await Promise.all(ids.map((id) => reaches(service, { key: BREAK_LIVE, id, states: ['running'] })))
  await kafka.kill()
  const [renderer] = cluster.processes('renderer')
  await poll(() => renderer?.log()).until((log) => log?.includes('"operation":"append"') ?? false)
  expect(await renderer?.stop()).toBe(0)
  expect(renderer?.log().match(/"render handed over"/g)).toHaveLength(ids.length)
  await kafka.start()
  await renderer?.start()
  for (const id of ids) expect(await ended(service, BREAK_LIVE, id)).toMatchObject({ status: 'succeeded' })
  const events = await eventsOf(cluster, ids, signal)
  expect(new Set(events.map(({ manifest }) => manifest.attempt))).toEqual(new Set([1]))
})

test('an erasure meanwhile holds for what runs, what waits and what waits in Kafka', async ({ signal }) => {
  const service = cluster.at(0)
  // Two run. The others wait.
  const ids = await Promise.all([SLOW, SLOW, LETTER, LETTER].map((body) => submit(service, BREAK_LIVE, body)))
  await Promise.race(ids.slice(0, 2).map((id) => reaches(service, { key: BREAK_LIVE, id, states: ['running'] })))
  const [renderer] = cluster.processes('renderer')
  renderer?.pause()
  await kafka.kill()
  const { code, out } = await erase(cluster, 'render', ...ids)
  expect([
    code,
    ids.filter((id) => !out.includes(`${id}: has no outcome; if it waits or runs, it leaves none`)),
  ]).toEqual([0, []])
  const statuses = () =>
    Promise.all(
      ids.map(async (id) => (await request(service, { key: BREAK_LIVE, path: `/api/v1/render/${id}` })).status),
    )
  expect(await statuses()).toEqual([410, 410, 410, 410])
  renderer?.resume()
  await kafka.start()
  const doneWith = (id: string) =>
    cluster
      .log()
      .split('\n')
      .some((line) => line.includes(id) && line.includes('"canceled"'))
  await poll(() => ids.filter((id) => !doneWith(id))).until((left) => left.length === 0)
  const answer = await poll(() => render(service, BREAK_LIVE, { ...LETTER, mode: 'async' })).until(
    ({ status }) => status === 202,
  )
  expect((await ended(service, BREAK_LIVE, idOf(answer))).status).toBe('succeeded')
  expect(await statuses()).toEqual([410, 410, 410, 410])
  const reported = (await eventsIn(cluster, 1, signal)).map(({ manifest }) => String(manifest.render.id))
  expect(ids.filter((id) => reported.includes(id))).toEqual([])
  await using stores = await openClusterStores(cluster, signal)
  const keys = await Array.fromAsync(stores.artifacts.list(SERVICE_BUCKET, '', signal), ({ key }) => key)
  expect(keys.filter((key) => ids.some((id) => key.includes(id))).toSorted()).toEqual(
    ids.map((id) => `manifest/${id}.json`).toSorted(),
  )
})

function idOf(answer: RenderAnswer): string {
  expect(answer.status).toBe(202)
  return String(answer.json()['render_id'])
}

function isSucceeded({ outcome: { status } }: Awaited<ReturnType<typeof manifestsIn>>[number]): boolean {
  return status === 'succeeded'
}

/** What an orchestrator asks of every process, to end those that say no. */
async function livezOfAll(): Promise<readonly number[]> {
  const processes = (['api', 'renderer', 'events'] as const).flatMap((name) => cluster.processes(name))
  return await Promise.all(
    processes.map(async ({ ports: [, probes] }) => (await fetch(`http://127.0.0.1:${probes}/livez`)).status),
  )
}

/** How many records the lanes of async renders have. */
async function recordsIn(signal: AbortSignal): Promise<number> {
  await using connection = await connectTo(cluster.broker, signal)
  const lanes = ['async', 'bulk'].map((lane) =>
    offsetsIn(connection, `${cluster.topicPrefix}render.react_pdf.${lane}`, signal),
  )
  return (await Promise.all(lanes)).flat().reduce((sum, { high }) => sum + Number(high), 0)
}

/** Renderers that come and go under load: what one leaves the other takes, and no caller sees it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { readText } from '../architecture/source-tree.ts'
import { shared } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import { ended, render, type Service, submit } from '../topology/service.ts'
import { aCluster, aTenant, connectTo, eventsIn, eventsOf, LETTER, manifestsIn, redisOf } from './harness.ts'

const LIVE = `service_live_${'L'.repeat(43)}`
const SYNC_CALLERS = 2
/** Between an answer and the next request: processes that start need the cores, too. */
const PAUSE_MS = 100
/** Answers between one event and the next: the load is there, and goes on. */
const SOME = 8

const cluster = shared(() => {
  const limits = { syncRateLimitPerMinute: 100_000, asyncRateLimitPerMinute: 100_000 }
  return aCluster({ renderers: 2, documents: aTenant('acme', LIVE, limits) })
})

/** Callers of sync renders and one of async renders, each asking for the next when it has got the last. */
function beginLoad(service: Service) {
  const statuses: number[] = []
  const ids: string[] = []
  const over = new AbortController()
  const callSync = async () => {
    while (!over.signal.aborted) {
      statuses.push((await render(service, LIVE, LETTER)).status)
      await sleep(PAUSE_MS)
    }
  }
  const callAsync = async () => {
    while (!over.signal.aborted) {
      const id = await submit(service, LIVE, LETTER)
      ids.push(id)
      await ended(service, LIVE, id)
    }
  }
  const callers = [...Array.from({ length: SYNC_CALLERS }, callSync), callAsync()]
  return {
    statuses,
    ids,
    /** Resolves when so many more have been answered. */
    async more() {
      const wanted = statuses.length + SOME
      await poll(() => statuses.length).until((count) => count >= wanted)
    },
    async end() {
      over.abort()
      await Promise.all(callers)
    },
  }
}

test('renderers stopped and started one after the other fail no request, and render each once', async ({ signal }) => {
  const service = cluster().at(0)
  const [first, second] = cluster().processes('renderer')
  const load = beginLoad(service)
  for (const renderer of [first, first, second]) {
    await load.more()
    expect(await renderer?.stop()).toBe(0)
    await load.more()
    await renderer?.start()
  }
  await load.more()
  await load.end()
  expect(new Set(load.statuses)).toEqual(new Set([200]))
  const total = load.statuses.length + load.ids.length
  // A sync caller is answered before its render is stored.
  const manifests = await poll(() => manifestsIn(cluster(), signal)).until(({ length }) => length >= total)
  const succeeded = manifests.filter(({ outcome: { status } }) => status === 'succeeded')
  expect([manifests.length, succeeded.length]).toEqual([total, total])
  // After a rebalance an event may be there again, under its id.
  const made = manifests.map(({ render: { id } }) => id)
  await eventsOf(cluster(), made, signal)
  const events = await eventsIn(cluster(), total, signal)
  expect(new Set(events.map(({ id }) => id)).size).toBe(total)
  expect(new Set(events.map(({ manifest }) => manifest.render.id))).toEqual(new Set(made))
})

// Decision 0017: it is missed after seven seconds, and a caller waits ten for a renderer.
test('a renderer killed with nothing in its hands is missed in time for who asks then', async () => {
  const service = cluster().at(0)
  const [first] = cluster().processes('renderer')
  await first?.kill()
  const asked = Array.from({ length: 8 }, () => render(service, LIVE, LETTER))
  const ids = await Promise.all(Array.from({ length: 8 }, () => submit(service, LIVE, LETTER)))
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(asked.map(() => 200))
  for (const id of ids) expect((await ended(service, LIVE, id)).status).toBe('succeeded')
  await first?.start()
})

// The last test of the file: it ends the processes.
test('what docs/operations.md takes away of Redis and Kafka is all that the processes stored there', async ({
  signal,
}) => {
  await submit(cluster().at(0), LIVE, { ...LETTER, webhook_url: 'https://receiver.invalid/' })
  expect(await cluster().stop()).toBe(0)
  const guide = readText('docs/operations.md').replaceAll('\\|', '|')
  const [, pattern = ''] = /redis-cli --scan --pattern '([^']+)'/.exec(guide) ?? []
  const [, topic = ''] = /kafka-topics\.sh .* --delete --topic '([^']+)'/.exec(guide) ?? []
  await using redis = await redisOf(cluster(), signal)
  const [keys, taken] = await redis.call((client) => Promise.all([client.keys('*'), client.keys(pattern)]), signal)
  expect(keys).not.toEqual([])
  expect(taken.toSorted()).toEqual(keys.toSorted())
  await using kafka = await connectTo(cluster().broker, signal)
  const admin = await kafka.admin()
  const own = (names: readonly string[]) =>
    names.flatMap((name) => (name.startsWith(cluster().topicPrefix) ? name.slice(cluster().topicPrefix.length) : []))
  const topics = own(await admin.listTopics())
  expect(topics).toContain('webhook.due')
  expect(topics.filter((name) => !new RegExp(`^${topic}$`).test(name))).toEqual([])
  const groups = own((await admin.listGroups()).groups.map(({ groupId }) => groupId))
  expect(groups).toContain('webhook')
  expect(groups.filter((name) => name !== 'webhook' && !/^(render|record)\./.test(name))).toEqual([])
})

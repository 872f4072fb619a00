/** Erasures on a whole cluster: ordered at a real Kubernetes API, carried out by events processes, while processes and servers fail. */
import { readdirSync } from 'node:fs'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { hashOfKey } from '@platen/contract/domain/api-key.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ofTest } from '../../fixture/lifetime.ts'
import { LETTER_TSX, liveOf, tsx, UNLIMITED } from '../../fixture/manifests.ts'
import { healthOf } from '../../health/health.ts'
import { placesInCluster } from '../../scenario/stored-text.ts'
import { poll } from '../../time/poll.ts'
import { isTimeReal } from '../../time/scaled-time.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import { recordsOf } from '../../topology/cluster/record.ts'
import { openClusterStores } from '../../topology/cluster/store.ts'
import { type FaultProxy, openFaultProxy } from '../../topology/proxy/fault-proxy.ts'
import { type ProxiedKafka, startProxiedKafka } from '../../topology/proxy/kafka.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../../topology/receiver.ts'
import { hasServer } from '../../topology/server/binary.ts'
import { startS3 } from '../../topology/server/s3.ts'
import { ended, reaches, request, submit } from '../../topology/service.ts'
import { anApiKey, anErasure, aPlan, aTemplate, aTenant, inNamespace, PLAN } from '../rig/resource.ts'
import { type Found, OTHERS, type Rig, startRig, TEAM } from '../rig/rig.ts'

/** Nobody takes up the round of a killed process for ten minutes of real time. */
const ERASED_SECONDS_MAX = isTimeReal ? 1_200 : 280

const [ACME, GLOBEX] = [liveOf('acme'), liveOf('globex')]

// Most tests of the operator need no Kafka.
describe.skipIf(!hasServer('kafka'))('an Erasure', () => {
  const stack = new AsyncDisposableStack()
  let kafka: ProxiedKafka
  let s3: FaultProxy
  let rig: Rig
  beforeAll(async () => {
    kafka = stack.use(await startProxiedKafka())
    const store = stack.use(await startS3([SERVICE_BUCKET]))
    s3 = stack.use(await openFaultProxy('s3'))
    s3.towards(store.port)
    const throughProxy = { PLATEN_S3_ENDPOINT: `http://127.0.0.1:${s3.port}` }
    rig = stack.use(
      await startRig({
        cluster: {
          apis: 1,
          engines: ['react_pdf'],
          events: 2,
          kafka: { broker: kafka.broker, topicPrefix: 'erased.' },
          s3: store,
          settings: LOOPBACK_ALLOWED,
          settingsOf: (name) => (name === 'events' ? throughProxy : {}),
        },
      }),
    )
    await rig.apply(aPlan(PLAN, { ...UNLIMITED, requestData: 'Stored' }))
    for (const [name, key, namespace] of [
      ['acme', ACME, TEAM],
      ['globex', GLOBEX, OTHERS],
    ] as const) {
      const own = [
        anApiKey(name, name, { sha256: `sha256:${hashOfKey(key)}` }),
        aTemplate(`${name}-letter`, name, { ...tsx(LETTER_TSX), code: 'letter' }),
      ]
      await rig.apply(
        aTenant(name, { namespaces: [namespace] }),
        ...own.map((resource) => inNamespace(resource, namespace)),
      )
      for (const place of [`apikey/${name}`, `template/${name}-letter`])
        await rig.says(place, { Ready: 'InForce', Propagated: 'Propagated' }, namespace)
    }
  })
  afterAll(() => stack.disposeAsync())

  const service = { url: () => rig.cluster.urls[0] ?? '' }
  const statusOf = async (id: string, key = ACME) =>
    (await request(service, { key, path: `/api/v1/render/${id}` })).status
  const statusesOf = (ids: readonly string[]) => Promise.all(ids.map((id) => statusOf(id)))
  const deliveriesOf = async (id: string) =>
    JSON.stringify((await request(service, { key: ACME, path: `/api/v1/render/${id}/deliveries` })).json())
  const until = (name: string, isWanted: (status: NonNullable<Found['status']>) => boolean) =>
    poll(() => rig.get('erasure', name)).until(({ status = {} }) => isWanted(status))
  const becomesReady = (name: string) =>
    rig.kubectl(
      'wait',
      '--for=condition=Ready',
      `erasure/${name}`,
      `--namespace=${TEAM}`,
      `--timeout=${ERASED_SECONDS_MAX}s`,
    )
  const healthNow = async (name: string) => {
    const [verdict] = await healthOf([await rig.get('erasure', name)])
    return [verdict?.kstatus.status, verdict?.argoCd?.status]
  }
  /** Keys of S3 that name one of the renders. */
  const keysOf = async (ids: readonly string[], signal: AbortSignal) => {
    await using stores = await openClusterStores(rig.cluster, signal)
    const keys = await Array.fromAsync(stores.artifacts.list(SERVICE_BUCKET, '', signal), ({ key }) => key)
    return keys.filter((key) => ids.some((id) => key.includes(id))).toSorted()
  }

  test('is completed while Kafka is away and the process that erases is killed, and leaves no word of a request', {
    timeout: 2.5 * ERASED_SECONDS_MAX * 1000,
  }, async ({ signal }) => {
    const receiver = ofTest(await aReceiver())
    const word = 'lovelace-0123456789'
    const body = { ...aRequest(word), webhook_url: `${receiver.url}/${word}` }
    const ids = await Promise.all([1, 2, 3].map(() => submit(service, ACME, body)))
    const foreign = await submit(service, GLOBEX, aRequest('babbage'))
    const renders = [...ids, foreign]
    for (const id of ids) expect((await ended(service, ACME, id)).status).toBe('succeeded')
    // Recorded, too, which is later than received.
    const isDelivered = async () =>
      (await Promise.all(ids.map(deliveriesOf))).every((text) => text.includes('"status":"delivered"'))
    await poll(isDelivered).until(Boolean)
    expect(await placesInCluster(word, rig.cluster, signal)).not.toEqual([])
    await kafka.kill()
    const [first, second] = rig.cluster.processes('events')
    second?.pause()
    const stopped = s3.hold({ side: 'before', request: /^DELETE \S+\.pdf[? ]/ }, signal)
    await rig.apply(anErasure('gdpr', 'acme', { renders }))
    const at = await stopped
    await first?.kill()
    at.release()
    expect(keysOfPdfs(ids)).not.toEqual([])
    second?.resume()
    expect(await becomesReady('gdpr')).toContain('condition met')
    const { status } = await rig.get('erasure', 'gdpr')
    expect(status).toMatchObject({
      erased: 3,
      notFound: 1,
      unfinished: 0,
      conditions: [{ type: 'Ready', status: 'True', reason: 'Erased', message: '3 erased, 1 not found' }],
    })
    expect(await healthNow('gdpr')).toEqual(['Current', 'Healthy'])
    expect(await statusesOf(ids)).toEqual([410, 410, 410])
    const { pdf_url: kept } = await ended(service, GLOBEX, foreign)
    expect((await fetch(String(kept))).status).toBe(200)
    await kafka.start()
    await first?.start()
    expect(await placesInCluster(word, rig.cluster, signal)).toEqual([])
    expect(await keysOf(ids, signal)).toEqual(ids.map((id) => `manifest/${id}.json`).toSorted())
  })

  test('of a render that runs waits for its end, and says so', async ({ signal }) => {
    const word = 'hopper-0123456789'
    const id = await submit(service, ACME, aRequest(word, { rounds: 2e7 }))
    await reaches(service, { key: ACME, id, states: ['running'] })
    const [renderer] = rig.cluster.processes('renderer')
    renderer?.pause()
    await rig.apply(anErasure('early', 'acme', { renders: [id] }))
    const { status } = await until('early', (found) => found['workedOffAt'] !== undefined)
    expect(status).toMatchObject({ erased: 0, notFound: 0, unfinished: 1 })
    const [ready, reconciling] = status?.conditions ?? []
    expect(ready).toMatchObject({ type: 'Ready', status: 'False', reason: 'Unfinished' })
    expect(reconciling).toMatchObject({ type: 'Reconciling', status: 'True', reason: 'Unfinished' })
    expect(await healthNow('early')).toEqual(['InProgress', 'Progressing'])
    expect(await statusOf(id)).toBe(200)
    renderer?.resume()
    expect(await becomesReady('early')).toContain('condition met')
    expect(await statusOf(id)).toBe(410)
    expect(await placesInCluster(word, rig.cluster, signal)).toEqual([])
  })

  test('of a render that crashed its renderers leaves nothing of the request with the dead letter', async ({
    signal,
  }) => {
    const word = 'noether-0123456789'
    const id = await submit(service, ACME, aRequest(word, { isEndless: true }))
    const [renderer] = rig.cluster.processes('renderer')
    const ledger = redisRenderLedger(rig.redis)
    const stateNow = async () => (await ledger.find(id as RenderId, signal))?.state
    for (const attempt of [1, 2, 3]) {
      // An attempt counts from its claim on.
      await poll(stateNow).until((state) => state?.status === 'running' && state.attempt === attempt)
      await renderer?.kill()
      await renderer?.start()
    }
    expect((await ended(service, ACME, id)).status).toBe('failed')
    const isDead = async () => (await recordsOf(rig.cluster)).some(({ topic }) => topic === 'render.dead')
    await poll(isDead).until(Boolean)
    expect(await placesInCluster(word, rig.cluster, signal)).not.toEqual([])
    await rig.apply(anErasure('crashed', 'acme', { renders: [id] }))
    expect(await becomesReady('crashed')).toContain('condition met')
    expect(await statusOf(id)).toBe(410)
    expect(await placesInCluster(word, rig.cluster, signal)).toEqual([])
  })

  test('of a tenant takes what was accepted before it was created, and nothing of later or of others', async () => {
    const before = await submit(service, ACME, aRequest('before'))
    const foreign = await submit(service, GLOBEX, aRequest('babbage'))
    await ended(service, ACME, before)
    await ended(service, GLOBEX, foreign)
    await rig.apply(anErasure('all', 'acme', { allRenders: true }))
    const { status } = await until('all', (found) => found['workedOffAt'] !== undefined)
    expect(status?.conditions?.[0]).toMatchObject({ status: 'False', reason: 'Unfinished' })
    expect(await healthNow('all')).toEqual(['InProgress', 'Progressing'])
    const after = await submit(service, ACME, aRequest('after'))
    expect((await ended(service, ACME, after)).status).toBe('succeeded')
    expect(await statusOf(before)).toBe(410)
    expect(await statusOf(foreign, GLOBEX)).toBe(200)
  })

  test('does nothing for a tenant that does not list its namespace', async () => {
    const id = await submit(service, ACME, aRequest('kept'))
    await ended(service, ACME, id)
    for (const [name, spec] of [
      ['stranger', { renders: [id] }],
      ['strangers', { allRenders: true }],
    ] as const) {
      await rig.apply(inNamespace(anErasure(name, 'acme', spec), OTHERS))
      const { status } = await poll(() => rig.get('erasure', name, OTHERS)).until(
        (found) => found.status?.conditions !== undefined,
      )
      expect(status?.conditions?.[0]).toMatchObject({
        reason: 'TenantNotFound',
        message: `there is no Tenant acme that lists ${OTHERS} in spec.namespaces`,
      })
      expect(status?.['orderedAt']).toBeUndefined()
    }
    expect(await statusOf(id)).toBe(200)
  })

  /** PDFs of the renders in S3, without Kafka. */
  function keysOfPdfs(ids: readonly string[]): readonly string[] {
    const names = readdirSync(rig.cluster.s3.folder, { recursive: true, encoding: 'utf8' })
    return names.filter((name) => name.endsWith('.pdf') && ids.some((id) => name.includes(id)))
  }
})

/** A request with this word wherever a request has words of its own. */
function aRequest(word: string, data: object = {}) {
  return { template: 'letter', data: { ...data, word }, options: { filename: `${word}.pdf` } }
}

import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { QUEUE_AGE_MS_MAX } from '@platen/contract/domain/limit.ts'
import {
  decodeManifest,
  encodeManifest,
  inputKey,
  type Manifest,
  manifestKey,
  type RenderRecord,
  tombstoneOf,
} from '@platen/contract/domain/render.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import {
  type Api,
  type ApiOptions,
  anApi,
  FOREIGN_KEY,
  keysUnder,
  LIVE_KEY,
  TEST_KEY,
} from '../../../test/fixture/api.ts'
import { aFailure, aManifest, aRecord, aReservation, aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { CANCELED_WAIT_MS } from './delete-render.ts'

const SCOPE = { account: aTenant().account, environment: 'live' } as const
const LEASE = { owner: 'renderer', leaseMs: 60_000 }
const inBucket = (key: string) => ({ bucket: 'platen', key })
const unreachable = () => Promise.reject(new Unavailable('no answer'))

/** An API, and a render that it accepted and reserved at noon. */
async function anApiWithRender(options: ApiOptions = {}) {
  const api = anApi(options)
  const id = mintRenderId(SCOPE, api.ports.keys(), { now: NOON, random: Buffer.alloc(5, 9) })
  const record = aRecord({ id })
  await api.ports.limiter.reserve(aReservation({ id }), NEVER)
  const path = `/api/v1/render/${id}`
  const remove = (key = LIVE_KEY) => api.call({ method: 'DELETE', path, headers: { authorization: `Bearer ${key}` } })
  return { api, record, path, remove }
}

type Scene = Awaited<ReturnType<typeof anApiWithRender>>

async function finish({ api, record }: Scene, manifest: Manifest): Promise<void> {
  await api.ports.artifacts.put(inBucket(manifestKey(record.id)), encodeManifest(manifest), NEVER)
}

async function manifestIn({ ports }: Api, { id }: RenderRecord): Promise<Manifest> {
  return decodeManifest((await ports.artifacts.get(inBucket(manifestKey(id)), NEVER)) ?? Buffer.of())
}

function codeOf(answer: Awaited<ReturnType<Api['get']>>): string | number {
  return answer.statusCode < 300 ? answer.statusCode : answer.json().error.code
}

describe('DELETE /render/:id of a render that waits', () => {
  test('cancels it at once, frees its reservation, and says the same again', async () => {
    const { api, record, path, remove } = await anApiWithRender()
    await api.ports.ledger.markQueued(record, NEVER)
    const answer = await remove()
    expect([answer.statusCode, answer.json()]).toEqual([
      200,
      {
        render_id: record.id,
        template: 'invoice',
        status: 'failed',
        created_at: '2026-11-21T12:00:00.000Z',
        finished_at: '2026-11-21T12:00:00.000Z',
        error: { code: 'canceled', reason: 'canceled', message: 'the render was canceled by its caller' },
      },
    ])
    const { account, period } = record
    expect(await api.ports.limiter.usage(account, period, NEVER)).toEqual({ charged: 0, reserved: 0 })
    expect(await api.ports.ledger.claim(record, LEASE, NEVER)).toEqual({ kind: 'settled' })
    expect((await api.get(path)).json()).toEqual(answer.json())
    await api.clock.advance(1000)
    expect([(await remove()).json(), (await remove()).json()]).toEqual([answer.json(), answer.json()])
  })

  test('leaves a manifest that is not that of an abandoned render, and a note when to remove it', async () => {
    const { api, record, remove } = await anApiWithRender()
    await remove()
    const manifest = await manifestIn(api, record)
    const { tenant, account, environment, storage, retentionDays } = record
    const render = { tenant, account, environment, storage, retentionDays }
    expect(manifest).toMatchObject({ kind: 'canceled', render })
    expect(await keysUnder(api, 'expiry/')).toHaveLength(1)
  })

  test('does so when nothing but the id is known, without a template', async () => {
    const { path, api, remove } = await anApiWithRender()
    const body = (await remove()).json()
    expect(body).toMatchObject({ status: 'failed', error: { code: 'canceled' } })
    expect(body).not.toHaveProperty('template')
    expect((await api.get(path)).json()).toEqual(body)
  })

  test('lets exactly one of fifty cancel it, and all say the same', async () => {
    const { api, record, remove } = await anApiWithRender()
    await api.ports.ledger.markQueued(record, NEVER)
    const answers = await Promise.all(Array.from({ length: 50 }, () => remove()))
    expect(new Set(answers.map(({ statusCode, body }) => `${statusCode} ${body}`)).size).toBe(1)
    expect(answers[0]?.statusCode).toBe(200)
  })
})

/** A claimed render, and a DELETE of it. Resolves when the ledger was told. */
async function deletedWhileRunning() {
  const ledger = memoryRenderLedger(manualClock(NOON))
  const recorded = Promise.withResolvers<void>()
  const cancel: typeof ledger.cancel = async (...call) => {
    const isHeld = await ledger.cancel(...call)
    recorded.resolve()
    return isHeld
  }
  const scene = await anApiWithRender({ ports: { ledger: { ...ledger, cancel } } })
  await ledger.claim(scene.record, LEASE, NEVER)
  const answering = scene.remove()
  await recorded.promise
  return { ...scene, answer: () => afterWaits(scene.api, answering) }
}

/** Lets time pass until the answer is there. */
async function afterWaits<Answer>({ clock }: Api, answering: Promise<Answer>): Promise<Answer> {
  const over = new AbortController()
  const answered = answering.finally(() => over.abort())
  while (!over.signal.aborted) await clock.advance(10)
  return await answered
}

describe('DELETE /render/:id of a render that runs', () => {
  test('tells its renderer, and answers with what that made of it', async () => {
    const scene = await deletedWhileRunning()
    const { api, record, answer } = scene
    expect(await api.ports.ledger.isCanceled(record.id, NEVER)).toBe(true)
    const error = { code: 'canceled', message: 'by its renderer' } as const
    await finish(scene, aManifest({ record, outcome: aFailure({ error }) }))
    expect((await answer()).json()).toMatchObject({ template: 'invoice', error })
  })

  test('removes the PDF of one that succeeded first', async () => {
    const scene = await deletedWhileRunning()
    const { record, answer } = scene
    await finish(scene, aManifest({ record }))
    expect((await answer()).statusCode).toBe(204)
  })

  test('decides by itself if its renderer does not answer', async () => {
    const { api, record, answer } = await deletedWhileRunning()
    expect((await answer()).json()).toMatchObject({ template: 'invoice', error: { code: 'canceled' } })
    const { kind, outcome } = await manifestIn(api, record)
    expect(kind).toBe('canceled')
    expect(outcome.finishedAt).toBeGreaterThanOrEqual(NOON + CANCELED_WAIT_MS)
  })
})

describe('DELETE /render/:id of a render that has ended', () => {
  test.for([
    ['succeeded', aManifest().outcome],
    ['failed', aFailure()],
  ] as const)('and %s removes PDF and input, and every later answer is 410', async ([, outcome]) => {
    const scene = await anApiWithRender()
    const { api, record, path, remove } = scene
    const { artifacts, ledger, limiter } = api.ports
    const manifest = aManifest({ record: { ...record, options: { filename: 'ada.pdf' } }, outcome })
    await finish(scene, manifest)
    await ledger.complete(manifest, NEVER)
    for (const name of ['one.pdf', 'another.pdf'])
      await artifacts.put(inBucket(`acme/${record.id}/${name}`), Buffer.of(1), NEVER)
    await artifacts.put(inBucket(inputKey('acme/', record.id)), Buffer.of(1), NEVER)
    await artifacts.put(inBucket('acme/other/input'), Buffer.of(1), NEVER)
    const answer = await remove()
    expect([answer.statusCode, answer.body]).toEqual([204, ''])
    expect(await keysUnder(api, 'acme/')).toEqual(['acme/other/input'])
    expect([codeOf(await api.get(path)), codeOf(await remove())]).toEqual(['RENDER_EXPIRED', 'RENDER_EXPIRED'])
    const removed = { ...manifest, kind: 'removed', render: { ...manifest.render, options: {} } }
    expect(await manifestIn(api, record)).toEqual(removed)
    expect(await limiter.usage(record.account, record.period, NEVER)).toEqual({ charged: 0, reserved: 1 })
  })

  test('hides it also while its outcome is not published', async () => {
    const scene = await anApiWithRender()
    const { api, record, path, remove } = scene
    await api.ports.ledger.claim(record, LEASE, NEVER)
    await finish(scene, aManifest({ record }))
    expect([(await remove()).statusCode, codeOf(await api.get(path))]).toEqual([204, 'RENDER_EXPIRED'])
  })

  test('finishes by a repetition what was interrupted', async () => {
    const artifacts = memoryArtifactStore()
    const scene = await anApiWithRender({ ports: { artifacts } })
    const { api, record, path, remove } = scene
    await finish(scene, aManifest({ record }))
    await artifacts.put(inBucket(inputKey('acme/', record.id)), Buffer.of(1), NEVER)
    const removing = artifacts.delete.bind(artifacts)
    artifacts.delete = unreachable
    expect([codeOf(await remove()), codeOf(await api.get(path))]).toEqual(['RENDER_UNAVAILABLE', 'RENDER_EXPIRED'])
    artifacts.delete = removing
    expect(codeOf(await remove())).toBe('RENDER_EXPIRED')
    expect(await keysUnder(api, 'acme/')).toEqual([])
  })

  test.for(['erased', 'expired'] as const)('and is %s is 410', async (how) => {
    const scene = await anApiWithRender()
    const manifest = aManifest({ record: { ...scene.record, retentionDays: 1 } })
    await finish(scene, how === 'erased' ? tombstoneOf(manifest.render, NOON) : manifest)
    if (how === 'expired') await scene.api.clock.advance(2 * QUEUE_AGE_MS_MAX)
    expect(codeOf(await scene.remove())).toBe('RENDER_EXPIRED')
  })
})

describe('DELETE /render/:id', () => {
  test.for([
    ['of another tenant', FOREIGN_KEY],
    ['of another environment', TEST_KEY],
  ])('with a key %s is 404 and changes nothing', async ([, key]) => {
    const { api, record, remove } = await anApiWithRender()
    expect(codeOf(await remove(key))).toBe('RENDER_NOT_FOUND')
    expect(await api.ports.ledger.isCanceled(record.id, NEVER)).toBe(false)
    expect(await keysUnder(api, '')).toEqual([])
  })

  test.for(['x', '01KAJHYV7NF3S8G9TWQ2MZXC4R', '..%2f..', '%00', 'a'.repeat(9000), '0'.repeat(26)])(
    'of %s, which was never issued, is 404',
    async (id) => {
      const headers = { authorization: `Bearer ${LIVE_KEY}` }
      expect(codeOf(await anApi().call({ method: 'DELETE', path: `/api/v1/render/${id}`, headers }))).toBe(
        'RENDER_NOT_FOUND',
      )
    },
  )

  test('of an id that was issued more than a day ago, and of which nothing is left, is 410', async () => {
    const { api, remove } = await anApiWithRender()
    await api.clock.advance(QUEUE_AGE_MS_MAX)
    expect(codeOf(await remove())).toBe('RENDER_EXPIRED')
    expect(await keysUnder(api, '')).toEqual([])
  })

  test('cancels without the ledger, after a moment for a renderer that may have the render', async () => {
    const ledger = {
      ...memoryRenderLedger(manualClock(NOON)),
      find: unreachable,
      cancel: unreachable,
      complete: unreachable,
    }
    const { api, path, remove } = await anApiWithRender({ ports: { ledger } })
    expect((await afterWaits(api, remove())).json()).toMatchObject({ error: { code: 'canceled' } })
    expect((await api.get(path)).json()).toMatchObject({ status: 'failed', error: { code: 'canceled' } })
  })

  test.for(['get', 'create'] as const)(
    'is 503 while the store does not %s, and works again afterwards',
    async (call) => {
      const artifacts = memoryArtifactStore()
      const { api, record, remove } = await anApiWithRender({ ports: { artifacts } })
      const working = artifacts[call].bind(artifacts)
      artifacts[call] = unreachable
      expect(codeOf(await remove())).toBe('RENDER_UNAVAILABLE')
      expect(await artifacts.has(inBucket(manifestKey(record.id)), NEVER)).toBe(false)
      Object.assign(artifacts, { [call]: working })
      expect((await remove()).json()).toMatchObject({ error: { code: 'canceled' } })
      const { account, period } = record
      expect(await api.ports.limiter.usage(account, period, NEVER)).toEqual({ charged: 0, reserved: 0 })
    },
  )
})

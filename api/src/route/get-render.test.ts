import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import { FORMAT, NewerFormat } from '@platen/contract/domain/format.ts'
import { QUEUE_AGE_MS_MAX } from '@platen/contract/domain/limit.ts'
import {
  encodeManifest,
  manifestKey,
  type Outcome,
  type RenderRecord,
  tombstoneOf,
  UnreadableManifest,
} from '@platen/contract/domain/render.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { type Api, anApi, FOREIGN_KEY, TEST_KEY } from '../../../test/fixture/api.ts'
import { aFailure, aManifest, aRecord, aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** How long after noon the renders of the fixtures end. */
const END_MS = 500
const SCOPE = { account: aTenant().account, environment: 'live' } as const

/** A render that this API accepted at noon. */
function accepted({ ports }: Api, fields: Partial<RenderRecord> = {}): RenderRecord {
  const id = mintRenderId(SCOPE, ports.keys(), { now: NOON, random: Buffer.alloc(5, 9) })
  return aRecord({ id, ...fields })
}

async function finish(api: Api, record: RenderRecord, outcome?: Outcome): Promise<void> {
  const manifest = aManifest({ record, ...(outcome && { outcome }) })
  await api.ports.artifacts.create({ bucket: 'platen', key: manifestKey(record.id) }, encodeManifest(manifest), NEVER)
}

function codeOf(answer: Awaited<ReturnType<Api['get']>>): string | number {
  return answer.statusCode === 200 ? answer.statusCode : answer.json().error.code
}

describe('GET /render/:id', () => {
  test('tells how far a render has come', async () => {
    const api = anApi()
    const record = accepted(api)
    const path = `/api/v1/render/${record.id}`
    const known = { render_id: record.id, template: 'invoice', created_at: '2026-11-21T12:00:00.000Z' }
    await api.ports.ledger.markQueued(record, NEVER)
    expect((await api.get(path)).json()).toEqual({ ...known, status: 'queued' })
    await api.ports.ledger.claim(record, { owner: 'renderer', leaseMs: 1000 }, NEVER)
    expect((await api.get(path)).json()).toEqual({ ...known, status: 'running' })
    await api.ports.ledger.complete(aManifest({ record, outcome: aFailure() }), NEVER)
    expect((await api.get(path)).json()).toEqual({
      ...known,
      status: 'failed',
      finished_at: '2026-11-21T12:00:00.500Z',
      error: { code: 'template_error', reason: 'template_error', message: 'template.tsx:3:7: total is not defined' },
    })
  })

  test('gives a URL for ten minutes, under the file name asked for, created again at every GET', async () => {
    const api = anApi()
    const record = accepted(api, { options: { filename: 'offer.pdf' } })
    await finish(api, record)
    await api.ports.ledger.complete(aManifest({ record }), NEVER)
    const answer = (await api.get(`/api/v1/render/${record.id}`)).json()
    expect(answer).toMatchObject({
      status: 'succeeded',
      pdf_size_bytes: 1234,
      finished_at: '2026-11-21T12:00:00.500Z',
    })
    expect(answer.pdf_url).toContain(`/platen/acme/${record.id}/`)
    expect(new URL(answer.pdf_url).searchParams.get('filename')).toBe('offer.pdf')
    expect(new URL(answer.pdf_url).searchParams.get('expires')).toBe(`${NOON + 600_000}`)
    await api.clock.advance(1000)
    const later = (await api.get(`/api/v1/render/${record.id}`)).json()
    expect(new URL(later.pdf_url).searchParams.get('expires')).toBe(`${NOON + 601_000}`)
  })

  test('shows pages, and warnings if there are any', async () => {
    const warned = {
      warnings: [{ code: 'text_overflow', place: 'page 2', message: 'over' }],
      warningsOmitted: 3,
    } as const
    const shown = async (outcome?: Outcome) => {
      const api = anApi()
      const record = accepted(api)
      await finish(api, record, outcome)
      const { pages, warnings, warnings_omitted } = (await api.get(`/api/v1/render/${record.id}`)).json()
      return { pages, warnings, warnings_omitted }
    }
    const { outcome } = aManifest()
    const fields = { warnings: warned.warnings, warnings_omitted: 3 }
    if (outcome.status !== 'succeeded') throw new Error('it succeeded')
    expect(await shown({ ...outcome, ...warned, pages: 4 })).toEqual({ pages: 4, ...fields })
    expect(await shown(aFailure({ error: { code: 'document_warnings', message: 'strict' }, ...warned }))).toEqual(
      fields,
    )
    expect(await shown()).toEqual({ pages: 1 })
  })

  test('takes an id in small letters', async () => {
    const api = anApi()
    const record = accepted(api)
    expect((await api.get(`/api/v1/render/${record.id.toLowerCase()}`)).json().render_id).toBe(record.id)
  })

  test.for([
    ['succeeded', undefined],
    ['failed', aFailure()],
  ] as const)('says %s from the manifest when the ledger has forgotten', async ([status, outcome]) => {
    const api = anApi()
    const record = accepted(api)
    await finish(api, record, outcome)
    expect((await api.get(`/api/v1/render/${record.id}`)).json()).toMatchObject({ status, template: 'invoice' })
  })

  test.for([
    ['waits', (ledger, record) => ledger.markQueued(record, NEVER)],
    ['runs', (ledger, record) => ledger.claim(record, { owner: 'renderer', leaseMs: 1000 }, NEVER)],
  ] as const satisfies readonly [string, (ledger: RenderLedger, record: RenderRecord) => Promise<unknown>][])(
    'says how a render ended of which a ledger that was set back says that it %s',
    async ([, setBack]) => {
      const api = anApi()
      const record = accepted(api)
      await setBack(api.ports.ledger, record)
      await finish(api, record)
      expect((await api.get(`/api/v1/render/${record.id}`)).json()).toMatchObject({ status: 'succeeded' })
    },
  )

  test.for([
    ['waits', undefined],
    ['succeeded', aManifest().outcome],
    ['failed', aFailure()],
  ] as const)('says of a render that %s that it is no longer kept, once it is erased', async ([, outcome]) => {
    const ledger = memoryRenderLedger(manualClock(NOON))
    const api = anApi({ ports: { ledger } })
    const record = accepted(api)
    await ledger.markQueued(record, NEVER)
    if (outcome !== undefined) await ledger.complete(aManifest({ record, outcome }), NEVER)
    const tombstone = tombstoneOf(aManifest({ record }).render, NOON)
    const address = { bucket: 'platen', key: manifestKey(record.id) }
    await api.ports.artifacts.put(address, encodeManifest(tombstone), NEVER)
    await ledger.forget(record.id, NEVER)
    const path = `/api/v1/render/${record.id}`
    expect(codeOf(await api.get(path))).toBe('RENDER_EXPIRED')
    await ledger.complete(tombstone, NEVER)
    expect(codeOf(await api.get(path))).toBe('RENDER_EXPIRED')
  })

  test('says queued of an id that was issued and of which nothing is known', async () => {
    const api = anApi()
    const { id } = accepted(api)
    expect((await api.get(`/api/v1/render/${id}`)).json()).toEqual({
      render_id: id,
      status: 'queued',
      created_at: '2026-11-21T12:00:00.000Z',
    })
  })

  test('answers from the manifest when the ledger is away', async () => {
    const find = () => Promise.reject(new Unavailable('connection refused'))
    const api = anApi({ ports: { ledger: { ...memoryRenderLedger(manualClock(NOON)), find } } })
    const record = accepted(api)
    await finish(api, record)
    expect((await api.get(`/api/v1/render/${record.id}`)).json().status).toBe('succeeded')
    expect(api.lines).toContainEqual(
      expect.objectContaining({ level: 'debug', fields: expect.objectContaining({ render: record.id }) }),
    )
  })

  test.for([
    ['nothing', async () => undefined],
    ['that it waits', (ledger, record) => ledger.markQueued(record, NEVER)],
    ['that it succeeded', (ledger, record) => ledger.complete(aManifest({ record }), NEVER)],
  ] as const satisfies readonly [string, (ledger: RenderLedger, record: RenderRecord) => Promise<void>][])(
    'answers 503 when the manifest cannot be read and the ledger says %s',
    async ([, tell]) => {
      const get = () => Promise.reject(new Unavailable('connection refused'))
      const api = anApi({ ports: { artifacts: { ...memoryArtifactStore(), get } } })
      const record = accepted(api)
      await tell(api.ports.ledger, record)
      const answer = await api.get(`/api/v1/render/${record.id}`)
      expect([answer.statusCode, codeOf(answer), answer.headers['retry-after']]).toEqual([
        503,
        'RENDER_UNAVAILABLE',
        '2',
      ])
    },
  )

  test('answers 503 when only a newer version can read the manifest, and tells the log its format', async () => {
    const api = anApi()
    const record = accepted(api)
    await api.ports.ledger.complete(aManifest({ record }), NEVER)
    const newer = Buffer.from(JSON.stringify({ version: FORMAT + 1, everything: 'is different' }))
    await api.ports.artifacts.put({ bucket: 'platen', key: manifestKey(record.id) }, newer, NEVER)
    const answer = await api.get(`/api/v1/render/${record.id}`)
    expect([answer.statusCode, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'RENDER_UNAVAILABLE', '2'])
    expect(api.lines.map(({ fields }) => fields['err'])).toContainEqual(new NewerFormat(FORMAT + 1))
  })

  test('answers 500 when the manifest is damaged, and tells the log which it was', async () => {
    const api = anApi()
    const record = accepted(api)
    await api.ports.ledger.complete(aManifest({ record }), NEVER)
    const half = encodeManifest(aManifest({ record })).subarray(0, 100)
    await api.ports.artifacts.put({ bucket: 'platen', key: manifestKey(record.id) }, half, NEVER)
    const answer = await api.get(`/api/v1/render/${record.id}`)
    expect([answer.statusCode, codeOf(answer)]).toEqual([500, 'INTERNAL_ERROR'])
    expect(answer.body).not.toContain('manifest')
    const incident = { level: 'error', fields: expect.objectContaining({ err: expect.any(UnreadableManifest) }) }
    expect(api.lines).toContainEqual(expect.objectContaining(incident))
  })

  test.for([
    ['nothing known, a moment before a day has passed', QUEUE_AGE_MS_MAX - 1, false, 200],
    ['nothing known after a day', QUEUE_AGE_MS_MAX, false, 'RENDER_EXPIRED'],
    ['a manifest after a day', QUEUE_AGE_MS_MAX, true, 200],
    ['a manifest a moment before its days are over', END_MS + 30 * DAY_MS - 1, true, 200],
    ['a manifest that nobody has removed yet', END_MS + 30 * DAY_MS, true, 'RENDER_EXPIRED'],
    ['nothing left of it after its retention', 31 * DAY_MS, false, 'RENDER_EXPIRED'],
  ] as const)('with %s answers %s', async ([, ageMs, hasManifest, answer]) => {
    const api = anApi()
    const record = accepted(api)
    if (hasManifest) await finish(api, record)
    await api.clock.advance(ageMs)
    expect(codeOf(await api.get(`/api/v1/render/${record.id}`))).toBe(answer)
  })

  test.for([
    ['a moment before its days are over', END_MS + DAY_MS - 1, 200],
    ['when its days are over', END_MS + DAY_MS, 'RENDER_EXPIRED'],
  ] as const)('of a failure that nobody has removed yet answers %s with %s', async ([, ageMs, answer]) => {
    const api = anApi()
    const record = accepted(api, { retentionDays: 1 })
    await finish(api, record, aFailure())
    await api.ports.ledger.complete(aManifest({ record, outcome: aFailure() }), NEVER)
    await api.clock.advance(ageMs)
    expect(codeOf(await api.get(`/api/v1/render/${record.id}`))).toBe(answer)
  })

  test('gives no URL that outlasts its render', async () => {
    const api = anApi()
    const record = accepted(api, { retentionDays: 1 })
    await finish(api, record)
    await api.clock.advance(END_MS + DAY_MS - 60_000)
    const { pdf_url: url } = (await api.get(`/api/v1/render/${record.id}`)).json()
    expect(new URL(url).searchParams.get('expires')).toBe(`${NOON + END_MS + DAY_MS}`)
  })

  test('shows a render as long as it is kept, although the plan now keeps renders only for a day', async () => {
    const api = anApi({ tenant: { limits: { retentionDays: 1 } } })
    const record = accepted(api, { retentionDays: 30 })
    await finish(api, record)
    await api.clock.advance(29 * DAY_MS)
    expect((await api.get(`/api/v1/render/${record.id}`)).json()).toMatchObject({ status: 'succeeded' })
  })

  test('gives the URL of a PDF where it was stored, though the tenant has moved to another bucket', async () => {
    const api = anApi({ tenant: { storage: { bucket: 'elsewhere', prefix: 'new/' } } })
    const record = accepted(api)
    await finish(api, record)
    const { pdf_url: url } = (await api.get(`/api/v1/render/${record.id}`)).json()
    expect(url).toContain(`/platen/acme/${record.id}/`)
  })

  test('has no URL for a render that is just being removed, its manifest first', async () => {
    const api = anApi()
    const record = accepted(api)
    await api.ports.ledger.complete(aManifest({ record }), NEVER)
    await api.clock.advance(31 * DAY_MS)
    expect(codeOf(await api.get(`/api/v1/render/${record.id}`))).toBe('RENDER_EXPIRED')
  })

  test('believes no ledger that says running after a day', async () => {
    const api = anApi()
    const record = accepted(api)
    await api.ports.ledger.claim(record, { owner: 'renderer', leaseMs: 1000 }, NEVER)
    await api.clock.advance(QUEUE_AGE_MS_MAX)
    expect(codeOf(await api.get(`/api/v1/render/${record.id}`))).toBe('RENDER_EXPIRED')
    await finish(api, record)
    expect((await api.get(`/api/v1/render/${record.id}`)).json().status).toBe('succeeded')
  })

  test('goes on answering a suspended tenant', async () => {
    const api = anApi({ tenant: { suspended: true } })
    expect(codeOf(await api.get(`/api/v1/render/${accepted(api).id}`))).toBe(200)
  })
})

describe('an id that was not issued to the caller', () => {
  /** Counts every call to the stores that a GET could make. */
  function watched() {
    const calls: string[] = []
    const watch = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get(target, name, receiver) {
          calls.push(String(name))
          return Reflect.get(target, name, receiver)
        },
      })
    const artifacts: ArtifactStore = watch(memoryArtifactStore())
    const ledger: RenderLedger = watch(memoryRenderLedger(manualClock(NOON)))
    return { api: anApi({ ports: { artifacts, ledger } }), calls }
  }

  test.for([
    ['made up', () => '01KAJHYV7NF3S8G9TWQ2MZXC4R', {}],
    ['of another tenant', (id: string) => id, { authorization: `Bearer ${FOREIGN_KEY}` }],
    ['of the other environment', (id: string) => id, { authorization: `Bearer ${TEST_KEY}` }],
    ['one character off', (id: string) => `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`, {}],
    ['too long by far', () => 'A'.repeat(8000), {}],
    ['too short', () => 'A', {}],
    ['full of odd characters', () => '%00%F0%9F%A7%BE%2F..%2F', {}],
  ] as const)('is the same 404 when it is %s, and touches no store', async ([, spell, headers]) => {
    const { api, calls } = watched()
    const { id } = accepted(api)
    const answer = await api.get(`/api/v1/render/${spell(id)}`, { ...headers, 'x-request-id': 'r' })
    expect(answer.statusCode).toBe(404)
    expect(answer.json()).toEqual({
      error: {
        code: 'RENDER_NOT_FOUND',
        reason: 'render_not_found',
        message: 'No render of this id was issued to this key.',
        request_id: 'r',
      },
    })
    expect(calls).toEqual([])
  })

  test('is found again by the watch when it is the right one', async () => {
    const { api, calls } = watched()
    await api.get(`/api/v1/render/${accepted(api).id}`)
    expect(calls).toEqual(['find', 'get'])
  })
})

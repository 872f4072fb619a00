/** Sync renders whose reply channel is broken, or was for a while. */
import { createHash } from 'node:crypto'
import { memoryReplyChannel } from '@platen/adapters/memory/reply-channel.ts'
import {
  decodeManifest,
  encodeManifest,
  type Manifest,
  manifestKey,
  type Outcome,
  pdfKey,
  type RenderRecord,
} from '@platen/contract/domain/render.ts'
import type { ReplyChannel } from '@platen/contract/port/reply-channel.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { type Api, type ApiOptions, anApi, queued } from '../../../test/fixture/api.ts'
import { aManifest, aRecord, aReply, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { OUTCOME_POLL_MS_MAX, OUTCOME_POLL_MS_MIN, SYNC_REPLY_MARGIN_MS, SYNC_START_MS_MAX } from './limit.ts'
import { renderSync } from './render-sync.ts'

const SYNC = { template: 'invoice', data: {} }
const PDF = Buffer.from('%PDF-1.7 …')
const WAIT_MS_MAX = SYNC_START_MS_MAX + 25_000 + SYNC_REPLY_MARGIN_MS

/** A channel that a test can break. */
function breakable(): ReplyChannel & { break(): void } {
  const broken = Promise.withResolvers<void>()
  const channel = memoryReplyChannel()
  return {
    ...channel,
    expect: (id) => ({ ...channel.expect(id), broken: (signal) => raceAbort(broken.promise, signal) }),
    break: () => broken.resolve(),
  }
}

/** A sync render in the queue, and the ways it may continue. */
async function aWait(options: ApiOptions['ports'] = {}) {
  const replies = breakable()
  const store = memoryArtifactStore()
  const looks = { count: 0, isAway: false }
  const artifacts: typeof store = {
    ...store,
    async get(address, signal) {
      if (address.key.startsWith('manifest/')) looks.count += 1
      if (looks.isAway) throw new Unavailable('no answer')
      return await store.get(address, signal)
    },
  }
  const api = anApi({ ports: { replies, artifacts, ...options } })
  const answer = api.post(SYNC)
  const record = await queued(api, 'sync')
  return { api, replies, record, answer, looks }
}

async function write(outcome: Outcome, record: RenderRecord, { ports }: Api): Promise<void> {
  const bytes = encodeManifest(aManifest({ record, outcome }))
  await ports.artifacts.create({ bucket: 'platen', key: manifestKey(record.id) }, bytes, NEVER)
}

/** Does what a renderer does at the end if its reply cannot be delivered. */
async function succeed(record: RenderRecord, api: Api, stored: Uint8Array = PDF): Promise<void> {
  const sha256 = createHash('sha256').update(PDF).digest('hex')
  const address = { bucket: 'platen', key: pdfKey(record, sha256) }
  await api.ports.artifacts.put(address, stored, NEVER)
  await write(
    { status: 'succeeded', finishedAt: NOON, durationMs: 77, pages: 1, pdf: { address, bytes: PDF.length, sha256 } },
    record,
    api,
  )
}

async function manifestIn({ ports }: Api, record: RenderRecord): Promise<Manifest | undefined> {
  const bytes = await ports.artifacts.get({ bucket: 'platen', key: manifestKey(record.id) }, NEVER)
  return bytes && decodeManifest(bytes)
}

/** A sync render whose caller can leave. */
async function leaving() {
  const replies = breakable()
  const api = anApi({ ports: { replies } })
  const departure = new AbortController()
  const admission = { record: aRecord({ mode: 'sync', lane: 'sync' }) }
  const answer = renderSync(admission, api.ports, departure.signal)
  const record = await queued(api, 'sync')
  const leave = async () => {
    // Lets everything that the renderer or the channel has said arrive first.
    await api.clock.advance(0)
    departure.abort(new DOMException('the caller has gone', 'AbortError'))
    await expect(answer).rejects.toMatchObject({ code: 'RENDER_UNAVAILABLE' })
  }
  return { api, replies, record, leave }
}

describe('a sync render whose way back is broken', () => {
  test('is answered from its manifest, soon after that is there', async () => {
    const { api, replies, record, answer } = await aWait()
    replies.break()
    await api.clock.advance(1000)
    await succeed(record, api)
    await api.clock.advance(500)
    expect((await answer).rawPayload).toEqual(PDF)
    expect((await answer).headers).toMatchObject({ 'x-service-render-id': record.id, 'x-service-render-ms': '77' })
  })

  test('is answered with its failure', async () => {
    const { api, replies, record, answer } = await aWait()
    replies.break()
    const error = { code: 'page_limit', message: 'over 2000 pages' } as const
    await write({ status: 'failed', finishedAt: NOON, durationMs: 77, error }, record, api)
    await api.clock.advance(OUTCOME_POLL_MS_MIN)
    expect((await answer).json().error).toMatchObject({
      code: 'INTERNAL_ERROR',
      message: 'page_limit: over 2000 pages',
    })
  })

  test('is answered by its reply where that comes all the same', async () => {
    const { api, replies, record, answer } = await aWait()
    replies.break()
    await api.clock.advance(1000)
    await api.ports.replies.reply(record.id, aReply(PDF, { durationMs: 5 }), NEVER)
    expect((await answer).headers['x-service-render-ms']).toBe('5')
  })

  test('may break while a renderer has it in hand', async () => {
    const { api, replies, record, answer, looks } = await aWait()
    api.ports.replies.notifyStarted(record.id)
    await api.clock.advance(5000)
    expect(looks.count).toBe(0)
    replies.break()
    await succeed(record, api)
    await api.clock.advance(OUTCOME_POLL_MS_MIN)
    expect((await answer).statusCode).toBe(200)
  })

  test('is waited for as long as the slowest may take, as nobody can say that none has begun', async () => {
    const { api, replies, record, answer } = await aWait()
    replies.break()
    await api.clock.advance(WAIT_MS_MAX - 1)
    expect(await manifestIn(api, record)).toBe(undefined)
    await api.clock.advance(1)
    expect((await answer).json().error.code).toBe('RENDER_UNAVAILABLE')
    expect(await manifestIn(api, record)).toMatchObject({ kind: 'abandoned', outcome: { error: { code: 'canceled' } } })
  })

  test('costs the store some fifty looks at most, and one that is whole costs it none', async () => {
    const broken = await aWait()
    broken.replies.break()
    await broken.api.clock.advance(WAIT_MS_MAX)
    await broken.answer
    expect(broken.looks.count).toBeGreaterThan((WAIT_MS_MAX - SYNC_START_MS_MAX) / OUTCOME_POLL_MS_MAX)
    expect(broken.looks.count).toBeLessThan(60)
    const whole = await aWait()
    await whole.api.clock.advance(SYNC_START_MS_MAX)
    await whole.answer
    expect(whole.looks.count).toBe(0)
  })

  test('is looked for again after the store was away, and soon also then', async () => {
    const { api, replies, record, answer, looks } = await aWait()
    replies.break()
    looks.isAway = true
    await api.clock.advance(20_000)
    looks.isAway = false
    await succeed(record, api)
    await api.clock.advance(OUTCOME_POLL_MS_MAX)
    expect((await answer).statusCode).toBe(200)
  })

  test('is given up by the API itself when its caller goes, though a renderer has begun', async () => {
    const { api, replies, record, leave } = await leaving()
    replies.notifyStarted(record.id)
    replies.break()
    await leave()
    expect(await manifestIn(api, record)).toMatchObject({ kind: 'abandoned', outcome: { error: { code: 'canceled' } } })
  })

  test('whose way back is whole, and which a renderer has begun, is left to that when its caller goes', async () => {
    const { api, replies, record, leave } = await leaving()
    replies.notifyStarted(record.id)
    await leave()
    expect(await manifestIn(api, record)).toBe(undefined)
    expect(replies.callerGone(record.id, NEVER).aborted).toBe(true)
  })
})

test('bytes that are not those of the manifest go to nobody, and are told to the operator', async () => {
  const { api, replies, record, answer } = await aWait()
  replies.break()
  await succeed(record, api, Buffer.from('%PDF-1.7 half'))
  await api.clock.advance(OUTCOME_POLL_MS_MIN)
  const { statusCode, body } = await answer
  expect([statusCode, JSON.parse(body).error.code]).toEqual([500, 'INTERNAL_ERROR'])
  expect(body).toContain('damaged')
  const [line] = api.lines.filter(({ level }) => level === 'error')
  expect(String(line?.fields['err'])).toContain(`acme/${record.id}/`)
})

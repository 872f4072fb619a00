/**
 * Whoever has little to do does not wait behind whoever has much. With one slot, renders end in the order in which they are begun, so
 * that order is what is looked at: see docs/operations.md for the bound.
 */
import type { StatusRecord } from '@platen/contract/schema/response.ts'
import { beforeEach, expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { key, LETTER_TSX, liveOf, manifestOf, plan, template, tenant, tsx } from '../fixture/manifests.ts'
import { IS_LONG } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { ended, render, request, submit } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const FAIR_SHARE = 4
/** Async renders that are served for each bulk render, and slots, each of which may owe the bulk lane one from before. */
const ASYNC_PER_BULK = 4
const SLOTS = 1
const BUSY_COUNT = 20
/** What somebody busy has queued: far more than its share. */
const QUEUED = IS_LONG ? 200 : 40
const BUSY = Array.from({ length: BUSY_COUNT }, (_, at) => `busy-${at}`)

const body = { template: 'letter', data: {} }

const everybody = (name: string) => [
  tenant(name, 'any'),
  key(name, 'live', liveOf(name)),
  template(name, 'letter', tsx(LETTER_TSX)),
]
const limits = { renderTimeoutSeconds: 120, asyncRateLimitPerMinute: 100_000, asyncFairShare: FAIR_SHARE }
const HOLDERS = Array.from({ length: SLOTS + 1 }, (_, at) => `holder-${at}`)
const documents = [plan('any', limits), ...[...HOLDERS, 'quiet', ...BUSY].flatMap(everybody)]

let holding: AbortController
const service = shared(() => {
  const settings = { PLATEN_RENDER_SLOTS: `${SLOTS}`, PLATEN_CHROMIUM: 'none', PLATEN_LOG_LEVEL: 'debug' }
  return startService(settings, manifestOf(documents))
})
beforeEach(async () => {
  holding = await holdSlots()
})

/** Keeps every slot from everybody, the one of sync renders included, until it is aborted: a render ends when its caller goes. */
async function holdSlots(): Promise<AbortController> {
  const over = new AbortController()
  const wanted = (await begun()) + SLOTS + 1
  // One each: no tenant has all slots for its sync renders.
  for (const name of HOLDERS) beginEndless(name, over.signal)
  await poll(begun).until((count) => count === wanted)
  return over
}

/** How many renders have ever begun. */
async function begun(): Promise<number> {
  return (
    service()
      .log()
      .match(/render started/g)?.length ?? 0
  )
}

/** A sync render that ends with the signal alone. */
function beginEndless(name: string, signal: AbortSignal): void {
  const endless = { template: 'letter', data: { isEndless: true } }
  request(service(), { key: liveOf(name), body: endless, signal }).catch(() => undefined)
}

/** Queues so many renders of a tenant, of which the first are its fair share of the async lane. */
async function queue(name: string, count: number): Promise<readonly string[]> {
  const ids: string[] = []
  while (ids.length < FAIR_SHARE) ids.push(await submit(service(), liveOf(name), body))
  const rest = Array.from({ length: count - FAIR_SHARE }, () => submit(service(), liveOf(name), body))
  return [...ids, ...(await Promise.all(rest))]
}

/** How they have ended, once all of them have. */
async function endsOf(name: string, ids: readonly string[]): Promise<readonly StatusRecord[]> {
  const ends: StatusRecord[] = []
  for (const id of ids) ends.push(await ended(service(), liveOf(name), id))
  expect(ends.filter(({ status }) => status !== 'succeeded')).toEqual([])
  return ends
}

/** How a render of a tenant has ended that came last, when everybody was in the queue and nobody had been served. */
async function lastOf(name: string): Promise<StatusRecord> {
  const id = await submit(service(), liveOf(name), body)
  holding.abort()
  return await ended(service(), liveOf(name), id)
}

/** Those that ended no later than one of them. */
function before(ends: readonly StatusRecord[], { finished_at: end = '' }: StatusRecord): readonly StatusRecord[] {
  return ends.filter(({ finished_at = '' }) => finished_at <= end)
}

test('a single render waits for no more than the fair share of a tenant that has queued ten times as many', async () => {
  const queued = await queue('busy-0', QUEUED)
  const single = await lastOf('quiet')
  const ends = await endsOf('busy-0', queued)
  expect(before(ends, single).length).toBeLessThanOrEqual(boundOf(FAIR_SHARE))
})

test('with twenty busy tenants a single render waits for no more than the fair share of each', async () => {
  const each = (IS_LONG ? 3 : 1.5) * FAIR_SHARE
  const queued = await Promise.all(BUSY.map((name) => queue(name, each)))
  const single = await lastOf('quiet')
  const ends = await Promise.all(BUSY.map((name, at) => endsOf(name, queued[at] ?? [])))
  const ahead = before(ends.flat(), single)
  expect(ahead.length).toBeLessThanOrEqual(boundOf(BUSY_COUNT * FAIR_SHARE))
  // Those of the bulk lane are all that is not of anybody's share.
  const shares = before(
    ends.flatMap((own) => own.slice(0, FAIR_SHARE)),
    single,
  )
  expect(ahead.length - shares.length).toBeLessThanOrEqual(SLOTS + shares.length / ASYNC_PER_BULK)
})

test('sync renders do not wait for what is queued', async () => {
  const queued = await queue('busy-0', QUEUED)
  holding.abort()
  for (let count = 0; count < 5; count++) expect((await render(service(), liveOf('quiet'), body)).status).toBe(200)
  const last = await render(service(), liveOf('quiet'), body)
  const single = await ended(service(), liveOf('quiet'), String(last.headers.get('x-service-render-id')))
  const ends = await endsOf('busy-0', queued)
  expect(before(ends, single).length).toBeLessThan(queued.length / 2)
})

test('a sync render does not wait for those of a tenant that has sent twenty without an end', async () => {
  holding.abort()
  const over = new AbortController()
  const wanted = (await begun()) + 1
  for (let count = 0; count < 20; count++) beginEndless('busy-0', over.signal)
  await poll(begun).until((count) => count >= wanted)
  for (let count = 0; count < 3; count++) expect((await render(service(), liveOf('quiet'), body)).status).toBe(200)
  over.abort()
})

/** How many renders of others may be begun between the arrival of one and its own turn, when so many of the async lane are before it. */
function boundOf(asyncAhead: number): number {
  return asyncAhead + SLOTS + Math.floor(asyncAhead / ASYNC_PER_BULK)
}

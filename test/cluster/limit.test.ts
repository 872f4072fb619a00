/** Several API processes as one service: their callers cannot tell which of them answers. */
import { ENDS_CHANNEL } from '@platen/adapters/redis/render-ledger/render-ends.ts'
import { expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import { ended, endedByWaiting, type RenderAnswer, render, request, submit } from '../topology/service.ts'
import { aCluster, aTenant, eventsIn, LETTER, manifestsIn, redisOf } from './harness.ts'

const LIMITED_LIVE = `service_live_${'L'.repeat(43)}`
const ROOMY_LIVE = `service_live_${'R'.repeat(43)}`
const APIS = [0, 1, 2]
const LIMIT = 30
const ASKED = 3 * LIMIT
const KEYS = 10

const cluster = shared(() =>
  aCluster({
    apis: APIS.length,
    documents: [
      ...aTenant('limited', LIMITED_LIVE, { syncRateLimitPerMinute: LIMIT, asyncRateLimitPerMinute: LIMIT }),
      ...aTenant('roomy', ROOMY_LIVE, { syncRateLimitPerMinute: 10_000, asyncRateLimitPerMinute: 10_000 }),
    ],
  }),
)

const idOf = (answer: RenderAnswer) => String(answer.json()['render_id'])
const codeOf = (answer: RenderAnswer) => (answer.json()['error'] as { code?: unknown }).code

test.for([
  ['async', 202],
  ['sync', 200],
] as const)(
  'of 90 %s requests to three at once, those 30 are admitted that the plan allows',
  async ([mode, admitted]) => {
    const requests = Array.from({ length: ASKED }, async (_, at) => {
      return await render(cluster().at(at % APIS.length), LIMITED_LIVE, { ...LETTER, mode })
    })
    const answers = await Promise.all(requests)
    const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length
    expect({ admitted: count(admitted), refused: count(429) }).toEqual({ admitted: LIMIT, refused: ASKED - LIMIT })
    if (mode === 'sync') return
    for (const answer of answers.filter(({ status }) => status === admitted)) {
      expect((await ended(cluster().at(0), LIMITED_LIVE, idOf(answer))).status).toBe('succeeded')
    }
  },
)

test('one Idempotency-Key sent to all of them at once is one render', async ({ signal }) => {
  const keys = Array.from({ length: KEYS }, (_, at) => `order-${at}`)
  const send = (api: number, name: string) =>
    request(cluster().at(api), {
      key: ROOMY_LIVE,
      body: { ...LETTER, mode: 'async' },
      headers: { 'idempotency-key': name },
    })
  const ids: string[] = []
  // One key after the other: a process that is busy with others comes too late for the race.
  for (const name of keys) {
    const first = await Promise.all(APIS.map((api) => send(api, name)))
    for (const refused of first.filter(({ status }) => status !== 202)) {
      expect([refused.status, codeOf(refused)]).toEqual([409, 'IDEMPOTENCY_IN_PROGRESS'])
    }
    const later = await Promise.all(
      APIS.map((api) => poll(() => send(api, name)).until(({ status }) => status === 202)),
    )
    const [id = '', ...others] = new Set([...first, ...later].filter(({ status }) => status === 202).map(idOf))
    expect(others).toEqual([])
    ids.push(id)
  }
  expect(new Set(ids).size).toBe(keys.length)
  for (const id of ids) expect((await ended(cluster().at(1), ROOMY_LIVE, id)).status).toBe('succeeded')
  const made = (await manifestsIn(cluster(), signal)).filter(
    ({ render }) => 'tenant' in render && render.tenant === 'roomy',
  )
  expect(made.map(({ render: { id } }) => String(id)).sort()).toEqual(ids.toSorted())
  // Those of the tenant above are there as well, of both modes.
  const events = await eventsIn(cluster(), 2 * LIMIT + keys.length, signal)
  const renders = events.map(({ manifest }) => manifest.render).filter(({ tenant }) => tenant === 'roomy')
  expect(renders.map(({ id }) => String(id)).sort()).toEqual(ids.toSorted())
})

test('a caller who waits at one is told of what is rendered, and canceled, through another', async ({ signal }) => {
  const succeeded = await submit(cluster().at(0), ROOMY_LIVE, LETTER)
  const waiting = APIS.map((api) => endedByWaiting(cluster().at(api), ROOMY_LIVE, succeeded))
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual(APIS.map(() => 'succeeded'))
  const canceled = await submit(cluster().at(0), ROOMY_LIVE, { ...LETTER, data: { isEndless: true } })
  const others = [1, 2].map((api) => endedByWaiting(cluster().at(api), ROOMY_LIVE, canceled))
  await request(cluster().at(0), { key: ROOMY_LIVE, path: `/api/v1/render/${canceled}`, method: 'DELETE' })
  for (const record of await Promise.all(others)) expect(record.error?.code).toBe('canceled')
  // They would notice by looking from time to time, too.
  await using redis = await redisOf(cluster(), signal)
  const told = await redis.call((client) => client.pubsub('NUMSUB', ENDS_CHANNEL), signal)
  expect(told).toEqual([ENDS_CHANNEL, APIS.length])
})

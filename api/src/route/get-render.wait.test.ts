/** GET /render/:id?wait=… by a clock that the test moves. */
import { setImmediate } from 'node:timers/promises'
import { memoryRenderEnds } from '@platen/adapters/memory/render-ledger/render-ends.ts'
import { memoryRenderLedger } from '@platen/adapters/memory/render-ledger.ts'
import {
  cancellationOf,
  encodeManifest,
  type Manifest,
  manifestAddress,
  type RenderRecord,
  tombstoneOf,
} from '@platen/contract/domain/render.ts'
import { mintRenderId } from '@platen/contract/domain/render-id.ts'
import type { Environment } from '@platen/contract/domain/tenant.ts'
import type { RenderEnds } from '@platen/contract/port/render-ends.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { type Api, type ApiOptions, anApi, FOREIGN_KEY, TEST_KEY, TRAFFIC } from '../../../test/fixture/api.ts'
import { aFailure, aManifest, aRecord, aTenant, NEVER, NOON } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { WAIT_LOOK_MS, WAIT_S_MAX } from './limit.ts'

interface Waiting extends Api {
  /** Resolves when callers have looked at a state and found no end, as often as this in all. */
  looked(times: number): Promise<void>
  /** Asks for the status of a render and does not wait for the answer. */
  asked(id: string, wait: number | string, key?: string): Promise<Answer>
}

type Answer = Awaited<ReturnType<Api['get']>>

interface WaitingOptions extends Pick<ApiOptions, 'ports'> {
  readonly connections?: number
  readonly ledger?: (ledger: RenderLedger) => RenderLedger
}

function aWaitingApi({ ports, connections, ledger: wrap = (each) => each }: WaitingOptions = {}): Waiting {
  const own = memoryRenderEnds(wrap(memoryRenderLedger(manualClock(NOON))))
  const looks = { count: 0, next: Promise.withResolvers<void>() }
  const ends: RenderEnds = {
    expect(id) {
      const pending = own.ends.expect(id)
      // The first wake-up comes before the first look.
      let isFirst = true
      return {
        ...pending,
        mayHaveEnded(signal) {
          if (!isFirst) {
            looks.count += 1
            looks.next.resolve()
            looks.next = Promise.withResolvers()
          }
          isFirst = false
          return pending.mayHaveEnded(signal)
        },
      }
    },
  }
  const traffic = { ...TRAFFIC, ...(connections !== undefined && { connections }) }
  const api = anApi({ ports: { ledger: own.ledger, ends, ...ports }, settings: { traffic } })
  return {
    ...api,
    async looked(times) {
      while (looks.count < times) await looks.next.promise
    },
    asked: (id, wait, key) =>
      api.get(`/api/v1/render/${id}?wait=${wait}`, key === undefined ? {} : { authorization: `Bearer ${key}` }),
  }
}

const TENANT = aTenant().account
/** The tenant of `FOREIGN_KEY`. */
const FOREIGN = 'b3c4'

/** A render that was accepted at noon, for a tenant and an environment. */
function accepted({ ports }: Api, account = TENANT, environment: Environment = 'live'): RenderRecord {
  const id = mintRenderId({ account, environment }, ports.keys(), { now: NOON, random: Buffer.alloc(5, 9) })
  return aRecord({ id })
}

/** Does what a process does at the end of a render: the manifest first. */
async function end({ ports }: Api, manifest: Manifest): Promise<void> {
  await ports.artifacts.put(manifestAddress(manifest.render.id, 'platen'), encodeManifest(manifest), NEVER)
  await ports.ledger.complete(manifest, NEVER)
}

/** Whether a request has been answered, now that nothing happens any more but with time. */
async function isAnswered(answer: Promise<unknown>): Promise<boolean> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  answer.then(over, over)
  for (let turn = 0; turn < 20; turn++) await setImmediate()
  return isOver
}

async function waitingNow({ metrics }: Api): Promise<string | undefined> {
  return /^platen_status_requests_waiting (\d+)$/m.exec(await metrics.text())?.[1]
}

describe('a status request that waits', () => {
  test.for<[string, (record: RenderRecord) => Manifest]>([
    ['has succeeded', (record) => aManifest({ record })],
    ['has failed', (record) => aManifest({ record, outcome: aFailure() })],
    ['was canceled', (record) => cancellationOf(record, NOON + 500)],
  ])('is answered when the render %s, as without waiting', async ([, manifestOf]) => {
    const api = aWaitingApi()
    const record = accepted(api)
    await api.ports.ledger.markQueued(record, NEVER)
    const answer = api.asked(record.id, 30)
    await api.looked(1)
    expect(await waitingNow(api)).toBe('1')
    await end(api, manifestOf(record))
    const { statusCode, body, headers } = await answer
    const later = await api.get(`/api/v1/render/${record.id}`)
    expect([statusCode, JSON.parse(body)]).toEqual([200, later.json()])
    expect(headers['retry-after']).toBeUndefined()
    expect(await waitingNow(api)).toBe('0')
  })

  test('is answered 410 when the render is erased', async () => {
    const api = aWaitingApi()
    const record = accepted(api)
    const answer = api.asked(record.id, 30)
    await api.looked(1)
    await end(api, tombstoneOf(aManifest({ record }).render, NOON))
    expect((await answer).json().error.code).toBe('RENDER_EXPIRED')
  })

  test.for([
    ['of a render that has ended', 30],
    ['that waits no second', 0],
  ] as const)('%s is answered at once', async ([, wait]) => {
    const api = aWaitingApi()
    const record = accepted(api)
    if (wait > 0) await end(api, aManifest({ record }))
    expect((await api.asked(record.id, wait)).json().status).toBe(wait > 0 ? 'succeeded' : 'queued')
  })

  test.for([1, 7, WAIT_S_MAX])('for %d s is answered then, and not before, with the state of then', async (wait) => {
    const api = aWaitingApi()
    const record = accepted(api)
    await api.ports.ledger.markQueued(record, NEVER)
    const answer = api.asked(record.id, wait)
    await api.looked(1)
    await api.ports.ledger.claim(record, { owner: 'renderer', leaseMs: 60_000 }, NEVER)
    await api.clock.advance(wait * 1000 - 1)
    expect(await isAnswered(answer)).toBe(false)
    await api.clock.advance(1)
    expect((await answer).json().status).toBe('running')
  })

  test.for<[string, WaitingOptions]>([
    ['the ledger has lost', {}],
    [
      'a ledger that is away cannot show',
      { ledger: (ledger) => ({ ...ledger, find: () => Promise.reject(new Unavailable('connection refused')) }) },
    ],
  ])('finds an end that %s, and that nobody tells of, by looking', async ([, options]) => {
    const api = aWaitingApi(options)
    const record = accepted(api)
    const answer = api.asked(record.id, 30)
    await api.looked(1)
    const manifest = aManifest({ record })
    await api.ports.artifacts.put(manifestAddress(record.id, 'platen'), encodeManifest(manifest), NEVER)
    expect(await isAnswered(answer)).toBe(false)
    await api.clock.advance(WAIT_LOOK_MS)
    expect((await answer).json().status).toBe('succeeded')
  })

  test('is answered 503 when its state cannot be read any more', async () => {
    const artifacts = memoryArtifactStore()
    let isAway = false
    const get: typeof artifacts.get = async (...given) => {
      if (isAway) throw new Unavailable('no answer')
      return await artifacts.get(...given)
    }
    const api = aWaitingApi({ ports: { artifacts: { ...artifacts, get } } })
    const answer = api.asked(accepted(api).id, 30)
    await api.looked(1)
    isAway = true
    await api.clock.advance(WAIT_LOOK_MS)
    expect([(await answer).statusCode, (await answer).headers['retry-after']]).toEqual([503, '2'])
  })

  test('is answered with the present state when the process stops', async () => {
    const api = aWaitingApi()
    const record = accepted(api)
    const answer = api.asked(record.id, 30)
    await api.looked(1)
    await api.app.close()
    expect([(await answer).statusCode, (await answer).json().status]).toEqual([200, 'queued'])
    expect((await answer).headers.connection).toBe('close')
  })
})

describe('the time to wait', () => {
  test.for([
    '31',
    '-1',
    '-0',
    '%2B5',
    '1e1',
    '1.5',
    '5.0',
    '0x5',
    '',
    '%205',
    '٣',
    'true',
    '1&wait=2',
    '9'.repeat(400),
  ])('is refused as wait=%s', async (wait) => {
    const api = aWaitingApi()
    const answer = await api.asked(accepted(api).id, wait)
    expect([answer.statusCode, answer.json().error]).toMatchObject([
      400,
      { code: 'INVALID_PAYLOAD', details: [{ in: 'query', path: 'wait' }] },
    ])
  })

  test('stands beside no parameter that the service does not know', async () => {
    const api = aWaitingApi()
    expect((await api.asked(accepted(api).id, '0&_=1732')).statusCode).toBe(400)
  })
})

describe('the places of those who wait', () => {
  /** Fills as many places as there are for one account, and says how many callers that were. */
  async function filled(api: Waiting, id: string, count: number): Promise<readonly Promise<Answer>[]> {
    const answers = Array.from({ length: count }, () => api.asked(id, 30))
    await api.looked(count)
    return answers
  }

  test('are limited for an account, in both environments together; then the answer comes at once', async () => {
    const api = aWaitingApi({ connections: 64 })
    const record = accepted(api)
    const answers = await filled(api, record.id, 2)
    const tested = accepted(api, TENANT, 'test')
    for (const [id, key] of [[record.id], [tested.id, TEST_KEY]] as const) {
      const answer = await api.asked(id, 30, key)
      expect([answer.statusCode, answer.json().status, answer.headers['retry-after']]).toEqual([200, 'queued', '1'])
    }
    const foreign = accepted(api, FOREIGN)
    const other = api.asked(foreign.id, 30, FOREIGN_KEY)
    await api.looked(3)
    expect(await isAnswered(other)).toBe(false)
    for (const each of [record, foreign]) await end(api, aManifest({ record: each }))
    expect((await Promise.all([...answers, other])).map((answer) => answer.json().status)).toEqual(
      Array.from({ length: 3 }, () => 'succeeded'),
    )
    // No time passes in this test: whoever is answered at once has no place to wait.
    expect((await api.asked(record.id, 30)).headers['retry-after']).toBeUndefined()
  })

  test('are free again after each wait', async () => {
    const api = aWaitingApi({ connections: 4 })
    const record = accepted(api)
    for (const time of [1, 2, 3]) {
      const answer = api.asked(record.id, 1)
      await api.looked(time)
      expect((await api.asked(record.id, 1)).headers['retry-after']).toBe('1')
      await api.clock.advance(1000)
      expect((await answer).headers['retry-after']).toBeUndefined()
    }
  })

  test('are limited for all accounts together', async () => {
    const api = aWaitingApi({ connections: 4 })
    const record = accepted(api)
    const [answer] = await filled(api, record.id, 1)
    const foreign = accepted(api, FOREIGN)
    expect((await api.asked(foreign.id, 30, FOREIGN_KEY)).headers['retry-after']).toBe('1')
    await end(api, aManifest({ record }))
    await answer
    const other = api.asked(foreign.id, 30, FOREIGN_KEY)
    await api.looked(2)
    await end(api, aManifest({ record: foreign }))
    expect((await other).json().status).toBe('succeeded')
  })

  test('are not taken by ids that were not issued to the caller', async () => {
    const api = aWaitingApi({ connections: 4 })
    const foreign = accepted(api, FOREIGN)
    const ids = Array.from({ length: 500 }, (_, at) =>
      at % 2 === 0 ? foreign.id : `01KAJHYV7NF3S8G9TWQ2MZX${100 + at}`,
    )
    const answers = await Promise.all(ids.map((id) => api.asked(id, 30)))
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([404]))
    const [answer] = await filled(api, accepted(api).id, 1)
    await api.app.close()
    expect((await answer)?.json().status).toBe('queued')
  })
})

/** Tests that charges match the event log after all events are read, whatever Redis loses and whichever process dies. */
import { randomInt } from 'node:crypto'
import type { RenderRecord } from '@platen/contract/domain/render.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { rejectionOf } from '../fixture/build.ts'
import { IS_LONG } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { describeOnKafka } from './kafka-harness.ts'
import { ACCOUNTS, aScene, failure, Killed, mortal, type Scene, start, success } from './projection-scene.ts'
import { describeOnRedis } from './redis-harness.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const RUNS = IS_LONG ? 12 : 4

describeOnKafka('the projection', (kafka) => {
  describeOnRedis('into Redis', (redis) => {
    /** Appends some renders of each account. Two thirds of them succeeded. */
    const appendSome = async (scene: Scene, count = 60) => {
      const renders = Array.from({ length: count }, (_, i) =>
        scene.aRender({ account: scene.accounts[i % ACCOUNTS] ?? '', units: i % 4 }),
      )
      await scene.append(...renders.map((record, i) => (i % 3 === 2 ? failure(record) : success(record))))
    }
    const isExact = async (scene: Scene) => {
      await scene.caughtUp()
      expect(await scene.charged()).toEqual(scene.expected())
      expect(await scene.counted()).toEqual(scene.expected().map((units) => ({ byTemplate: units, byDay: units })))
    }

    test('charges what succeeded, once, and nothing else', async () => {
      await using scene = await aScene(kafka, redis)
      await using _running = start(scene.ports)
      await appendSome(scene)
      const [twice, sandbox] = [scene.aRender({ units: 5 }), scene.aRender({ units: 0, environment: 'test' })]
      await scene.append(success(twice), success(sandbox))
      await scene.append(success(twice))
      await isExact(scene)
      expect(await scene.rebuilds()).toBe(0)
    })

    test('ends the view of a render that was running, and frees what it held', async ({ signal }) => {
      await using scene = await aScene(kafka, redis)
      const { limiter, ledger } = scene
      const record = scene.aRender({ units: 2 })
      await limiter.confirm(record, signal)
      await ledger.claim(record, { owner: 'a', leaseMs: DAY_MS }, signal)
      await scene.append(failure(record))
      await using _running = start(scene.ports)
      await scene.caughtUp()
      expect(await limiter.usage(record.account, record.period, signal)).toEqual({ charged: 0, reserved: 0 })
      expect(await ledger.find(record.id, signal)).toMatchObject({ state: { status: 'failed' } })
    })

    test('puts nothing into the views that nobody can ask for any more', async ({ signal }) => {
      await using scene = await aScene(kafka, redis)
      const long = scene.aRender({ period: '2025-01', acceptedAt: Date.now() - 40 * DAY_MS })
      await scene.append(success(long), failure({ ...long, id: scene.aRender().id }))
      await using _running = start(scene.ports)
      await scene.caughtUp()
      const keys = await scene.redis.call((client) => client.keys('*'), signal)
      expect(keys.filter((key) => !key.startsWith('platen:{checkpoint}'))).toEqual([])
    })

    describe('is exact again', () => {
      test.for([
        { name: 'emptied before it begins', before: true },
        { name: 'emptied under it, with nothing new to come', before: false },
      ])('when Redis is $name', async ({ before }) => {
        await using scene = await aScene(kafka, redis)
        {
          await using _first = start(scene.ports)
          await appendSome(scene)
          await isExact(scene)
          if (before) await _first[Symbol.asyncDispose]()
          await scene.wipe()
          if (!before) await isExact(scene)
        }
        await using _second = start(scene.ports)
        await isExact(scene)
        // A process that finds no data at its start cannot distinguish a loss from the very first start.
        expect((await scene.rebuilds()) > 0).toBe(!before)
      })

      test('when Redis is emptied again and again while it reads', async () => {
        await using scene = await aScene(kafka, redis)
        await using _running = start(scene.ports)
        for (let i = 0; i < 20; i += 1) {
          await appendSome(scene)
          await scene.wipe()
        }
        await isExact(scene)
      })

      test('when Redis comes back as it was a while ago, also with nobody there who noticed', async () => {
        await using scene = await aScene(kafka, redis)
        {
          await using _first = start(scene.ports)
          await appendSome(scene)
          await isExact(scene)
          await scene.keep()
          await appendSome(scene)
          await isExact(scene)
          await scene.restore()
          await isExact(scene)
          await appendSome(scene)
          await isExact(scene)
        }
        await scene.restore()
        await using _second = start(scene.ports)
        await isExact(scene)
      })

      test.for([
        { name: 'no process runs', isRunning: false },
        { name: 'it runs', isRunning: true },
      ])(
        'when Kafka loses events while $name, and has more than before by the time one looks',
        async ({ isRunning }) => {
          await using scene = await aScene(kafka, redis)
          const lose = async () => {
            await scene.loseEvents()
            await appendSome(scene, 120)
          }
          {
            await using _first = start(scene.ports)
            await appendSome(scene)
            await isExact(scene)
            if (isRunning) await lose()
            if (isRunning) await isExact(scene)
          }
          if (!isRunning) await lose()
          await using _second = start(scene.ports)
          await isExact(scene)
        },
      )

      test('when Redis is killed while it reads, and comes back', async () => {
        await using scene = await aScene(kafka, redis)
        await using _running = start(scene.ports)
        for (let i = 0; i < 3; i += 1) {
          await appendSome(scene, 300)
          await redis.server().kill()
          await redis.server().start()
        }
        await isExact(scene)
      })

      test.for(['charges', 'everything but the checkpoints'])(
        'when Redis loses %s of an account',
        async (lost, { signal }) => {
          await using scene = await aScene(kafka, redis)
          await using _running = start(scene.ports)
          await appendSome(scene)
          await isExact(scene)
          const keys = await scene.redis.call((client) => client.keys(`*{${scene.accounts[0]}}*`), signal)
          const gone = lost === 'charges' ? keys.filter((key) => key.includes('charges')) : keys
          await scene.redis.call((client) => client.del(...gone), signal)
          expect(await scene.charged()).not.toEqual(scene.expected())
          await poll(() => scene.charged()).until((charged) => String(charged) === String(scene.expected()))
          await isExact(scene)
        },
      )
    })

    test('is exact again when Redis loses charges of an account, and there are more than that by the time one looks', async ({
      signal,
    }) => {
      await using scene = await aScene(kafka, redis)
      const two = () => success(scene.aRender({ units: 2 }))
      {
        await using _first = start(scene.ports)
        await scene.append(two())
        await isExact(scene)
      }
      const keys = await scene.redis.call((client) => client.keys(`*{${scene.accounts[0]}}*`), signal)
      await scene.redis.call((client) => client.del(...keys), signal)
      await scene.append(two(), two(), two())
      await using _second = start(scene.ports)
      await poll(() => scene.charged()).until((charged) => String(charged) === String(scene.expected()))
      await isExact(scene)
    })

    test('goes on where another was killed, at whichever step', { timeout: 240_000 }, async () => {
      await using scene = await aScene(kafka, redis)
      for (const isDone of [false, true]) {
        const steps = new Set<string>()
        for (let at = 1; ; ) {
          await scene.append(success(scene.aRender()), failure(scene.aRender()))
          const victim = mortal(scene.ports, { at, isDone })
          await using dying = start(victim.ports)
          await Promise.race([dying.ended, scene.caughtUp()])
          const step = victim.last()
          if (step === undefined && steps.has('advance')) break
          // If the events come in fewer batches than before, there are fewer calls. The last ones are then still to be tried.
          at += step === undefined ? -1 : 1
          if (step === undefined) continue
          expect(await dying.ended).toBeInstanceOf(Killed)
          steps.add(step)
          await using _heir = start(scene.ports)
          await isExact(scene)
        }
        expect([...steps]).toEqual(
          expect.arrayContaining(['begin', 'charged', 'chargeTotal', 'completeAll', 'advance']),
        )
      }
    })

    test('is shared by two that come and go', async () => {
      await using scene = await aScene(kafka, redis)
      await using _stays = start(scene.ports)
      for (let i = 0; i < 3; i += 1) {
        await using _passes = start(scene.ports)
        await appendSome(scene, 300)
        if (i === 1) await scene.wipe()
        await isExact(scene)
      }
      await appendSome(scene)
      await isExact(scene)
    })

    test('is exact after whatever happens in whichever order', { timeout: 300_000 }, async () => {
      const seed = Number(process.env['PLATEN_TEST_SEED'] ?? randomInt(2 ** 31))
      process.stdout.write(`the seed is ${seed}; again with PLATEN_TEST_SEED=${seed}\n`)
      await fc.assert(
        fc.asyncProperty(fc.array(anyStep, { minLength: 10, maxLength: 40 }), async (steps) => {
          await using scene = await aScene(kafka, redis)
          await walk(scene, steps)
        }),
        { seed, numRuns: RUNS, endOnFailure: true },
      )
    })
  })
})

/** A step on one of many renders, on Redis, or on the readers. */
type Step =
  | { readonly kind: 'append' | 'settle'; readonly which: number; readonly isSuccess: boolean }
  | { readonly kind: 'wipe' | 'keep' | 'restore' | 'lose' | 'start' | 'kill' | 'catch up' }

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      kind: fc.constantFrom('append' as const, 'append' as const, 'settle' as const),
      which: fc.nat(99),
      isSuccess: fc.boolean(),
    }),
  },
  ...(
    [
      ['wipe', 2],
      ['keep', 1],
      ['restore', 1],
      ['lose', 1],
      ['start', 3],
      ['kill', 1],
      ['catch up', 2],
    ] as const
  ).map(([kind, weight]) => ({ weight, arbitrary: fc.record({ kind: fc.constant(kind) }) })),
)

/** One render in a walk. Its outcome never changes. */
interface Render {
  readonly record: RenderRecord
  isSuccess?: boolean
  isReported: boolean
}

async function walk(scene: Scene, steps: readonly Step[]): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const signal = new AbortController().signal
  const renders = Array.from({ length: 100 }, (_, i): Render => {
    return { record: scene.aRender({ account: scene.accounts[i % ACCOUNTS] ?? '', units: i % 5 }), isReported: false }
  })
  const endOf = (render: Render) => (render.isSuccess === true ? success(render.record) : failure(render.record))
  const running = [stack.use(start(scene.ports))]
  let isKept = false
  const act: Record<Step['kind'], (render: Render) => Promise<void>> = {
    async append(render) {
      await scene.append(endOf(render))
      render.isReported = true
    },
    settle: async (render) => scene.limiter.complete(endOf(render), signal),
    wipe: () => scene.wipe(),
    async keep() {
      await scene.keep()
      isKept = true
    },
    restore: async () => (isKept ? scene.restore() : undefined),
    async lose() {
      const keys = await scene.redis.call((client) => client.keys('*limiter*'), signal)
      const [gone] = keys.toSorted()
      if (gone !== undefined) await scene.redis.call((client) => client.del(gone), signal)
    },
    start: async () => void (running.length < 2 && running.push(stack.use(start(scene.ports)))),
    kill: async () => running.shift()?.[Symbol.asyncDispose](),
    'catch up': async () => (running.length > 0 ? scene.caughtUp() : undefined),
  }
  for (const step of steps) {
    const render = renders['which' in step ? step.which : 0]
    if (render === undefined) continue
    if ('isSuccess' in step) render.isSuccess ??= step.isSuccess
    // Callers repeat a step that Redis refuses while it restarts.
    await poll(() => rejectionOf(act[step.kind](render))).until((error) => error === undefined)
  }
  // Every process that charges a render also appends its event.
  const unreported = renders.filter(({ isSuccess, isReported }) => isSuccess !== undefined && !isReported)
  await scene.append(...unreported.map(endOf))
  stack.use(start(scene.ports))
  const found = () => scene.charged().catch(() => [])
  await poll(found).until((charged) => String(charged) === String(scene.expected()))
  await scene.caughtUp()
  expect(await scene.charged()).toEqual(scene.expected())
}

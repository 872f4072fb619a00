/**
 * Tests that the checks of the promises can fail. Each promise rests on a guard in the code. The test removes the guard and applies the
 * fault that the guard protects against.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type RenderId, renderUuid } from '@platen/contract/domain/render-id.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IS_LONG, SEED, seeded, shuffled } from '../../run/form.ts'
import { poll } from '../../time/poll.ts'
import type { Mutant } from './rig/mutant.ts'
import { type Deployable, killed, openRig, type Rig, wipe } from './rig/rig.ts'
import { tryFaults } from './series.ts'
import type { Ground } from './trial/fault.ts'
import type { PromiseId } from './trial/judge.ts'
import { type Exchange, isTerminal, type Load } from './trial/load.ts'
import { stepNamed } from './trial/step.ts'

interface Guard {
  readonly promise: PromiseId
  /** The deployables that contain the guard. */
  readonly deployables: readonly Deployable[]
  readonly mutant: Mutant
  readonly run: (ground: Ground) => Promise<void>
}

const ANSWER_WAITS = 60
const WAIT_MS = 50

const GUARDS: readonly Guard[] = [
  {
    promise: 'I1',
    deployables: ['api'],
    mutant: {
      name: 'answers 202 before the queue has the render',
      file: '/api/src/admission/submit.ts',
      find: 'await send(record, ports)',
      // The mutant ignores the result. An exit of the process would be a different fault.
      replace: 'void send(record, ports).catch(() => undefined)',
    },
    // Waits long enough for the answer, which this mutant sends without waiting for the queue.
    run: at('before produce', async ({ rig, trial }) => {
      const issued = trial.load.issued().length
      for (let waits = 0; waits < ANSWER_WAITS && trial.load.issued().length === issued; waits++) await sleep(WAIT_MS)
      await killed(rig, 'api', async () => undefined)
    }),
  },
  {
    promise: 'I2',
    deployables: ['renderer'],
    mutant: {
      name: 'gives an event an id by chance',
      file: '/contract/src/domain/event.ts',
      find: '{ id: eventId,',
      replace: '{ id: crypto.randomUUID(),',
    },
    run: redeliver('after manifest, before event'),
  },
  {
    promise: 'I3',
    deployables: ['renderer', 'events'],
    mutant: {
      name: 'charges renders that failed',
      file: '/contract/src/port/charge-sums.ts',
      find: "if (outcome.status === 'failed' || render.units === 0)",
      replace: 'if (!outcome || render.units === 0)',
    },
    // Some renders of the load fail by themselves. Those that a caller canceled do not count: the API, which has its guard, frees them.
    async run({ trial, signal }) {
      const { load } = trial
      await trial.kill(stepNamed('after claim'), 'api')
      const isCanceled = (id?: string) => load.exchanges.some(({ kind, render }) => kind === 'delete' && render === id)
      await pollUntil(load, ({ render, shown }) => shown?.status === 'failed' && !isCanceled(render), signal)
    },
  },
  {
    promise: 'I4',
    deployables: ['renderer'],
    mutant: {
      name: 'writes a manifest over the one that is there',
      file: '/renderer/src/worker/record-outcome.ts',
      find: 'if (!(await artifacts.create(',
      replace: 'if (!(await (async (...manifest) => (await artifacts.put(...manifest), true))(',
    },
    run: redeliver('after artifact, before manifest'),
  },
  {
    promise: 'I5',
    deployables: ['api'],
    mutant: {
      name: 'takes a render that no store knows for one that is no more',
      file: '/api/src/route/get-render.ts',
      find: 'return shown ? recordOf(shown) : {',
      replace: 'if (!shown) throw notKept()\n  return shown ? recordOf(shown) : {',
    },
    run: ({ rig, trial }) =>
      trial.outage(() =>
        killed(rig, 'renderer', async () => {
          const before = trial.load.exchanges.length
          // Those that were open before may have ended unseen. The callers take back one at a time, so one of two stays.
          await poll(() => untouchedSince(trial.load, before)).until((waiting) => waiting.length > 1)
          await wipe(rig)
          await trial.load.poll()
        }),
      ),
  },
  {
    promise: 'I6',
    deployables: ['api'],
    mutant: {
      name: 'does not say when to try again',
      file: '/api/src/problem.ts',
      find: "headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` },",
      replace: 'headers: {},',
    },
    // Kafka stalls until the API has answered 503 to a caller.
    run: ({ rig, trial }) =>
      trial.outage(async () => {
        const kafka = rig.proxy('api', 'kafka')
        const before = trial.load.exchanges.length
        kafka.disturb({ kind: 'stall' })
        await poll(() => trial.load.exchanges.slice(before)).until((later) =>
          later.some(({ status }) => status === 503),
        )
        kafka.disturb(undefined)
      }),
  },
  {
    promise: 'I7',
    deployables: ['events'],
    mutant: {
      name: 'sets no alarm for the attempt that follows one that failed',
      file: '/adapters/src/kafka/delivery/delivery-consumer.ts',
      find: 'if (after.step !== progress.step) await this.#remindOf(after)',
      replace: '',
    },
    // Only async renders: the webhook of an answered sync render is attempted once.
    async run({ rig, trial }) {
      await trial.kill(stepNamed('after the answer of a receiver, before its record'), 'events')
      const before = rig.posts.length
      const isRefused = ({ kind, render }: Exchange) =>
        kind === 'async' &&
        render !== undefined &&
        rig.posts.slice(before).some(({ status, body }) => status >= 500 && body.includes(uuidOf(render)))
      await poll(() => trial.load.exchanges).until((all) => all.some(isRefused))
    },
  },
]

const commits = stepNamed('after event, before commit')
const COMMITS_ASYNC = {
  ...commits,
  point: { side: 'before', request: /^kafka:8 .*render\.react_pdf\.async/s },
} as const

/** Short on purpose: a promise that is not kept within this time counts as broken, and a longer wait makes the test slower. */
const PATIENCE_MS = 5000

function at(step: string, away: (ground: Ground) => Promise<void>): Guard['run'] {
  return (ground) => ground.trial.at(stepNamed(step), () => away(ground))
}

/**
 * Delivers a finished render to a renderer again, so that it reaches a step a second time. The ledger is wiped, because it knows that the
 * render has ended; the events processes are down, so nobody restores that from the events. Only async renders are used: a sync render that
 * is delivered again has no waiting caller.
 */
function redeliver(step: string): Guard['run'] {
  return async ({ rig, trial, signal }) => {
    // The first commits may belong to renders of an earlier trial, which are unknown to these callers.
    const { load } = trial
    const isAsync = (id?: string) => load.exchanges.some(({ kind, render }) => kind === 'async' && render === id)
    const hasEnded = ({ render, shown }: Exchange) => isTerminal(shown) && isAsync(render)
    await pollUntil(load, hasEnded, signal)
    await trial.at(COMMITS_ASYNC, async () => {
      await load.poll()
      await killed(rig, 'events', async () => {
        const ids = new Set(load.exchanges.filter(hasEnded).map(({ render }) => render))
        const { actor, server, point } = stepNamed(step)
        const request = new RegExp(`${point.request.source}.*(?:${[...ids].join('|')})`, 's')
        const again = Promise.withResolvers<void>()
        await killed(rig, 'renderer', async () => {
          await wipe(rig)
          const held = rig.proxy(actor, server).hold({ ...point, request }, signal)
          again.resolve(held.then((step) => step.release()))
        })
        await again.promise
      })
    })
  }
}

/** Asks for all open renders until one exchange matches. */
async function pollUntil(load: Load, isWanted: (exchange: Exchange) => boolean, signal: AbortSignal): Promise<void> {
  while (!load.exchanges.some(isWanted)) await Promise.all([load.poll(), sleep(WAIT_MS, undefined, { signal })])
}

/** Returns the async renders that were accepted after the first `before` exchanges, and that no caller has asked to cancel. */
function untouchedSince({ exchanges }: Load, before: number): readonly string[] {
  const canceled = new Set(exchanges.flatMap(({ kind, render }) => (kind === 'delete' ? render : [])))
  return exchanges
    .slice(before)
    .flatMap(({ kind, render }) => (kind === 'async' && render !== undefined && !canceled.has(render) ? render : []))
}

/** Returns the id of a render in webhooks. */
function uuidOf(render: string): string {
  // The service issued this id to a caller.
  return renderUuid(render as RenderId)
}

/** The short form tries a random selection, because each mutant takes twelve seconds of both cores. */
const TRIED = IS_LONG ? GUARDS : shuffled(GUARDS, seeded(SEED)).slice(0, 3)

let rig: Rig
beforeAll(async () => {
  rig = await openRig({ trials: TRIED.length + 1 })
})
afterAll(() => rig[Symbol.asyncDispose]())

test.for(TRIED)(
  `$promise is seen broken by a service that $mutant.name (seed ${SEED})`,
  async ({ promise, deployables, mutant, run }, { signal }) => {
    await rig.mutate(mutant, deployables)
    const faults = [{ name: promise, run }]
    const { violations } = await tryFaults({ name: promise, faults }, { rig, seed: 1, signal, patienceMs: PATIENCE_MS })
    expect(violations.map((violation) => violation.promise)).toContain(promise)
  },
)

test('and none by the service as it is, under the same faults', async ({ signal }) => {
  await rig.mutate(undefined, [])
  const faults = TRIED.map(({ promise, run }) => ({ name: promise, run }))
  const { violations } = await tryFaults({ name: 'whole', faults }, { rig, seed: 1, signal })
  expect(violations).toEqual([])
})

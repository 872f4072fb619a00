/**
 * The condition Propagated is a promise: once it holds of a change, no API process enforces what was before, be it as slow as it may.
 * Three processes, of which Redis answers one late; changes by chance, each waited for and then tried on all of them at once. Of what is
 * removed without a finalizer no more is asked than is promised: a plan that is gone changes nothing, and a template that is gone is served
 * nowhere once something else is propagated. The seed is printed; `SEED=` makes the same changes again.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Mutant, mutantOptions } from '../../chaos/cluster/rig/mutant.ts'
import { IS_LONG, SEED, seeded } from '../../run/form.ts'
import { type FaultProxy, openFaultProxy } from '../../topology/proxy/fault-proxy.ts'
import { freeTopicPrefix, kafkaOfRun, removeTopics } from '../../topology/run-server.ts'
import { startRedis } from '../../topology/server/redis.ts'
import { openResources, type Resources } from '../rig/resources.ts'
import { type Rig, startRig } from '../rig/rig.ts'
import { PROCESSES, questionsCount, wrongAnswers } from './answer.ts'
import { aLane, type Lane } from './lane.ts'

const CHANGES = IS_LONG ? 500 : 120
const LANES = IS_LONG ? 10 : 5
/** How late the answers of Redis are to the slow process, at most: with more, all takes longer and shows the same. */
const LATE_MS_MAX = 150
const SECOND_MS = 1000
/** A test without one of them would not try what it says. */
const TO_BE_MADE = [
  'plan removed',
  'tenant removed',
  'template removed',
  'key removed',
  'plan replaced',
  'template replaced',
  'key rotated',
  'key rotated with an overlap',
]

const stack = new AsyncDisposableStack()
let rig: Rig
let resources: Resources
let slow: FaultProxy
let mutant: Mutant | undefined

beforeAll(async () => {
  slow = stack.use(await openFaultProxy('redis'))
  const redis = stack.use(await startRedis())
  const { broker } = await kafkaOfRun()
  const topicPrefix = freeTopicPrefix()
  stack.defer(() => removeTopics(broker, [topicPrefix]))
  slow.towards(redis.port)
  rig = stack.use(
    await startRig({
      cluster: {
        redis,
        kafka: { broker, topicPrefix },
        apis: PROCESSES,
        settingsOf(name, at) {
          if (name === 'operator') return mutantOptions(mutant)
          // That nobody renders is seen by nobody here, and every answer is wanted as it is.
          const own = {
            PLATEN_ENGINES: 'react_pdf,html',
            PLATEN_REFUSALS_PER_MINUTE: '1000000',
          }
          return at === 0 ? { ...own, PLATEN_REDIS_URL: `redis://127.0.0.1:${slow.port}` } : own
        },
      },
    }),
  )
  resources = stack.use(await openResources(rig.kube))
})
afterAll(() => stack.disposeAsync())

test(`what is propagated no process is behind (seed ${SEED})`, { timeout: 600 * SECOND_MS }, async ({ signal }) => {
  const random = seeded(SEED)
  const trial = { name: 'whole', lanes: LANES, changes: CHANGES / LANES, lateMsMax: LATE_MS_MAX }
  const result = await tryLanes({ ...trial, random, signal })
  const made = [...result.changes].map(([what, count]) => `${what}: ${count}`).toSorted()
  process.stdout.write(`seed ${SEED}: ${CHANGES} changes, ${result.requests} requests (${made.join(', ')})\n`)
  expect(result.broken).toEqual([])
  expect([...result.changes.keys()]).toEqual(expect.arrayContaining(TO_BE_MADE))
})

test('an operator that goes by the quickest process is found out', async ({ signal }) => {
  const [operator] = rig.cluster.processes('operator')
  mutant = {
    name: 'takes what the quickest process enforces for what all do',
    file: '/adapters/src/redis/directory/publish/known-revisions.ts',
    find: 'Math.min(lowest, revision), last)',
    replace: 'Math.max(lowest, revision), 0)',
  }
  await operator?.stop()
  await operator?.start()
  const trial = { name: 'mutant', lanes: 2, changes: 10, lateMsMax: SECOND_MS }
  const result = await tryLanes({ ...trial, random: seeded(SEED), signal })
  expect(result.broken).not.toEqual([])
})

interface Trial {
  readonly name: string
  readonly lanes: number
  /** Of each lane. */
  readonly changes: number
  readonly lateMsMax: number
  readonly random: () => number
  readonly signal: AbortSignal
}

/** Makes changes in several lanes at once, and tells what was answered that was not to be. */
async function tryLanes({ name, lanes, changes, lateMsMax, random, signal }: Trial) {
  const result = { changes: new Map<string, number>(), requests: 0, broken: [] as string[] }
  const all = Array.from({ length: lanes }, (_, at) =>
    aLane({
      name: `${name}-${at}`,
      rig,
      resources,
      wanted: TO_BE_MADE,
      random: seeded(Math.floor(random() * 2 ** 32)),
    }),
  )
  slow.disturb({ kind: 'slow', ms: random() * lateMsMax })
  const runs = all.map(async (lane) => {
    await lane.begin(signal)
    for (let count = 0; count < changes; count++) {
      const { what, name } = await lane.change(signal)
      result.changes.set(what, (result.changes.get(what) ?? 0) + 1)
      result.requests += rig.cluster.urls.length * questionsCount(lane.model)
      result.broken.push(...(await behind(lane, `${what}: ${name}`)))
      slow.disturb({ kind: 'slow', ms: random() * lateMsMax })
    }
  })
  await Promise.all(runs)
  return result
}

/** What each process answers that is not to be. */
async function behind({ model }: Lane, what: string): Promise<readonly string[]> {
  const wrong = await Promise.all(rig.cluster.urls.map((url) => wrongAnswers(url, model)))
  return wrong.flatMap((answers, at) => answers.map((answer) => `after ${what}, process ${at}: ${answer}`))
}

/**
 * The condition Propagated is a promise: once it holds of a change, no API process enforces what was before, be it as slow as it may.
 * Three processes, of which Redis answers one late; changes by chance, each waited for and then tried on all of them at once. Of what is
 * removed without a finalizer no more is asked than is promised: a plan that is gone changes nothing, and a template that is gone is served
 * nowhere once something else is propagated. The seed is printed; `SEED=` makes the same changes again.
 */
import { FORMAT } from '@platen/contract/format.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Mutant, mutantOptions } from '../../chaos/cluster/rig/mutant.ts'
import { NEXT_FORMAT, NEXT_VERSION } from '../../chaos/cluster/rig/next-version.ts'
import { IS_LONG, SEED, seeded } from '../../run/form.ts'
import { poll } from '../../time/poll.ts'
import type { Deployable } from '../../topology/cluster/cluster.ts'
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
/** Those that start in the next version from now on, and the format that they then write; absent = the default. */
const newer = new Set<Deployable>()
let format: number | undefined

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
          const written = format !== undefined && { PLATEN_FORMAT: `${format}` }
          const version = newer.has(name) ? { ...mutantOptions(NEXT_VERSION), ...written } : {}
          if (name === 'operator') return { ...mutantOptions(mutant), ...version }
          // That nobody renders is seen by nobody here, and every answer is wanted as it is.
          const own = {
            ...version,
            PLATEN_ENGINES: 'react_pdf,html',
            PLATEN_ADDRESS_REFUSALS_PER_MINUTE: '1000000',
            PLATEN_KEY_REFUSALS_PER_MINUTE: '1000000',
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

/** Each begins where the one before has ended, as an upgrade and a rollback do. */
test.for([
  { step: 'a newer operator and older processes', runs: ['operator'], written: undefined },
  {
    step: 'a newer operator and newer processes, in the newer format',
    runs: ['operator', 'api'],
    written: NEXT_FORMAT,
  },
  { step: 'an older operator after that, and newer processes', runs: ['api'], written: undefined },
  { step: 'an older operator and older processes', runs: [], written: undefined },
] as const)(
  'what is propagated no process is behind with $step',
  { timeout: 600 * SECOND_MS },
  async ({ runs, written }, { signal }) => {
    await runInNextVersion(runs, written)
    const name = `${runs.join('-') || 'none'}-newer`
    const result = await tryLanes({ name, lanes: 1, changes: 3, lateMsMax: 0, random: seeded(SEED), signal })
    expect(result.broken).toEqual([])
  },
)

test('settings of a newer format change nothing in older processes, until an operator writes them in an older one', async ({
  signal,
}) => {
  const lane = aLane({ name: 'too-early', rig, resources, wanted: [], random: seeded(SEED) })
  await lane.begin(signal)
  await runInNextVersion(['operator'], NEXT_FORMAT)
  const reason = `the published settings are of format ${NEXT_FORMAT}, and this version reads formats up to ${FORMAT}`
  const isReported = ({ status, text }: Readiness) => status === 200 && text.includes(reason)
  await poll(readinessOfAll).until((all) => all.every(isReported))
  expect(await behind(lane, 'no change')).toEqual([])
  await runInNextVersion([], undefined)
  await poll(readinessOfAll).until((all) => all.every(({ text }) => !text.includes(reason)))
  await lane.change(signal)
  expect(await behind(lane, 'a change')).toEqual([])
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

/** Starts again what has another version than before, or is told to write another format: the operator before those that follow it. */
async function runInNextVersion(runs: readonly Deployable[], written: number | undefined): Promise<void> {
  const isChanged = (name: Deployable) =>
    newer.has(name) !== runs.includes(name) || (written !== format && runs.includes(name))
  const changed = (['operator', 'api'] as const).filter(isChanged)
  newer.clear()
  for (const name of runs) newer.add(name)
  format = written
  for (const name of changed) {
    for (const each of rig.cluster.processes(name)) {
      expect(await each.stop()).toBe(0)
      await each.start()
    }
  }
}

interface Readiness {
  readonly status: number
  readonly text: string
}

/** What the API processes tell of themselves. */
function readinessOfAll(): Promise<readonly Readiness[]> {
  return Promise.all(
    rig.cluster.processes('api').map(async ({ ports: [, probes] }) => {
      const answer = await fetch(`http://127.0.0.1:${probes}/readyz`)
      return { status: answer.status, text: await answer.text() }
    }),
  )
}

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

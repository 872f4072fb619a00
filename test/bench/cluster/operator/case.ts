/** What an operator takes that looks after ten thousand tenants, beside what the API server and Redis take for the same by themselves. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Figure } from '../../measure.ts'
import { quantile } from '../../measure.ts'
import { type Estate, estateOf } from './estate.ts'
import {
  changePlan,
  changeTenants,
  idleShare,
  rateOfStatusWrites,
  type Started,
  startOn,
  startOnNothing,
  untilPropagated,
  writeRaw,
} from './phase.ts'
import { createAll, type Stand, startStand } from './stand.ts'

const TENANTS = 10_000
/** Statuses by which the API server's rate of writes is measured. */
const STATUSES = 1000
const CHANGES = 600
const PER_SECOND = 20
const IDLE_MS = 60_000
/** In its first minute V8 tidies up what came before. */
const REST_MS = 60_000

/** With all of it a run takes a quarter of an hour. */
export async function* operator(scale: number): AsyncGenerator<Figure> {
  await using stand = await startStand()
  const tenants = Math.ceil(TENANTS * scale)
  const estate = estateOf(tenants)
  yield await settling(stand, estate)
  yield memory(stand, 'the operator that has settled all of it, MiB')
  yield* starting(stand)
  yield* changing(stand, { tenants, changes: Math.ceil(CHANGES * scale) })
  yield* planning(stand, tenants)
}

/** All is created, and an operator comes that has seen none of it. */
async function settling(
  stand: Stand,
  { namespaces, grants, plans, tenants, keys, templates }: Estate,
): Promise<Figure> {
  await createAll(stand, namespaces)
  await createAll(stand, grants)
  const declared = [...plans, ...tenants, ...keys, ...templates]
  const perSecond = await createAll(stand, declared)
  const { idleMs, requests } = await startOn(stand)
  const { POST = 0, PUT = 0, PATCH = 0 } = requests
  const writes = POST + PUT + PATCH
  // An operator that leaves something out would seem faster.
  await untilPropagated(stand)
  return {
    name: `settling ${declared.length} resources: × its writes at the rate of bare creates`,
    detail: `${seconds(idleMs)} for ${writes} writes, ${perSecond.toFixed(0)}/s`,
    value: idleMs / ((writes * 1000) / perSecond),
    target: { atMost: 3 },
  }
}

/** It starts on what it has settled before; then on the same with an empty Redis. */
async function* starting(stand: Stand): AsyncGenerator<Figure> {
  const revision = stand.seen.at(-1)?.revision
  await stand.operator.stop()
  const again = await startOn(stand)
  yield {
    name: 'started with everything up to date: statuses written',
    detail: `${startOf(again)}, ${again.requests['GET']} GETs`,
    value: again.statusWrites,
    target: { atMost: 0 },
  }
  const publishes = Number(stand.seen.at(-1)?.revision !== revision)
  yield { name: 'started with everything up to date: publishes', detail: '', value: publishes, target: { atMost: 0 } }
  yield memory(stand, 'the operator with all of it, MiB')
  await stand.operator.stop()
  const fresh = await startOnNothing(stand)
  yield {
    name: 'started on an emptied Redis: all published ÷ started on a full one',
    detail: `published after ${seconds(fresh.publishedMs)}; ${startOf(fresh)}, ${fresh.requests['GET']} GETs`,
    value: fresh.publishedMs / again.idleMs,
    target: { atMost: 5 },
  }
}

/** One tenant after the other, and then nothing at all. */
async function* changing(
  stand: Stand,
  { tenants, changes }: { readonly tenants: number; readonly changes: number },
): AsyncGenerator<Figure> {
  const { writtenMs, seenMs, propagatedMs } = await changeTenants(stand, { tenants, changes, perSecond: PER_SECOND })
  const told = ([name, ms]: readonly [string, readonly number[]]) =>
    `${name} p50 ${quantile(ms, 0.5).toFixed(0)}, p99 ${quantile(ms, 0.99).toFixed(0)} ms`
  const phases = [['written by the API server', writtenMs] as const, ['Propagated', propagatedMs] as const]
  yield {
    name: `a tenant changed, ${PER_SECOND} a second: p99 until a process has it, ms`,
    detail: [`p50 ${quantile(seenMs, 0.5).toFixed(0)} ms`, ...phases.map(told)].join('; '),
    value: quantile(seenMs, 0.99),
    target: { atMost: 250 },
  }
  await stand.operator.untilIdle()
  await sleep(REST_MS)
  yield {
    name: 'idle, % of a core',
    detail: `over ${seconds(IDLE_MS)}`,
    value: 100 * (await idleShare(stand, IDLE_MS)),
    target: { atMost: 2 },
  }
}

/** The plan of all tenants is changed. */
async function* planning(stand: Stand, tenants: number): AsyncGenerator<Figure> {
  const { seenMs, propagatedMs } = await changePlan(stand, tenants, 20_000)
  const rawMs = await writeRaw(stand)
  yield memory(stand, 'the operator after every tenant changed, MiB')
  await stand.operator.stop()
  const perSecond = await rateOfStatusWrites(stand, Math.min(tenants, STATUSES))
  const bareMs = rawMs + (tenants * 1000) / perSecond
  yield {
    name: `the plan of ${tenants} tenants changed: × raw to Redis and as many statuses`,
    detail: `in force after ${seconds(seenMs)}, propagated after ${seconds(propagatedMs)}; ${rawMs.toFixed(0)} ms, ${perSecond.toFixed(0)}/s`,
    value: propagatedMs / bareMs,
    target: { atMost: 3 },
  }
}

function memory({ operator: { memory: read } }: Stand, name: string): Figure {
  const { now, highest } = read()
  return { name, detail: `resident, highest; ${now.toFixed(0)} now`, value: highest, target: { atMost: 460 } }
}

function startOf({ leadingMs, idleMs }: Started): string {
  return `leads after ${seconds(leadingMs)}, at rest after ${seconds(idleMs)}`
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`
}

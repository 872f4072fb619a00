/** Rehearses the loss of a server under load, and measures what callers saw of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { judge, mayStillCome, type PromiseId, type Violation } from '../chaos/cluster/trial/judge.ts'
import { beginLoad, type Exchange, type Load } from '../chaos/cluster/trial/load.ts'
import { readFacts } from '../chaos/cluster/trial/oracle.ts'
import type { Drill, Ground } from './drill.ts'

export interface Rehearsal {
  /** The longest time after the loss without a PDF for a sync caller, and without a 202 for an async caller. In seconds. */
  readonly without: { readonly sync: number; readonly async: number }
  /** Renders that were accepted before all was restored, and how many of them had not ended for their callers by then. */
  readonly accepted: number
  readonly open: number
  /** Requests during the outage, by status. 0 = the connection broke. */
  readonly answers: ReadonlyMap<number, number>
  /** How many of those renders a promise was broken to. */
  readonly before: ReadonlyMap<PromiseId, number>
  /** Broken promises to renders that were accepted since. */
  readonly since: readonly Violation[]
}

/** Renders that end before the copy, before the loss, and after the return. */
const ENDED = 15
/** Renders that wait when the server is lost. */
const WAITING = 20
const PAUSE_MS = 400
const AWAY_MS = 5000
const ASK_EVERY_MS = 250
const LOOK_EVERY_MS = 1000
/** When as little has changed for so long, nothing more comes. */
const QUIET_MS = 30_000
const LIMIT_MS = 300_000
const OK = 200
const ACCEPTED = 202

export interface RehearsalOptions extends Ground {
  readonly random: () => number
  readonly signal: AbortSignal
}

/** Throws when the service does not come back within five minutes. */
export async function rehearse(drill: Drill, { random, signal, ...ground }: RehearsalOptions): Promise<Rehearsal> {
  const { rig } = ground
  const tenant = rig.tenants.next().value
  if (tenant === undefined) throw new Error('no tenant is left')
  const url = () => `http://127.0.0.1:${rig.processes('api')[0]?.port}`
  const load = beginLoad({ tenant, random, url, hookUrl: rig.hookUrl, pauseMs: PAUSE_MS })
  await untilEnded(load, ENDED, signal)
  await drill.backUp?.(ground)
  await untilEnded(load, ENDED, signal)
  await untilWaiting(ground, load, signal)
  const lostAt = performance.now()
  await drill.lose(ground)
  await sleep(AWAY_MS)
  await drill.restore(ground)
  const accepted = load.issued()
  const open = load.open().length
  const backAt = performance.now()
  await until(async () => (await load.probe()) === OK, signal)
  await untilEndedSince(load, backAt, signal)
  const servedAt = performance.now()
  await untilEnded(load, ENDED, signal)
  await load.stop()
  const violations = await settled(ground, load, { tenant: tenant.name, signal })
  const known = new Set(accepted)
  /** The render of a violation, of those that were accepted before. Charges are those of the month, so they count as theirs. */
  const renderOf = ({ promise, what }: Violation) =>
    promise === 'I3' ? 'all' : what.split(/[^\w-]/).find((word) => known.has(word))
  const before = new Map(
    violations.flatMap((each) => {
      const render = renderOf(each)
      return render === undefined ? [] : [[`${each.promise} ${render}`, each.promise] as const]
    }),
  )
  const meanwhile = load.exchanges.filter(({ begunAt, endedAt }) => endedAt > lostAt && begunAt < servedAt)
  return {
    without: {
      sync: longestWithout(load, { kind: 'sync', status: OK, from: lostAt }),
      async: longestWithout(load, { kind: 'async', status: ACCEPTED, from: lostAt }),
    },
    accepted: accepted.length,
    open,
    answers: counted(meanwhile.map(({ status }) => status)),
    before: counted([...before.values()]),
    since: violations.filter((each) => renderOf(each) === undefined),
  }
}

function counted<T>(values: readonly T[]): ReadonlyMap<T, number> {
  return new Map(
    Array.from(
      Map.groupBy(values, (value) => value),
      ([value, same]) => [value, same.length],
    ),
  )
}

/** The longest time between two such answers, in seconds. */
function longestWithout(
  { exchanges }: Load,
  { kind, status, from }: Pick<Exchange, 'kind' | 'status'> & { readonly from: number },
): number {
  const answered = exchanges.filter((each) => each.kind === kind && each.status === status && each.endedAt > from)
  const times = [from, ...answered.map(({ endedAt }) => endedAt)].toSorted((a, b) => a - b)
  return Math.max(...times.slice(1).map((time, at) => time - (times[at] ?? time))) / 1000
}

/** Resolves when this many more renders have ended. */
async function untilEnded(load: Load, more: number, signal: AbortSignal): Promise<void> {
  const count = () => load.issued().length - load.open().length
  const wanted = count() + more
  await until(() => count() >= wanted, signal)
}

/** Resolves when an async render that was accepted since then has ended. */
async function untilEndedSince(load: Load, since: number, signal: AbortSignal): Promise<void> {
  const isNew = ({ kind, begunAt, status }: Exchange) => kind === 'async' && begunAt > since && status === ACCEPTED
  await until(() => {
    const open = new Set(load.open())
    return load.exchanges.some((each) => isNew(each) && each.render !== undefined && !open.has(each.render))
  }, signal)
}

/** Resolves when renders wait: the renderers stand still meanwhile. */
async function untilWaiting({ rig }: Ground, load: Load, signal: AbortSignal): Promise<void> {
  for (const renderer of rig.processes('renderer')) renderer.pause()
  const wanted = load.issued().length + WAITING
  await until(() => load.issued().length >= wanted, signal)
  for (const renderer of rig.processes('renderer')) renderer.resume()
}

async function until(isSo: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  while (!(await isSo())) await sleep(ASK_EVERY_MS, undefined, { signal: limit })
}

/** Judges until all promises are kept, or nothing changes any more. */
async function settled(
  { rig }: Ground,
  load: Load,
  { tenant, signal }: { readonly tenant: string; readonly signal: AbortSignal },
): Promise<readonly Violation[]> {
  const limit = performance.now() + LIMIT_MS
  let last = ''
  let changedAt = performance.now()
  for (;;) {
    await load.poll()
    const facts = await readFacts(rig, tenant, signal)
    const violations = judge({ exchanges: load.exchanges, issued: load.issued(), outages: [], facts })
    // Refusals are counted by their status.
    const broken = violations.filter(({ promise }) => promise !== 'I6')
    const open = broken.filter(mayStillCome)
    const state = JSON.stringify([...counted(open.map(({ promise }) => promise))])
    if (state !== last) changedAt = performance.now()
    last = state
    const now = performance.now()
    if (open.length === 0 || now - changedAt > QUIET_MS || now > limit) return broken
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
}

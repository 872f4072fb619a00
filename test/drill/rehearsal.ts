/** Rehearses a loss under load, and measures what callers saw of it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type RenderId, renderUuid } from '@platen/contract/domain/render-id.ts'
import type { TrialTenant } from '../chaos/cluster/rig/rig.ts'
import { judge, mayStillCome, type PromiseId, type Violation } from '../chaos/cluster/trial/judge.ts'
import { beginLoad, type Exchange, type Load } from '../chaos/cluster/trial/load.ts'
import type { Facts } from '../chaos/cluster/trial/oracle.ts'
import type { ServerProcess } from '../topology/server/process.ts'

export interface Stage {
  readonly tenant: TrialTenant
  readonly hookUrl: string
  readonly url: () => string
  /** Stand still for a moment, so that renders wait. */
  readonly renderers: readonly Pick<ServerProcess, 'pause' | 'resume'>[]
  readonly readFacts: (signal: AbortSignal) => Promise<Facts>
}

export interface Disaster {
  /** Takes the copy that comes back later, while renders go on. */
  readonly backUp?: () => Promise<void>
  readonly lose: () => Promise<void>
  readonly restore: () => Promise<void>
  /** Promises that renders accepted before the end of `restore` may miss. */
  readonly mayMiss: readonly PromiseId[]
}

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

export interface RehearsalOptions {
  readonly stage: Stage
  readonly random: () => number
  /** Ends when nothing is open that the loss does not excuse. Otherwise it waits until nothing changes, to count what is broken. */
  readonly isShort?: boolean
  readonly signal: AbortSignal
}

/** Throws when the service does not come back within five minutes. */
export async function rehearse(
  disaster: Disaster,
  { stage, random, isShort = false, signal }: RehearsalOptions,
): Promise<Rehearsal> {
  const { tenant, url, hookUrl } = stage
  const load = beginLoad({ tenant, random, url, hookUrl, pauseMs: PAUSE_MS })
  await untilEnded(load, ENDED, signal)
  await disaster.backUp?.()
  await untilEnded(load, ENDED, signal)
  await untilWaiting(stage, load, signal)
  const lostAt = performance.now()
  await disaster.lose()
  if (!isShort) await sleep(AWAY_MS)
  await disaster.restore()
  const accepted = load.issued()
  const open = load.open().length
  const backAt = performance.now()
  await until(async () => (await load.probe()) === OK, signal)
  await untilEndedSince(load, backAt, signal)
  const servedAt = performance.now()
  await untilEnded(load, ENDED, signal)
  await load.stop()
  /** By both spellings of the service's ids. Webhooks have the second. */
  const known = new Map(accepted.flatMap((id) => [id, renderUuid(id as RenderId)].map((word) => [word, id] as const)))
  /** The render of a violation, of those that were accepted before. Charges are those of the month, so they count as theirs. */
  const renderOf = ({ promise, what }: Violation) =>
    promise === 'I3' ? 'all' : what.split(/[^\w-]/).flatMap((word) => known.get(word) ?? [])[0]
  const isExcused = (each: Violation) => disaster.mayMiss.includes(each.promise) && renderOf(each) !== undefined
  const isAwaited = (each: Violation) => mayStillCome(each) && !(isShort && isExcused(each))
  const violations = await settled(stage, load, { isAwaited, signal })
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
async function untilWaiting({ renderers }: Stage, load: Load, signal: AbortSignal): Promise<void> {
  for (const renderer of renderers) renderer.pause()
  const wanted = load.issued().length + WAITING
  await until(() => load.issued().length >= wanted, signal)
  for (const renderer of renderers) renderer.resume()
}

async function until(isSo: () => boolean | Promise<boolean>, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  while (!(await isSo())) await sleep(ASK_EVERY_MS, undefined, { signal: limit })
}

/** Judges until all promises are kept, or nothing changes any more. */
async function settled(
  { readFacts }: Stage,
  load: Load,
  { isAwaited, signal }: { readonly isAwaited: (violation: Violation) => boolean; readonly signal: AbortSignal },
): Promise<readonly Violation[]> {
  const limit = performance.now() + LIMIT_MS
  let last = ''
  let changedAt = performance.now()
  for (;;) {
    await load.poll()
    const facts = await readFacts(signal)
    const violations = judge({ exchanges: load.exchanges, issued: load.issued(), outages: [], facts })
    // Refusals are counted by their status.
    const broken = violations.filter(({ promise }) => promise !== 'I6')
    const open = broken.filter(isAwaited)
    const state = JSON.stringify([...counted(open.map(({ promise }) => promise))])
    if (state !== last) changedAt = performance.now()
    last = state
    const now = performance.now()
    if (open.length === 0 || now - changedAt > QUIET_MS || now > limit) return broken
    await sleep(LOOK_EVERY_MS, undefined, { signal })
  }
}

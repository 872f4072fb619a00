/** The promises, each as a check of the answers to callers and the outcomes of their renders. Pure. */
import { type Exchange, isTerminal } from './load.ts'
import type { Ending, Facts, TellingOf } from './oracle.ts'

export const PROMISES = {
  I1: 'every id that was issued reaches an end',
  I2: 'one manifest and one event per id',
  I3: 'units charged are those of what succeeded',
  I4: 'what has ended does not change',
  I5: 'no id that was issued is ever unknown',
  I6: 'no 5xx but 503 with Retry-After, while something is away',
  I7: 'every webhook that is due arrives, under one id',
} as const

export type PromiseId = keyof typeof PROMISES

/** An answer to a caller breaks these promises at once. Waiting does not help. */
const NEVER_MENDED: readonly PromiseId[] = ['I4', 'I5', 'I6']

export function mayStillCome({ promise }: Violation): boolean {
  return !NEVER_MENDED.includes(promise)
}

export interface Violation {
  readonly promise: PromiseId
  readonly what: string
}

/** A period in which something was down, until the service had recovered. Times of `performance.now()`. */
export interface Outage {
  readonly from: number
  until: number
}

export interface Evidence {
  readonly exchanges: readonly Exchange[]
  readonly issued: readonly string[]
  readonly outages: readonly Outage[]
  readonly facts: Facts
}

type Check = (evidence: Evidence) => readonly string[]

export function judge(evidence: Evidence): readonly Violation[] {
  // The keys of `CHECKS` are the promises.
  return (Object.keys(CHECKS) as PromiseId[]).flatMap((promise) =>
    CHECKS[promise](evidence).map((what) => ({ promise, what })),
  )
}

const CHECKS: Readonly<Record<PromiseId, Check>> = {
  I1: everyIdEnds,
  I2: oneEnding,
  I3: exactCharges,
  I4: endsStand,
  I5: everyIdKnown,
  I6: onlyHonestRefusals,
  I7: everyWebhookArrives,
}

function everyIdEnds({ issued, facts: { manifests }, exchanges }: Evidence): readonly string[] {
  const last = new Map(exchanges.flatMap(({ render, shown }) => (render && shown ? [[render, shown] as const] : [])))
  return issued.flatMap((id) => {
    const manifest = manifests.get(id)
    if (manifest === undefined) return [`${id} has no manifest`]
    if (manifest.kind === 'canceled') return [`${id} is canceled, and no renderer has said so`]
    // This outcome belongs to refused requests, but this request was accepted. Or its caller has canceled it.
    const isDeleted = exchanges.some(({ kind, render }) => kind === 'delete' && render === id)
    if (manifest.outcome.error?.code === 'canceled' && !isDeleted) return [`${id} was accepted and given up`]
    if (manifest.kind === 'removed' && isDeleted) return []
    return isTerminal(last.get(id)) ? [] : [`${id} has ended and is shown as ${last.get(id)?.status}`]
  })
}

function oneEnding({ facts: { manifests, events } }: Evidence): readonly string[] {
  const reported = Map.groupBy(events, ({ manifest }) => manifest.render.id)
  const unreported = [...manifests.values()].filter(
    (manifest) => isReported(manifest) && !reported.has(manifest.render.id),
  )
  const wrong = [...reported].flatMap(([id, own]) => [...manyIds(id, own), ...otherEndings(manifests.get(id), own)])
  return [...unreported.map(({ render }) => `${render.id} has no event`), ...wrong]
}

/** False for refused requests, which have no event. They never began. */
function isReported({ kind }: Ending): boolean {
  return kind === 'ended' || kind === 'removed'
}

function manyIds(id: string, events: readonly TellingOf[]): readonly string[] {
  const ids = new Set(events.map((event) => event.id))
  return ids.size > 1 ? [`${id} has ${ids.size} events`] : []
}

function otherEndings(manifest: Ending | undefined, events: readonly TellingOf[]): readonly string[] {
  // The event has its id beside the manifest, and not in it. A removal may come before or after it.
  const { eventId, kind: _kind, ...reported } = manifest ?? {}
  const expected = JSON.stringify({ kind: 'ended', ...reported })
  return events
    .filter((event) => event.id !== eventId || JSON.stringify(event.manifest) !== expected)
    .map(({ manifest: { render } }) => `${render.id} is reported otherwise than its manifest says`)
}

function exactCharges({ facts: { manifests, usage } }: Evidence): readonly string[] {
  return [...usage].flatMap(([period, { charged, reserved }]) => {
    const paid = [...manifests.values()].filter(
      ({ render, outcome }) => render.period === period && outcome.status === 'succeeded',
    )
    const units = paid.reduce((sum, { render }) => sum + render.units, 0)
    return [
      ...(charged === units ? [] : [`${period}: ${charged} units charged, ${units} rendered`]),
      ...(reserved === 0 ? [] : [`${period}: ${reserved} units reserved for nothing`]),
    ]
  })
}

function endsStand({ exchanges, facts: { manifests } }: Evidence): readonly string[] {
  const seen = exchanges.flatMap(({ render, shown }) => (render && shown ? [{ render, ...shown }] : []))
  return [...Map.groupBy(seen, ({ render }) => render)].flatMap(([id, shown]) => {
    const first = shown.findIndex(isTerminal)
    if (first < 0) return []
    const ends = new Set(shown.slice(first).map(({ status, finishedAt }) => `${status} at ${finishedAt}`))
    const { outcome } = manifests.get(id) ?? {}
    if (outcome) ends.add(`${outcome.status} at ${new Date(outcome.finishedAt).toISOString()}`)
    return ends.size > 1 ? [`${id}: ${[...ends].join(', then ')}`] : []
  })
}

const NO_CONTENT = 204

function everyIdKnown({ exchanges, facts: { manifests } }: Evidence): readonly string[] {
  // A backup that is restored may be older than the removal.
  const removed = new Set(
    exchanges.flatMap(({ kind, render, status }) => (kind === 'delete' && status === NO_CONTENT ? render : [])),
  )
  const isRemoved = (id = '') => removed.has(id) || manifests.get(id)?.kind === 'removed'
  return exchanges
    .filter(({ kind }) => kind === 'get' || kind === 'delete')
    .filter(({ render, status }) => status === 404 || (status === 410 && !isRemoved(render)))
    .map(({ render, status }) => `${render} was answered ${status}`)
}

function onlyHonestRefusals({ exchanges, outages }: Evidence): readonly string[] {
  return exchanges
    .filter(({ status }) => status === 0 || status >= 400)
    .flatMap((each) => {
      const { kind, status, hasRetryAfter, complaint } = each
      const isExcused = outages.some(({ from, until }) => each.begunAt <= until && each.endedAt >= from)
      const isHonest = status === 0 || (status === 503 && hasRetryAfter)
      // Another promise covers these answers.
      if ((isExcused && isHonest) || status === 404 || status === 410) return []
      return [`${kind} answered ${status} while ${isExcused ? 'something' : 'nothing'} was away: ${complaint}`]
    })
}

function everyWebhookArrives({ facts: { events, posts } }: Evidence): readonly string[] {
  const due = new Map(events.map(({ id, manifest: { render } }) => [id, render]))
  const missing = [...due].flatMap(([id, { id: render, webhookUrl, mode }]) => {
    const answers = posts.filter(({ deliveryId }) => deliveryId === id).map(({ status }) => status)
    // The webhook of an answered sync render is attempted once, for the records. All others must be accepted by the receiver.
    if (webhookUrl === undefined || answers.some((status) => mode === 'sync' || status === NO_CONTENT)) return []
    return [`${id} of ${render} (${mode}) did not arrive; ${answers.length} calls were answered ${answers.join(', ')}`]
  })
  const byBody = Map.groupBy(posts, ({ body }) => body)
  const twice = [...byBody.values()].filter((same) => {
    const ids = new Set(same.map(({ deliveryId }) => deliveryId))
    return ids.size > 1 && same.some(({ deliveryId }) => due.has(deliveryId))
  })
  return [...missing, ...twice.map(([post]) => `one event came under several ids: ${post?.body.slice(0, 100)}`)]
}

/**
 * A cluster on paper: renders are accepted, wait in partitions of lanes, are taken by renderer pods, and the autoscaler makes pods more
 * or fewer by the lag it sees. What decides is the product's own: the lane by `limiter-state.ts`, what a slot takes by `worker/slots.ts`
 * and `worker/sync-queue.ts`. What is assumed stands in the scenario. The same seed gives the same run.
 */
import { KAFKA_COMMIT_EVERY_MS } from '@platen/adapters/kafka/limit.ts'
import type { Lane, Mode } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { Reservation } from '@platen/contract/port/limiter.ts'
import { openLimiterState } from '@platen/contract/port/limiter-state.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { aManifest, aReservation, NOON } from '../../../fixture/build.ts'
import { seeded } from '../../../run/form.ts'
import { agenda } from './agenda.ts'
import { LOOKS_EVERY_SECONDS, openAutoscaler, type ReplicaRange, type ScalingRule } from './autoscaler.ts'
import { assign, openTopics, type Topics, type Waiting } from './queue.ts'
import { openRenderer, type Renderer, type RendererSize } from './renderer.ts'

export interface Scenario {
  readonly seed: number
  /** Renders a second; for `burstSeconds` from `burstAt` on so many times that. */
  readonly perSecond: number
  readonly burst: { readonly atSeconds: number; readonly seconds: number; readonly times: number }
  readonly seconds: number
  /** At first, with the least number of pods, nothing is measured and nothing scaled: a cluster does not begin under load. */
  readonly warmUpSeconds: number
  /** Of all renders. */
  readonly syncShare: number
  /** Each as busy as the others. */
  readonly tenants: number
  readonly partitions: Readonly<Record<Lane, number>>
  readonly size: RendererSize
  readonly range: ReplicaRange
  readonly rule: ScalingRule
  /** Core milliseconds of one render, with the share of renders that take that long. */
  readonly serviceMs: readonly { readonly share: number; readonly ms: number }[]
  /** From the autoscaler's decision to the first render. */
  readonly startSeconds: readonly [least: number, most: number]
  /** While partitions are reassigned nobody takes a render. */
  readonly rebalanceMs: number
}

/** How long renders waited to begin, in milliseconds. */
export interface Waits {
  readonly sync: readonly number[]
  readonly async: readonly number[]
}

export interface Run {
  /** Of those that were accepted before the burst, and from its beginning on. */
  readonly before: Waits
  readonly burst: Waits
  /** Sync renders that no renderer took in time, from the burst on. */
  readonly refused: number
  readonly accepted: number
  readonly ended: number
  /** In the end; with those that have ended they are all that were accepted. */
  readonly inHand: number
  readonly waiting: number
  /** Pods that were ready, just before the burst and at most. */
  readonly pods: { readonly before: number; readonly most: number }
  /** From the beginning of the burst until nothing waited longer than five seconds any more; undefined where that did not come. */
  readonly calmAfterSeconds: number | undefined
}

const SECOND_MS = 1000
/** Longer than a rebalance alone makes anything wait. */
const CALM_MS = 5 * SECOND_MS
/** Bounds of what is not to be simulated: rates are the caller's business here, and holdings do not lapse. */
const LIMITS = {
  htmlRateLimitPerMinute: 1e9,
  syncRateLimitPerMinute: 1e9,
  asyncRateLimitPerMinute: 1e9,
} as const

interface Pod {
  readonly renderer: Renderer
  /** Ended and not committed. */
  uncommitted: number
}

export function simulate(scenario: Scenario): Run {
  const random = seeded(scenario.seed)
  // Building one again for each of a million renders would take most of the time.
  const some = { reservation: aReservation({ engine: 'html', limits: LIMITS }), manifest: aManifest() }
  const allowance = openLimiterState()
  const topics: Topics = openTopics(scenario.partitions)
  const autoscaler = openAutoscaler(scenario.rule, scenario.range)
  const events = agenda()
  const pods: Pod[] = []
  const reservations = new Map<string, Reservation>()
  const warmAtMs = scenario.warmUpSeconds * SECOND_MS
  const burstAtMs = scenario.burst.atSeconds * SECOND_MS
  const burstEndMs = burstAtMs + scenario.burst.seconds * SECOND_MS
  const waits = {
    before: { sync: new Array<number>(), async: new Array<number>() },
    burst: { sync: new Array<number>(), async: new Array<number>() },
  }
  const owners = new Map<unknown, Pod>()
  let [accepted, ended, refused, wanted, inHand] = [0, 0, 0, 0, 0]
  let sharedOutAt = 0
  let podsBefore = 0
  let podsMost = 0
  let lateAt: number | undefined

  const finish = (render: Waiting) => {
    ended += 1
    const reservation = reservations.get(render.id)
    reservations.delete(render.id)
    if (reservation === undefined) throw new Error('a render ends once')
    allowance.complete({ ...some.manifest, render: { ...some.manifest.render, ...reservation } }, undefined)
  }
  const begin = (pod: Pod, now: number) => {
    if (now < sharedOutAt) return
    pod.renderer.begin(
      now,
      (render, forMs) => {
        inHand += 1
        const waitMs = now - render.acceptedAt
        const kind = render.lane === 'sync' ? 'sync' : 'async'
        if (render.acceptedAt >= warmAtMs) waits[render.acceptedAt < burstAtMs ? 'before' : 'burst'][kind].push(waitMs)
        if (render.acceptedAt >= burstAtMs && waitMs > CALM_MS) lateAt = now
        events.schedule(now + forMs, (at) => {
          inHand -= 1
          pod.renderer.end(render)
          pod.uncommitted += 1
          finish(render)
          begin(pod, at)
        })
      },
      (render) => {
        if (render.acceptedAt >= burstAtMs) refused += 1
        pod.uncommitted += 1
        finish(render)
      },
    )
  }
  /** All pods that are ready share the partitions, a moment later. */
  const shareOut = (now: number) => {
    podsMost = Math.max(podsMost, pods.length)
    owners.clear()
    const shares = assign(topics, pods.length)
    pods.forEach((pod, at) => {
      pod.renderer.assign(shares[at] ?? [])
      for (const line of shares[at] ?? []) owners.set(line, pod)
    })
    sharedOutAt = now + scenario.rebalanceMs
    events.schedule(sharedOutAt, (at) => {
      for (const pod of pods) begin(pod, at)
    })
  }
  const join = (now: number) => {
    // It may have been taken back while it started.
    if (pods.length >= wanted) return
    const pod: Pod = { renderer: openRenderer(scenario.size), uncommitted: 0 }
    pods.push(pod)
    const commit = (at: number): void => {
      pod.uncommitted = 0
      events.schedule(at + KAFKA_COMMIT_EVERY_MS, commit)
    }
    events.schedule(now + random() * KAFKA_COMMIT_EVERY_MS, commit)
    shareOut(now)
  }
  const scale = (now: number, replicas: number) => {
    const [least, most] = scenario.startSeconds
    for (let more = wanted; more < replicas; more += 1) {
      events.schedule(now + (least + random() * (most - least)) * SECOND_MS, join)
    }
    wanted = replicas
    if (pods.length <= replicas) return
    // Those that go end what they have in hand, and begin nothing more.
    for (const pod of pods.splice(replicas)) pod.renderer.assign([])
    shareOut(now)
  }
  const look = (now: number) => {
    const uncommitted = pods.reduce((sum, pod) => sum + pod.uncommitted, 0)
    scale(now, autoscaler.look(now / SECOND_MS, accepted - ended + uncommitted))
    if (now < burstAtMs) podsBefore = pods.length
    events.schedule(now + LOOKS_EVERY_SECONDS * SECOND_MS, look)
  }
  const accept = (now: number) => {
    const mode: Mode = random() < scenario.syncShare ? 'sync' : 'async'
    const tenant = `tenant-${Math.floor(random() * scenario.tenants)}`
    // Ids are counted here: minting them is no part of what is looked at.
    const id = `${accepted}` as RenderId
    const reservation: Reservation = { ...some.reservation, id, account: tenant, mode }
    const at: Instant = NOON + Math.floor(now)
    const decision = allowance.reserve(reservation, at)
    if (decision.kind !== 'admitted') throw new Error('nothing here has a limit')
    allowance.confirm(reservation, at)
    reservations.set(id, reservation)
    accepted += 1
    const { lane } = decision
    const lines = topics[lane]
    const line = lines[Math.floor(random() * lines.length)]
    if (line === undefined) throw new Error('every lane has partitions')
    line.put({ id, tenant, lane, acceptedAt: now, serviceMs: drawn(scenario.serviceMs, random()) })
    const owner = owners.get(line)
    if (owner !== undefined) begin(owner, now)
    const isBurst = now >= burstAtMs && now < burstEndMs
    const perSecond = scenario.perSecond * (isBurst ? scenario.burst.times : 1)
    // Arrivals that know nothing of each other.
    const next = now - (Math.log(1 - random()) * SECOND_MS) / perSecond
    if (next < scenario.seconds * SECOND_MS) events.schedule(next, accept)
  }

  wanted = scenario.range.min
  for (let pod = 0; pod < wanted; pod += 1) join(0)
  events.schedule(0, accept)
  events.schedule(warmAtMs, look)
  events.run(scenario.seconds * SECOND_MS)
  const calmAt = lateAt ?? burstAtMs
  const isCalm = calmAt < scenario.seconds * SECOND_MS - 10 * SECOND_MS
  return {
    ...waits,
    refused,
    accepted,
    ended,
    inHand,
    waiting:
      Object.values(topics)
        .flat()
        .reduce((sum, line) => sum + line.waiting(), 0) +
      pods.reduce((sum, { renderer }) => sum + renderer.atHand(), 0),
    pods: { before: podsBefore, most: podsMost },
    calmAfterSeconds: isCalm ? (calmAt - burstAtMs) / SECOND_MS : undefined,
  }
}

function drawn(kinds: Scenario['serviceMs'], chance: number): number {
  let left = chance
  for (const { share, ms } of kinds) {
    if (left < share) return ms
    left -= share
  }
  return kinds.at(-1)?.ms ?? 0
}

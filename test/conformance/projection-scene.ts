/** A projection on a real Kafka and Redis: events as renderers append them, the expected charges of accounts, and ways to lose data. */
import { randomUUID } from 'node:crypto'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type KafkaEventLog, kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { EVENT_TOPIC, prepareTopics, renderTopics } from '@platen/adapters/kafka/topic.ts'
import { projectionMeter } from '@platen/adapters/prometheus/event/projection.ts'
import { openMetrics } from '@platen/adapters/prometheus/metrics.ts'
import { CHECKPOINT_KEY, redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { type Ended, monthOf, type RenderRecord } from '@platen/contract/domain/render.ts'
import type { AuditableLimiter, ChargeCount } from '@platen/contract/port/limiter.ts'
import type { RenderLedger } from '@platen/contract/port/render-ledger.ts'
import { PROJECTION_READER, type ProjectionPorts, runProjection } from '@platen/events/charge/projection.ts'
import { aFailure, aManifest, anEvent, aRecord, aReservation, rejectionOf, SILENT } from '../fixture/build.ts'
import { hurriedClock } from '../time/hurried-clock.ts'
import { poll } from '../time/poll.ts'
import { type KafkaFixture, ONE_PARTITION } from './kafka-harness.ts'
import type { RedisFixture } from './redis-harness.ts'

export interface Scene extends AsyncDisposable {
  readonly log: KafkaEventLog
  readonly redis: RedisConnection
  readonly limiter: AuditableLimiter
  readonly ledger: RenderLedger
  readonly ports: ProjectionPorts
  readonly accounts: readonly string[]
  /** Accepts a render, by default of the first account. */
  aRender(fields?: Partial<RenderRecord>): RenderRecord
  /** Appends events, like renderers that died before they updated Redis. */
  append(...manifests: readonly Ended[]): Promise<void>
  /** Charges of the accounts in this month, in order. */
  charged(): Promise<readonly number[]>
  /** The units of each account's report, added up. */
  counted(): Promise<readonly { readonly byTemplate: number; readonly byDay: number }[]>
  /** Expected charges, from the appended events. */
  expected(): readonly number[]
  /** Resolves when the views contain all appended events. */
  caughtUp(): Promise<void>
  wipe(): Promise<void>
  /** Makes the event log again, empty. */
  loseEvents(): Promise<void>
  /** Saves the current state of Redis. `restore` brings it back later, as from a backup. */
  keep(): Promise<void>
  restore(): Promise<void>
  rebuilds(): Promise<number>
}

export const ACCOUNTS = 3
const PARTITIONS = 3

/** Builds a scene with its own topics and an empty Redis. */
export async function aScene(kafka: KafkaFixture, redis: RedisFixture): Promise<Scene> {
  const stack = new AsyncDisposableStack()
  const settings = await kafka.topics('events', { partitions: { ...ONE_PARTITION, events: PARTITIONS } })
  const { prefix } = settings
  const connection = stack.use(await kafka.connect())
  const client = stack.use(await redis.emptied())
  const log = kafkaEventLog(connection, { prefix })
  const metrics = openMetrics({ isRead: false, deployable: 'test' })
  const [limiter, ledger] = [redisLimiter(client), redisRenderLedger(client)]
  const signal = new AbortController().signal
  const ports = {
    events: log,
    checkpoints: redisCheckpoints(client),
    limiter,
    ledger,
    meter: projectionMeter(metrics),
    clock: hurriedClock(),
    log: SILENT,
  }
  const accounts = Array.from({ length: ACCOUNTS }, () => randomUUID())
  const succeeded = new Map<string, Ended>()
  const now = () => systemClock().now()
  const aof = () => join(redis.server().folder, 'appendonlydir')
  const kept = () => join(redis.server().folder, 'kept')
  const offsets = async () => {
    const known = await client.call((each) => each.hgetall(CHECKPOINT_KEY), signal).catch(() => ({}))
    return known as Readonly<Record<string, string>>
  }
  return {
    log,
    redis: client,
    limiter,
    ledger,
    ports,
    accounts,
    aRender: (fields) => aRecord({ account: accounts[0] ?? '', acceptedAt: now(), period: monthOf(now()), ...fields }),
    async append(...manifests) {
      await Promise.all(manifests.map((manifest) => log.append(anEvent(manifest), signal)))
      for (const each of manifests) if (each.outcome.status === 'succeeded') succeeded.set(each.render.id, each)
    },
    charged: () =>
      Promise.all(accounts.map(async (account) => (await limiter.usage(account, monthOf(now()), signal)).charged)),
    async counted() {
      const sum = (counts: readonly ChargeCount[]) => counts.reduce((total, { units }) => total + units, 0)
      const period = monthOf(now())
      const reports = accounts.map((account) => limiter.report(aReservation({ account, period }), signal))
      return (await Promise.all(reports)).map(({ templates, days }) => ({
        byTemplate: sum(templates),
        byDay: sum(days),
      }))
    },
    expected() {
      const mine = (account: string) => [...succeeded.values()].filter(({ render }) => render.account === account)
      return accounts.map((account) => mine(account).reduce((sum, { render }) => sum + render.units, 0))
    },
    async caughtUp() {
      const admin = await connection.admin()
      const ends = await admin.fetchTopicOffsets(`${prefix}render.events`)
      await poll(offsets).until((known) => ends.every(({ partition, high }) => known[partition] === high))
    },
    wipe: async () => void (await client.call((each) => each.flushall(), signal)),
    async loseEvents() {
      const admin = await connection.admin()
      const topics = renderTopics(settings, [PROJECTION_READER]).filter(({ name }) => name === EVENT_TOPIC)
      const topic = `${prefix}${EVENT_TOPIC}`
      await admin.deleteTopics({ topics: [topic] })
      await poll(() => admin.listTopics()).until((names) => !names.includes(topic))
      await prepareTopics(connection, topics, { settings, signal })
    },
    async keep() {
      await redis.server().stop()
      await rm(kept(), { recursive: true, force: true })
      await cp(aof(), kept(), { recursive: true })
      await redis.server().start()
    },
    async restore() {
      await redis.server().kill()
      await rm(aof(), { recursive: true })
      await cp(kept(), aof(), { recursive: true })
      await redis.server().start()
    },
    async rebuilds() {
      const [, count] = /^platen_projection_rebuilds_total (\d+)$/m.exec(await metrics.text()) ?? []
      return Number(count)
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** Builds the manifest of a render that succeeded half a second after it was accepted. */
export function success(record: RenderRecord): Ended {
  const manifest = aManifest({ record })
  return { ...manifest, outcome: { ...manifest.outcome, finishedAt: record.acceptedAt + 500 } }
}

/** Builds the manifest of a render that failed half a second after it was accepted. */
export function failure(record: RenderRecord): Ended {
  return aManifest({ record, outcome: aFailure({ finishedAt: record.acceptedAt + 500 }) })
}

export interface Running extends AsyncDisposable {
  /** Resolves with the error that ended the projection; undefined after a stop. */
  readonly ended: Promise<unknown>
}

export function start(ports: ProjectionPorts): Running {
  const stop = new AbortController()
  const ended = rejectionOf(runProjection(ports, stop.signal))
  return {
    ended,
    async [Symbol.asyncDispose]() {
      stop.abort()
      const error = await ended
      if (error !== undefined && !(error instanceof Killed)) throw error
    },
  }
}

/** The error of a process that was killed at a step. */
export class Killed extends Error {
  override readonly name = 'Killed'
}

/**
 * Returns the ports of a process that dies at call `at` of Redis: after the call when `isDone`, else before it. `last` returns the name of
 * that call, if it came to it.
 */
export function mortal(ports: ProjectionPorts, death: { readonly at: number; readonly isDone: boolean }) {
  let calls = 0
  let last: string | undefined
  const wrapped = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name, receiver) {
        const value: unknown = Reflect.get(target, name, receiver)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          calls += 1
          if (calls < death.at) return await value.apply(target, args)
          last ??= String(name)
          // After its death, no call has an effect.
          if (calls === death.at && death.isDone) await value.apply(target, args)
          throw new Killed(`at call ${death.at}`)
        }
      },
    })
  const { checkpoints, limiter, ledger } = ports
  return {
    ports: { ...ports, checkpoints: wrapped(checkpoints), limiter: wrapped(limiter), ledger: wrapped(ledger) },
    last: () => last,
  }
}

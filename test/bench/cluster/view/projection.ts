/** What it costs to fill an emptied Redis from the event log, beside only reading the log. */
import { randomBytes, randomUUID } from 'node:crypto'
import { connectKafka, type KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import { kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import { EVENT_TOPIC, prepareTopics, renderTopics } from '@platen/adapters/kafka/topic.ts'
import { redisCheckpoints } from '@platen/adapters/redis/checkpoint.ts'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { redisRenderLedger } from '@platen/adapters/redis/render-ledger.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { monthOf } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { PROJECTION_CALL_MS_MAX } from '@platen/events/charge/limit.ts'
import { PROJECTION_READER, runProjection } from '@platen/events/charge/projection.ts'
import { aManifest, anEvent, aRecord, aRenderId } from '../../../fixture/build.ts'
import { startKafka } from '../../../topology/server/kafka.ts'
import { redisSettings, startRedis } from '../../../topology/server/redis.ts'
import type { Figure } from '../../measure.ts'
import { quantile } from '../../measure.ts'

const EVENTS = 100_000
const ACCOUNTS = 100
const AT_ONCE = 1000
const ROUNDS = 3
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** Characters of an id after its time. */
const ID_TAIL_CHARS = 15

export async function* projection(scale: number): AsyncGenerator<Figure> {
  await using kafka = await startKafka({ isMeasured: true })
  await using server = await startRedis()
  const ports = { clock: systemClock(), log: openLog({ level: 'error', process: 'test', instance: 'test' }) }
  const signal = new AbortController().signal
  await using connection = await connectKafka({ brokers: [kafka.broker], clientId: 'bench' }, ports, signal)
  await using shared = await connectRedis({ ...redisSettings(server), isAutoPipelined: true, ...ports }, signal)
  await using redis = await shared.duplicate(PROJECTION_CALL_MS_MAX, signal)
  await prepareTopics(connection, renderTopics({ prefix: '' }, [PROJECTION_READER]), {
    settings: { prefix: '' },
    signal,
  })
  const count = Math.ceil(EVENTS * scale)
  await append(connection, count, signal)
  const times = { bare: new Array<number>(), own: new Array<number>() }
  for (let round = 0; round < ROUNDS; round += 1) {
    times.bare.push(await timed(() => readBare(connection, count)))
    await redis.call((client) => client.flushall(), signal)
    times.own.push(await timed(() => rebuild(connection, redis, count)))
  }
  const [bare, own] = [quantile(times.bare, 0.5), quantile(times.own, 0.5)]
  const rate = (ms: number) => `${((count * 1000) / ms).toFixed(0)}/s`
  yield {
    name: `filling an emptied Redis from ${count} events of two days: × only reading them`,
    detail: `${rate(own)}, ${rate(bare)}`,
    value: bare / own,
    // Each is written in two places of Redis, where reading is a few bytes of a fetch.
    target: { atLeast: 0.1 },
  }
  yield {
    name: `filling an emptied Redis from ${count} events of two days: events a second`,
    detail: rate(own),
    value: (count * 1000) / own,
    target: { atLeast: 20_000 },
  }
}

/** The most there is to do for each: whose view has to be mended as well. */
async function append(connection: KafkaConnection, count: number, signal: AbortSignal): Promise<void> {
  const log = kafkaEventLog(connection, { prefix: '' })
  const accounts = Array.from({ length: ACCOUNTS }, () => randomUUID())
  const now = Date.now()
  for (let sent = 0; sent < count; sent += AT_ONCE) {
    const events = Array.from({ length: Math.min(AT_ONCE, count - sent) }, (_, at) => {
      const account = accounts[at % ACCOUNTS] ?? ''
      const record = aRecord({ id: anId(now), account, acceptedAt: now, period: monthOf(now) })
      const { outcome, ...manifest } = aManifest({ record })
      return anEvent({ ...manifest, outcome: { ...outcome, finishedAt: now } })
    })
    await Promise.all(events.map((event) => log.append(event, signal)))
  }
}

/** An id as random as those of the service. Those of the fixture count in some of its bits, so few of them would share many buckets. */
function anId(now: number): RenderId {
  const tail = Array.from(randomBytes(ID_TAIL_CHARS), (byte) => DIGITS[byte % DIGITS.length]).join('')
  // Nobody verifies it.
  return `${aRenderId(now).slice(0, -ID_TAIL_CHARS)}${tail}` as RenderId
}

/** Reads them all as kafkajs gives them, in a group that has read nothing. */
async function readBare(connection: KafkaConnection, count: number): Promise<void> {
  const consumer = connection.client().consumer({ groupId: randomUUID(), maxWaitTimeInMs: 100 })
  const all = Promise.withResolvers<void>()
  let read = 0
  await consumer.connect()
  await consumer.subscribe({ topics: [EVENT_TOPIC], fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      read += batch.messages.length
      if (read >= count) all.resolve()
    },
  })
  await all.promise
  await consumer.disconnect()
}

async function rebuild(connection: KafkaConnection, redis: RedisConnection, count: number): Promise<void> {
  const stop = new AbortController()
  let applied = 0
  await runProjection(
    {
      clock: connection.clock,
      log: connection.log,
      events: kafkaEventLog(connection, { prefix: '' }),
      checkpoints: redisCheckpoints(redis),
      limiter: redisLimiter(redis),
      ledger: redisRenderLedger(redis),
      meter: {
        rebuildStarted: () => undefined,
        applied(some) {
          applied += some
          if (applied >= count) stop.abort()
        },
      },
    },
    stop.signal,
  )
}

async function timed(step: () => Promise<void>): Promise<number> {
  const begunAt = performance.now()
  await step()
  return performance.now() - begunAt
}

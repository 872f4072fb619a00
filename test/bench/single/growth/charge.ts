/** What a charge costs in Redis when an account has been charged a thousand renders in a month, and when it has ten million. */
import { randomBytes } from 'node:crypto'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { redisLimiter } from '@platen/adapters/redis/limiter.ts'
import { limiterPrefix } from '@platen/adapters/redis/limiter-settings.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { aManifest, aRecord, NEVER } from '../../../fixture/build.ts'
import { redisSettings, startRedis } from '../../../topology/server/redis.ts'
import type { Figure } from '../../measure.ts'
import { grouped, rounded, tableOf } from './table.ts'

const SIZES = [1000, 100_000, 1_000_000, 10_000_000]
/** The best of some rounds, because this is time, in which other processes may have had the core. */
const ROUNDS = 10
const CALLS = 50
const CALL_MS_MAX = 60_000
const RATIO_MAX = 2
/** Of an id in the set of charged renders. */
const ENTRY_BYTES = 10
/** The number in an entry that names its bucket. */
const NUMBER_MAX = 2 ** 30
const BUCKET_RENDERS = 64
const BUCKETS_AT_ONCE = 1000

export async function* charges(): AsyncGenerator<Figure> {
  await using server = await startRedis()
  await using redis = await connectRedis(
    { ...redisSettings(server), callMsMax: CALL_MS_MAX, clock: systemClock() },
    NEVER,
  )
  const rows: Measured[] = []
  for (const count of SIZES) rows.push(await measured(redis, count))
  const table = rows.map(({ count, us, bytes }) => [grouped(count), rounded(us), rounded(bytes)])
  const columns = ['renders charged in a month', 'Redis for one charge, µs', 'bytes of each']
  process.stdout.write(tableOf(columns, table))
  const [few, many] = [rows[0], rows.at(-1)]
  yield {
    name: `a charge after ${grouped(many?.count ?? 0)} of an account ÷ after ${grouped(few?.count ?? 0)}`,
    detail: `${rounded(many?.us ?? 0)} ÷ ${rounded(few?.us ?? 0)} µs`,
    value: (many?.us ?? Number.NaN) / (few?.us ?? Number.NaN),
    target: { atMost: RATIO_MAX },
  }
}

interface Measured {
  readonly count: number
  readonly us: number
  readonly bytes: number
}

async function measured(redis: RedisConnection, count: number): Promise<Measured> {
  const record = aRecord({ account: `account-${count}` })
  const key = `${limiterPrefix(record.account)}:charges:${record.period}`
  for (const fields of filled(count)) await redis.call((client) => client.hset(key, fields), NEVER)
  const us = await chargeUs(redis, record.account)
  const bytes = (await bytesOf(redis, key)) / count
  await redis.call((client) => client.del(key), NEVER)
  return { count, us, bytes }
}

/** As the script writes them: buckets of linear hashing, of ten bytes for each render. */
function* filled(count: number): Generator<Record<string, Buffer | number>> {
  const buckets = Math.ceil(count / BUCKET_RENDERS)
  const power = 2 ** Math.ceil(Math.log2(buckets))
  yield { buckets, renders: count }
  let due = 0
  for (let from = 0; from < buckets; from += BUCKETS_AT_ONCE) {
    const some: Record<string, Buffer> = {}
    for (let bucket = from; bucket < Math.min(from + BUCKETS_AT_ONCE, buckets); bucket += 1) {
      const isDivided = bucket < buckets - power / 2 || bucket >= power / 2
      const modulus = isDivided ? power : power / 2
      const before = Math.round(due)
      due += count / modulus
      some[bucket] = numbersOf(Math.round(due) - before, { bucket, modulus })
    }
    yield some
  }
}

function numbersOf(count: number, { bucket, modulus }: { readonly bucket: number; readonly modulus: number }): Buffer {
  const entries = randomBytes(count * ENTRY_BYTES)
  for (let at = 0; at < entries.length; at += ENTRY_BYTES) {
    const number = entries.readUInt32BE(at) % NUMBER_MAX
    entries.writeUInt32BE(number - (number % modulus) + bucket, at)
  }
  return entries
}

/** What Redis itself says that a script took. */
async function chargeUs(redis: RedisConnection, account: string): Promise<number> {
  const limiter = redisLimiter(redis)
  const charge = () => limiter.complete(aManifest({ record: aRecord({ account }) }), NEVER)
  await charge()
  const rounds: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await redis.call((client) => client.config('RESETSTAT'), NEVER)
    for (let at = 0; at < CALLS; at += 1) await charge()
    const stats = await redis.call((client) => client.info('commandstats'), NEVER)
    rounds.push(Number(/^cmdstat_evalsha:.*usec_per_call=([\d.]+)/m.exec(stats)?.[1]))
  }
  return Math.min(...rounds)
}

/** Of the key that the charges are in. */
async function bytesOf(redis: RedisConnection, key: string): Promise<number> {
  const units = await redis.call((client) => client.hget(key, 'units'), NEVER)
  if (Number(units) !== ROUNDS * CALLS + 1) throw new Error('the charges are in another key')
  return (await redis.call((client) => client.memory('USAGE', key, 'SAMPLES', 0), NEVER)) ?? Number.NaN
}

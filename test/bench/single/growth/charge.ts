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
const CALLS = 500
const CALL_MS_MAX = 60_000
const RATIO_MAX = 2
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** Of an id in the set of charged renders, with a comma. */
const ENTRY_CHARS = 13

export async function* charges(): AsyncGenerator<Figure> {
  await using server = await startRedis()
  await using redis = await connectRedis(
    { ...redisSettings(server), callMsMax: CALL_MS_MAX, clock: systemClock() },
    NEVER,
  )
  const rows: { readonly count: number; readonly us: number; readonly bytes: number }[] = []
  for (const count of SIZES) {
    const record = aRecord({ account: `account-${count}` })
    const key = `${limiterPrefix(record.account)}:charges:${record.period}`
    await fill(redis, key, count)
    rows.push({ count, us: await chargeUs(redis, record.account), bytes: (await bytesOf(redis, key)) / count })
    await redis.call((client) => client.del(key), NEVER)
  }
  const table = rows.map(({ count, us, bytes }) => [grouped(count), rounded(us), rounded(bytes)])
  process.stdout.write(tableOf(['renders charged in a month', 'Redis for one charge, µs', 'bytes of each'], table))
  const [few, many] = [rows[0], rows.at(-1)]
  yield {
    name: `a charge after ${grouped(many?.count ?? 0)} of an account ÷ after ${grouped(few?.count ?? 0)}`,
    detail: `${rounded(many?.us ?? 0)} ÷ ${rounded(few?.us ?? 0)} µs`,
    value: (many?.us ?? Number.NaN) / (few?.us ?? Number.NaN),
    target: { atMost: RATIO_MAX },
  }
}

/** As the script writes them: under two characters of the id, the thirteen that follow. */
async function fill(redis: RedisConnection, key: string, count: number): Promise<void> {
  for (const [at, first] of DIGITS.split('').entries()) {
    const fields = DIGITS.split('').map((second, below) => {
      const entries = Math.floor(count / 1024) + (at * 32 + below < count % 1024 ? 1 : 0)
      return [`${first}${second}`, entriesOf(entries)] as const
    })
    const some = Object.fromEntries(fields.filter(([, text]) => text !== ''))
    if (Object.keys(some).length > 0) await redis.call((client) => client.hset(key, some), NEVER)
  }
}

function entriesOf(count: number): string {
  const random = randomBytes(count * ENTRY_CHARS)
  const entries: string[] = []
  for (let at = 0; at < random.length; at += ENTRY_CHARS)
    entries.push(Array.from(random.subarray(at, at + ENTRY_CHARS), (byte) => DIGITS[byte % 32]).join(''))
  return entries.map((entry) => `${entry},`).join('')
}

/** What Redis itself says that a script took. */
async function chargeUs(redis: RedisConnection, account: string): Promise<number> {
  const limiter = redisLimiter(redis)
  const charge = () => limiter.complete(aManifest({ record: aRecord({ account }) }), NEVER)
  await charge()
  await redis.call((client) => client.config('RESETSTAT'), NEVER)
  for (let at = 0; at < CALLS; at += 1) await charge()
  const stats = await redis.call((client) => client.info('commandstats'), NEVER)
  return Number(/^cmdstat_evalsha:.*usec_per_call=([\d.]+)/m.exec(stats)?.[1])
}

/** Of the key that the charges are in. */
async function bytesOf(redis: RedisConnection, key: string): Promise<number> {
  const units = await redis.call((client) => client.hget(key, 'units'), NEVER)
  if (Number(units) !== CALLS + 1) throw new Error('the charges are in another key')
  return (await redis.call((client) => client.memory('USAGE', key, 'SAMPLES', 0), NEVER)) ?? Number.NaN
}

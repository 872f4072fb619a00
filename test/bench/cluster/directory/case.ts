/** What holding the settings of thousands of tenants costs a process beside reading them from Redis, and what publishing them costs Redis. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { connectRedis, type RedisConnection } from '@platen/adapters/redis/connect.ts'
import { openRedisPublisher } from '@platen/adapters/redis/directory/publisher.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { redisSettings, startRedis } from '../../../topology/server/redis.ts'
import type { Figure } from '../../measure.ts'
import { quantile } from '../../measure.ts'
import type { Reading } from './reader.ts'
import { manySettings } from './settings.ts'

const TENANTS = 10_000
const ROUNDS = 5
const MIB = 1024 * 1024
const CALL_MS_MAX = 20_000
/** What survives a load is old at once: a small nursery costs it nothing, and a large one stays. */
const FRUGAL = '--max-semi-space-size=4'
/** What Redis notes of its calls: those that take longer. */
const SLOW_US = 200

export async function* directory(scale: number): AsyncGenerator<Figure> {
  await using server = await startRedis()
  await using redis = await connectRedis(redisSettings(server), AbortSignal.timeout(CALL_MS_MAX))
  const tenants = Math.ceil(TENANTS * scale)
  yield* publishing(redis, tenants)
  const readings = { bare: new Array<Reading>(), own: new Array<Reading>(), frugal: new Array<Reading>() }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const how of ['bare', 'own', 'frugal'] as const) readings[how].push(await readingOf(how, server.port))
  }
  const settings = `${tenants} tenants, ${3 * tenants} keys, ${2 * tenants} templates`
  const [bare = Number.NaN, own = Number.NaN] = [readings.bare, readings.own].map((all) =>
    quantile(
      all.map(({ loadMs }) => loadMs),
      0.5,
    ),
  )
  const mostOf = (all: readonly Reading[], field: 'rssBytes' | 'heldBytes') =>
    Math.max(...all.map((reading) => reading[field])) / MIB
  yield {
    name: `loading ${settings} ÷ bare HSCAN`,
    detail: `${own.toFixed(0)} ms ÷ ${bare.toFixed(0)} ms`,
    value: own / bare,
    target: { atMost: 5 },
  }
  for (const [how, name] of [
    ['own', 'an API process with them, MiB'],
    ['frugal', `the same with ${FRUGAL}, MiB`],
  ] as const)
    yield { name, detail: 'resident, highest', value: mostOf(readings[how], 'rssBytes'), target: { atMost: 250 } }
  const held = mostOf(readings.own, 'heldBytes')
  yield {
    name: 'the settings alone, MiB',
    detail: 'on the heap',
    value: held,
    target: { atMost: 100 },
  }
}

/** A first publish, then a change of every tenant's limits, and how long Redis stood still for each. */
async function* publishing(redis: RedisConnection, tenants: number): AsyncGenerator<Figure> {
  const signal = AbortSignal.timeout(10 * CALL_MS_MAX)
  await redis.call((client) => client.config('SET', 'slowlog-log-slower-than', SLOW_US), signal)
  const publisher = await openRedisPublisher({ redis, ids: systemIds() }, signal)
  for (const [revision, name] of [
    [1, 'first publish'],
    [2, "every tenant's limits changed"],
  ] as const) {
    await redis.call((client) => client.slowlog('RESET'), signal)
    const begunAt = performance.now()
    await publisher.publish(manySettings(revision, tenants), signal)
    const elapsedMs = performance.now() - begunAt
    // Each entry: its number, when, how many microseconds, and what was called.
    const slow = (await redis.call((client) => client.slowlog('GET', 1000), signal)) as readonly (readonly number[])[]
    const longestMs = Math.max(SLOW_US, ...slow.map((entry) => entry[2] ?? 0)) / 1000
    yield {
      name: `${name}: the longest that Redis stands still, ms`,
      detail: `published in ${elapsedMs.toFixed(0)} ms`,
      value: longestMs,
      target: { atMost: 10 },
    }
  }
}

async function readingOf(how: 'bare' | 'own' | 'frugal', port: number): Promise<Reading> {
  const child = fork(new URL('reader.ts', import.meta.url), [how === 'bare' ? 'bare' : 'own', `${port}`], {
    env: { ...process.env, NODE_ENV: 'production' },
    execArgv: how === 'frugal' ? [FRUGAL] : [],
  })
  const exited = once(child, 'exit')
  const [reading] = (await once(child, 'message')) as [Reading]
  child.disconnect()
  await exited
  return reading
}

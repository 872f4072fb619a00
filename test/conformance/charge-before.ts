/** A charge as the version before makes it: it knows only the form of format 1. */
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import { limiterPrefix } from '@platen/adapters/redis/limiter-settings.ts'
import type { Manifest } from '@platen/contract/render.ts'
import { NEVER } from '../fixture/build.ts'

/** Charges a render of the one template of its account unless that version finds it charged. That version does so within a script. */
export async function chargeBefore(
  redis: RedisConnection,
  { account, period, id, units, template, acceptedAt }: Manifest['render'],
): Promise<void> {
  const key = `${limiterPrefix(account)}:charges:${period}`
  const [bucket, entry] = [id.slice(11, 13), `${id.slice(13)},`]
  const entries = (await redis.call((client) => client.hget(key, bucket), NEVER)) ?? ''
  if (entries.includes(entry)) return
  await redis.call((client) => client.hset(key, bucket, entries + entry), NEVER)
  const day = new Date(acceptedAt).toISOString().slice(8, 10)
  await redis.call((client) => client.hset(key, 'templates', template.code), NEVER)
  for (const field of ['units', `units template ${template.code}`, `units day ${day}`])
    await redis.call((client) => client.hincrby(key, field, units), NEVER)
  for (const field of [`renders template ${template.code}`, `renders day ${day}`])
    await redis.call((client) => client.hincrby(key, field, 1), NEVER)
  await redis.call((client) => client.hsetnx(key, 'count', `${id}-before`), NEVER)
}

/** Lua that runs inside Redis: one call, seen by others whole or not at all. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { RedisConnection } from './connect.ts'

export interface Script {
  /** Runs it on keys of one hash slot. It is sent by its digest, and whole where Redis does not know it (yet, or any more). */
  run(call: ScriptCall, signal: AbortSignal): Promise<unknown>
}

export interface ScriptCall {
  readonly keys: readonly string[]
  /** Given to the script as JSON in `ARGV[1]`. */
  readonly request: object
}

export interface ScriptSource {
  /** Beside this module. It finds `request` and `now`; what it returns is JSON, or nothing. */
  readonly file: string
  /** Tells it the time as `now` in the request; absent = it asks Redis. */
  readonly clock?: Clock | undefined
}

/** What every script begins with: what it is asked, and the time in epoch milliseconds, its caller's or that of Redis. */
const PRELUDE = `
local request = cjson.decode(ARGV[1])
local now = request.now
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`

/** The script in a file of this folder. Where it answers nothing, that is undefined. */
export function openScript(redis: RedisConnection, { file, clock }: ScriptSource): Script {
  const lua = PRELUDE + readFileSync(new URL(file, import.meta.url), 'utf8')
  const digest = createHash('sha1').update(lua).digest('hex')
  return {
    async run({ keys, request }, signal) {
      const values = [...keys, JSON.stringify({ ...request, ...(clock && { now: clock.now() }) })]
      const answer = await redis.call(async (client) => {
        try {
          return await client.evalsha(digest, keys.length, ...values)
        } catch (error) {
          if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
          return await client.eval(lua, keys.length, ...values)
        }
      }, signal)
      return typeof answer === 'string' ? JSON.parse(answer) : undefined
    },
  }
}

/** Lua scripts inside Redis. A script is one call, and atomic. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Clock } from '@platen/lib/clock.ts'
import type { RedisConnection } from './connect.ts'

export interface Script {
  /** The keys must be in one hash slot. Sends only the digest, and the whole text if Redis does not know the script. */
  run(call: ScriptCall, signal: AbortSignal): Promise<unknown>
}

interface ScriptCall {
  readonly keys: readonly string[]
  /** JSON in `ARGV[1]`. */
  readonly request: object
  /** From `ARGV[2]` on. */
  readonly texts?: readonly string[]
}

interface ScriptSource {
  /** Path relative to this module. The script has `request` and `now` as locals, and returns JSON or nothing. */
  readonly file: string
  /** Path of a file with functions that the script calls. */
  readonly precededBy?: string
  /** The source of `now`; absent = the time of Redis. */
  readonly clock?: Clock | undefined
}

/** Decodes the request, and sets `now` in epoch milliseconds, from the caller or from Redis. */
const PRELUDE = `
local request = cjson.decode(ARGV[1])
local now = request.now
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`

/** `run` returns undefined if the script returns nothing. */
export function openScript(redis: RedisConnection, { file, precededBy, clock }: ScriptSource): Script {
  const textOf = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8')
  const lua = PRELUDE + (precededBy === undefined ? '' : textOf(precededBy)) + textOf(file)
  const digest = createHash('sha1').update(lua).digest('hex')
  return {
    async run({ keys, request, texts = [] }, signal) {
      const values = [...keys, JSON.stringify({ ...request, ...(clock && { now: clock.now() }) }), ...texts]
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

/** A process that reads all settings: by itself (`bare`), or into the directory of an API process (`own`). It says what that took. */
import { connectRedis } from '@platen/adapters/redis/connect.ts'
import { openRedisDirectory } from '@platen/adapters/redis/directory.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openLog } from '@platen/adapters/system/log.ts'
import { buildApp } from '@platen/api/app.ts'
import { heapBytes } from '../../measure.ts'

export interface Reading {
  readonly loadMs: number
  readonly rssBytes: number
  /** What the heap has grown by. */
  readonly heldBytes: number
}

const [how, port] = process.argv.slice(2)
const signal = AbortSignal.timeout(60_000)
const location = { kind: 'server', address: { host: '127.0.0.1', port: Number(port) } } as const
const redis = await connectRedis({ location, callMsMax: 20_000, clock: systemClock() }, signal)
const before = heapBytes()
const begunAt = performance.now()
const close = how === 'bare' ? await readBare() : await readOwn()
const loadMs = performance.now() - begunAt
const { rss } = process.memoryUsage()
const reading: Reading = { loadMs, rssBytes: rss, heldBytes: heapBytes() - before }
process.once('disconnect', () => void close().then(() => process.exit()))
process.send?.(reading)

/** As fast as possible: what is read is dropped. */
async function readBare() {
  let fields = 0
  for (const kind of ['tenants', 'keys', 'templates']) {
    let cursor = '0'
    do {
      const from = cursor
      const [next, flat] = await redis.call(
        (client) => client.hscan(`platen:{directory}:${kind}`, from, 'COUNT', 500),
        signal,
      )
      fields += flat.length / 2
      cursor = next
    } while (cursor !== '0')
  }
  if (fields === 0) throw new Error('there is something to read')
  return () => redis[Symbol.asyncDispose]()
}

async function readOwn() {
  const directory = await openRedisDirectory(
    {
      redis,
      clock: systemClock(),
      log: openLog({ level: 'warn', process: 'test', instance: 'test' }),
      reader: 'bench',
    },
    signal,
  )
  if (!directory.state().isReady) throw new Error('there is something to load')
  // What an API process has loaded besides.
  if (typeof buildApp !== 'function') throw new Error('the API is loaded')
  return async () => {
    await directory[Symbol.asyncDispose]()
    await redis[Symbol.asyncDispose]()
  }
}

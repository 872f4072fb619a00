/**
 * Measures the dependencies of a process, by wrapping the ports and connections to them, and checks those that may get no call for a while.
 * The adapters know nothing of that.
 */

import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import type { InstalledArtifactStore } from '@platen/adapters/open-artifact-store.ts'
import type { Dependencies } from '@platen/adapters/prometheus/dependency.ts'
import type { RedisConnection } from '@platen/adapters/redis/connect.ts'
import type { DependencyMeter } from '@platen/contract/port/dependency-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { raceAbort } from '@platen/lib/race.ts'

/** Between two checks, and the limit of one. A dashboard shows the result even later, after a scrape. */
const CHECK_EVERY_MS = 5000

interface Measured {
  readonly dependencies: Dependencies
  readonly clock: Clock
  readonly log: Log
  readonly stack: AsyncDisposableStack
}

/** Any name without an object will do: it is an answer that there is none. */
const ABSENT_KEY = 'health-check'

export function measureStore(
  { artifacts, serviceBucket }: InstalledArtifactStore,
  measured: Measured,
): InstalledArtifactStore {
  const check = (signal: AbortSignal) => artifacts.has({ bucket: serviceBucket, key: ABSENT_KEY }, signal)
  return { artifacts: measuredStore(artifacts, watchDependency('s3', check, measured)), serviceBucket }
}

/** Measures sending. What consumers fetch is measured as lag. */
export function measureKafka(
  kafka: KafkaConnection,
  check: () => Promise<unknown>,
  measured: Measured,
): KafkaConnection {
  const meter = watchDependency('kafka', check, measured)
  return {
    ...kafka,
    send: (topic, records, signal) => meter.measure('produce', () => kafka.send(topic, records, signal), signal),
  }
}

/** Measures the connection and its duplicates. Redis has a health check of its own, which decides about calls too. */
export function measureRedis(redis: RedisConnection, { dependencies }: Measured): RedisConnection {
  return measuredRedis(
    redis,
    dependencies.add('redis', () => !redis.health.isDown()),
  )
}

/** Checks a dependency until `stack` is disposed. It counts as up at first, as the process has just connected to it. */
function watchDependency<Name extends 's3' | 'kafka'>(
  name: Name,
  check: (signal: AbortSignal) => Promise<unknown>,
  { dependencies, clock, log, stack }: Measured,
): DependencyMeter<Name> {
  const closing = new AbortController()
  const { signal } = closing
  let isUp = true
  const meter: DependencyMeter<'s3' | 'kafka'> = dependencies.add(name, () => isUp)
  const run = async () => {
    for (;;) {
      await clock.sleep(CHECK_EVERY_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      const limited = AbortSignal.any([signal, clock.timeout(CHECK_EVERY_MS)])
      // Clients may try for longer than a check may take.
      const answer = meter.measure('health_check', () => raceAbort(check(limited), limited), limited)
      const failure = await answer.then(
        () => undefined,
        (err: unknown) => ({ err }),
      )
      if (signal.aborted) return
      if (isUp && failure !== undefined) log.warn({ dependency: name, ...failure }, 'dependency check failed')
      if (!isUp && failure === undefined) log.info({ dependency: name }, 'dependency available again')
      isUp = failure === undefined
    }
  }
  const done = run()
  stack.defer(async () => {
    closing.abort(new Error('the process closes'))
    await done
  })
  return meter
}

/** Does not measure presigning, which is no call. */
function measuredStore(
  store: InstalledArtifactStore['artifacts'],
  meter: DependencyMeter<'s3'>,
): InstalledArtifactStore['artifacts'] {
  return {
    ...store,
    put: (address, bytes, signal) => meter.measure('put', () => store.put(address, bytes, signal), signal),
    create: (address, bytes, signal) => meter.measure('create', () => store.create(address, bytes, signal), signal),
    get: (address, signal) => meter.measure('get', () => store.get(address, signal), signal),
    has: (address, signal) => meter.measure('has', () => store.has(address, signal), signal),
    delete: (address, signal) => meter.measure('delete', () => store.delete(address, signal), signal),
    async *list(bucket, prefix, signal) {
      const found = store.list(bucket, prefix, signal)[Symbol.asyncIterator]()
      try {
        // Measures the first address, which takes a request. Most of the next ones are in its answer, and the caller's own time is no
        // latency.
        let next = await meter.measure('list', () => found.next(), signal)
        for (; next.done !== true; next = await found.next()) yield next.value
      } finally {
        await found.return?.()
      }
    },
  }
}

function measuredRedis(redis: RedisConnection, meter: DependencyMeter<'redis'>): RedisConnection {
  return {
    ...redis,
    call: (command, signal) => meter.measure('call', () => redis.call(command, signal), signal),
    duplicate: async (callMsMax, signal) => measuredRedis(await redis.duplicate(callMsMax, signal), meter),
  }
}

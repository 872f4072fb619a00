/**
 * Which seal keys the processes have that sign webhooks. Each reports the ids of its keys repeatedly, so that the operator learns of one
 * that cannot open what it seals. The report of a process that has gone expires by itself.
 */
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { type SealKeyReport, type SealKeys, sealKeyId } from '@platen/lib/seal.ts'
import type { RedisConnection } from '../connect.ts'
import { DIRECTORY_REPORT_EVERY_MS, DIRECTORY_REPORT_KEPT_MS, DIRECTORY_WAIT_MS } from '../limit.ts'
import { directoryScript } from './layout.ts'

interface SealKeyReporterOptions {
  readonly redis: RedisConnection
  readonly clock: Clock
  readonly log: Log
  /** The name of this process among those that report. */
  readonly reader: string
  readonly sealKeys: () => SealKeys
}

/** Reports the seal keys of this process until it is closed; then removes the report. */
export function openSealKeyReporter({ redis, clock, log, reader, sealKeys }: SealKeyReporterOptions): AsyncDisposable {
  const script = directoryScript(redis, 'seal-keys')
  const closing = new AbortController()
  const report = (signal: AbortSignal) => {
    const own = { reader, sealKeys: sealKeys().map(sealKeyId) }
    return script({ keys: [], request: { operation: 'report', ...own, reportedMs: DIRECTORY_REPORT_KEPT_MS } }, signal)
  }
  const run = async () => {
    while (!closing.signal.aborted) {
      await report(closing.signal).catch((err: unknown) => {
        if (!closing.signal.aborted) log.debug({ err }, 'seal keys not reported')
      })
      await clock.sleep(DIRECTORY_REPORT_EVERY_MS, closing.signal).catch(() => undefined)
    }
  }
  const running = run()
  return {
    async [Symbol.asyncDispose]() {
      closing.abort()
      await running
      const request = { operation: 'leave', reader }
      await script({ keys: [], request }, clock.timeout(DIRECTORY_WAIT_MS)).catch(() => undefined)
    },
  }
}

/** Throws `Unavailable`. */
export async function readSealKeyReports(
  redis: RedisConnection,
  signal: AbortSignal,
): Promise<readonly SealKeyReport[]> {
  const request = { operation: 'readers', reportedMs: DIRECTORY_REPORT_KEPT_MS }
  // The script returns what processes have reported through it.
  const { reports, now } = (await directoryScript(redis, 'seal-keys')({ keys: [], request }, signal)) as ReportsAnswer
  return Object.values(reports).map(({ sealKeys, at }) => ({ sealKeys, ageMs: now - at }))
}

interface ReportsAnswer {
  /** A list, which Lua encodes as an object when it is empty. */
  readonly reports: Readonly<Record<string, { readonly sealKeys: readonly string[]; readonly at: number }>>
  readonly now: number
}

/**
 * Follows the seal keys of the operator, which seals webhook secrets with the first of them, and those that the events processes report,
 * which open the secrets. Without a common key, webhooks wait, and every tenant says so.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { type SealKeyReport, type SealKeys, sealKeyId } from '@platen/lib/seal.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { SEAL_KEYS_CHECK_MS } from './limit.ts'

interface SealKeyWatchOptions {
  readonly sealKeys: () => SealKeys
  /** Reads the reports of all events processes. Throws `Unavailable`. */
  readonly readReports: (signal: AbortSignal) => Promise<readonly SealKeyReport[]>
  readonly clock: Clock
  readonly log: Log
}

export interface SealKeyWatch {
  /** False if, according to the last check, an events process has no key for what the operator seals. */
  readonly isReadable: () => boolean
  /** Returns whether the keys of the operator, or the answer of `isReadable`, changed since the last check. */
  readonly check: (signal: AbortSignal) => Promise<boolean>
  /** Checks repeatedly until the signal aborts, and calls `onChange` after a change. */
  readonly run: (onChange: () => void, signal: AbortSignal) => Promise<void>
}

/** Reads the keys of the operator now, and the reports at the first check. */
export function openSealKeyWatch({ sealKeys, readReports, clock, log }: SealKeyWatchOptions): SealKeyWatch {
  let keys = sealKeys()
  let keysSince = Number.NEGATIVE_INFINITY
  let isReadable = true
  /** Undefined if the reports do not tell. */
  const readableByReports = async (signal: AbortSignal): Promise<boolean | undefined> => {
    const askedAt = clock.monotonic()
    const reports = await readReports(signal)
    // The process of an older report may have read the new key meanwhile, since each step of a rotation waits for it.
    const current = reports.filter(({ ageMs }) => askedAt - ageMs >= keysSince)
    if (current.some((report) => !report.sealKeys.includes(sealKeyId(keys[0])))) return false
    return current.length === reports.length ? true : undefined
  }
  const check = async (signal: AbortSignal) => {
    const now = sealKeys()
    const isRotated = !isDeepStrictEqual(now, keys)
    if (isRotated) {
      keys = now
      keysSince = clock.monotonic()
    }
    const before = isReadable
    isReadable = (await readableByReports(signal).catch(keepAnswer(signal))) ?? before
    if (before && !isReadable) log.error({}, 'webhook secrets cannot be opened by an events process')
    if (!before && isReadable) log.info({}, 'webhook secrets can be opened again')
    return isRotated || isReadable !== before
  }
  return {
    isReadable: () => isReadable,
    check,
    async run(onChange, signal) {
      while (!signal.aborted) {
        await clock.sleep(SEAL_KEYS_CHECK_MS, signal).catch(() => undefined)
        if (!signal.aborted && (await check(signal))) onChange()
      }
    },
  }
}

/** The previous answer stays while Redis is away, and when the operator stops. */
function keepAnswer(signal: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!signal.aborted && !(error instanceof Unavailable)) throw error
  }
}

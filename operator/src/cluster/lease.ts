/**
 * Leader election by a Kubernetes Lease. A lease alone does not prevent two writers: a process may be paused for any time, and then
 * continue in the belief that it holds the lease. So an epoch grows each time the lease changes hands. Everything published carries its
 * epoch, and the store refuses an epoch older than the last one.
 *
 * No clock is compared with another. A candidate regards a lease as expired after it saw no change for `LEASE_MS` on its own clock. A
 * holder stops after `LEASE_HELD_MS_MAX` on its own clock, which is before any candidate can regard the lease as expired.
 */

import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import { randomFraction } from '@platen/lib/back-off.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { Log } from '@platen/lib/log.ts'
import type { ClusterClient } from './client.ts'
import { isConflict, isNotFound } from './error.ts'
import { acquiredSpec, type LeaseSpec, releasedSpec, renewedSpec, specOf } from './lease-record.ts'
import { LEASE_HELD_MS_MAX, LEASE_MS, LEASE_RETRY_MS } from './limit.ts'
import type { KubeObject } from './object.ts'

const SECOND_MS = 1000

/** Longest wait for the release of a lease. If the release fails, the lease expires later. */
export const LEASE_RELEASE_MS_MAX = 3 * SECOND_MS

/** Largest random addition to the wait of candidates, as a share of the wait, so that they do not ask together. */
const LEASE_JITTER_MAX = 0.2

export interface LeaseOptions {
  readonly client: Pick<ClusterClient, 'readLease' | 'createLease' | 'replaceLease'>
  readonly namespace: string
  readonly name: string
  /** Unique to this process for all time. */
  readonly identity: string
  /** Returns one more than the highest epoch of anything published. Called whenever the lease could be acquired. */
  readonly epochMin: (signal: AbortSignal) => Promise<number>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly meter: Pick<OperatorMeter, 'leading'>
}

/** Disposing releases the lease, so that the next candidate can acquire it at once. */
export interface HeldLease extends AsyncDisposable {
  /** Higher than the epoch of every holder before. */
  readonly epoch: number
  /** Compares with the clock, so that a process that was paused learns first that it lost the lease. Once false, it stays false. */
  readonly isHeld: () => boolean
  /** Aborts when the lease is no longer held. */
  readonly lost: AbortSignal
}

/**
 * Waits without limit until the lease is acquired. Tries again when the API server is unreachable or `epochMin` fails. Rejects only with
 * the signal's reason.
 */
export async function acquireLease(options: LeaseOptions, signal: AbortSignal): Promise<HeldLease> {
  const { clock, ids, log, meter, name } = options
  const candidate = new Candidate(options)
  meter.leading(false)
  for (;;) {
    try {
      const acquired = await candidate.tryAcquire(signal)
      if (acquired !== undefined) return holdLease(options, acquired)
    } catch (err) {
      signal.throwIfAborted()
      // A conflict is normal: another process was faster.
      if (!isConflict(err)) log.warn({ err, lease: name }, 'lease request failed')
    }
    await clock.sleep(LEASE_RETRY_MS * (1 + LEASE_JITTER_MAX * randomFraction(ids)), signal)
  }
}

interface AcquiredLease {
  readonly spec: LeaseSpec
  readonly object: KubeObject
  /** Read just before the write, on the monotonic clock. Others can only have seen the write later. */
  readonly writtenAt: number
}

/** A process that does not hold the lease, and watches whether it still changes. */
class Candidate {
  readonly #options: LeaseOptions
  /** The last state of the lease, and when this process first saw it. */
  #observed: { readonly state: string; readonly at: number } | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** Returns undefined when another process holds the lease. */
  async tryAcquire(signal: AbortSignal): Promise<AcquiredLease | undefined> {
    const { client, identity, epochMin, clock } = this.#options
    const limited = AbortSignal.any([signal, clock.timeout(LEASE_HELD_MS_MAX)])
    const found = await client.readLease(this.#options, limited)
    if (found !== undefined && !this.#isFree(found)) return undefined
    const transitions = found === undefined ? 0 : specOf(found).leaseTransitions
    // The epoch grows even when the lease was deleted and counts from 0 again.
    const epoch = Math.max(transitions + 1, await epochMin(limited))
    return await writeLease(
      this.#options,
      { spec: acquiredSpec(identity, epoch, clock.now()), current: found },
      limited,
    )
  }

  #isFree(found: KubeObject): boolean {
    const { clock, identity } = this.#options
    const { holderIdentity } = specOf(found)
    const now = clock.monotonic()
    const state = JSON.stringify(found['spec'])
    if (this.#observed?.state !== state) this.#observed = { state, at: now }
    // The lease has our own identity when the answer to our acquiring write was lost.
    return holderIdentity === '' || holderIdentity === identity || now - this.#observed.at >= LEASE_MS
  }
}

function holdLease(options: LeaseOptions, acquired: AcquiredLease): HeldLease {
  const { log, meter, name } = options
  const epoch = acquired.spec.leaseTransitions
  log.info({ lease: name, epoch }, 'lease acquired')
  meter.leading(true)
  const holder = new LeaseHolder(options, acquired)
  const closing = new AbortController()
  const renewing = holder.renewUntilLost(closing.signal)
  return {
    epoch,
    isHeld: () => holder.isHeld(),
    lost: holder.lost,
    async [Symbol.asyncDispose]() {
      closing.abort()
      await renewing
      await holder.release()
    },
  }
}

class LeaseHolder {
  readonly #options: LeaseOptions
  readonly #lost = new AbortController()
  #acquired: AcquiredLease

  constructor(options: LeaseOptions, acquired: AcquiredLease) {
    this.#options = options
    this.#acquired = acquired
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  isHeld(): boolean {
    if (!this.lost.aborted && this.#leftMs() <= 0) this.#markLost('not renewed in time')
    return !this.lost.aborted
  }

  /** Also ends when the signal aborts. */
  async renewUntilLost(signal: AbortSignal): Promise<void> {
    const { clock, log, name } = this.#options
    while (this.isHeld() && !signal.aborted) {
      // No renewal may outlast the lease that it renews.
      const limited = AbortSignal.any([signal, clock.timeout(this.#leftMs())])
      try {
        await clock.sleep(LEASE_RETRY_MS, limited)
        if (this.isHeld()) await this.#write(renewedSpec(this.#acquired.spec, clock.now()), limited)
      } catch (err) {
        if (!limited.aborted) log.warn({ err, lease: name }, 'lease renewal failed')
      }
    }
  }

  async release(): Promise<void> {
    const { clock, log, name } = this.#options
    if (!this.isHeld()) return
    this.#markLost('released')
    try {
      await this.#write(releasedSpec(this.#acquired.spec, clock.now()), clock.timeout(LEASE_RELEASE_MS_MAX))
    } catch (err) {
      log.warn({ err, lease: name }, 'lease release failed')
    }
  }

  /** Overwrites the lease even after others changed it: we hold it until another process acquires it. */
  async #write(spec: LeaseSpec, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    try {
      this.#acquired = await writeLease(this.#options, { spec, current: this.#acquired.object }, signal)
      return
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error
    }
    const found = await client.readLease(this.#options, signal)
    if (found !== undefined && !this.#isOwn(found)) return this.#markLost('acquired by another process')
    this.#acquired = await writeLease(this.#options, { spec, current: found }, signal)
  }

  /** A lease with another epoch is another lease, even with our identity. */
  #isOwn(found: KubeObject): boolean {
    const { holderIdentity, leaseTransitions } = specOf(found)
    const { spec } = this.#acquired
    return holderIdentity === spec.holderIdentity && leaseTransitions === spec.leaseTransitions
  }

  #leftMs(): number {
    return this.#acquired.writtenAt + LEASE_HELD_MS_MAX - this.#options.clock.monotonic()
  }

  #markLost(why: string): void {
    if (this.lost.aborted) return
    const { meter, log, name } = this.#options
    meter.leading(false)
    log.info({ lease: name, why }, 'lease ended')
    this.#lost.abort(new Error(`the lease has ended: ${why}`))
  }
}

interface LeaseWrite {
  readonly spec: LeaseSpec
  /** The lease to replace. Undefined when there is none. */
  readonly current: KubeObject | undefined
}

/** Throws a conflict when the stored lease is not `current`. */
async function writeLease(
  options: LeaseOptions,
  { spec, current }: LeaseWrite,
  signal: AbortSignal,
): Promise<AcquiredLease> {
  const { client, clock, namespace, name } = options
  const writtenAt = clock.monotonic()
  if (current !== undefined)
    return { spec, writtenAt, object: await client.replaceLease(options, { ...current, spec }, signal) }
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name }, spec }
  return { spec, writtenAt, object: await client.createLease(namespace, lease, signal) }
}

/**
 * One operator at a time, by a Lease of Kubernetes. That alone keeps nobody from writing: a process may stand still for as long as it
 * likes, and go on in the belief that it still holds the lease. So an epoch grows each time the lease changes hands, everything
 * published carries it, and what carries an older one than what was published last is refused there.
 *
 * No clock is compared with another: a lease has run out when nothing of it has changed for long enough by one's own clock, and is held
 * for as long as nobody can think so yet, by one's own clock too.
 */
import { randomFraction } from '@platen/contract/back-off.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import { LEASE_HELD_MS_MAX, LEASE_JITTER_MAX, LEASE_MS, LEASE_RELEASE_MS_MAX, LEASE_RETRY_MS } from '../limit.ts'
import type { ClusterClient } from './client.ts'
import { ClusterError } from './error.ts'
import { acquiredSpec, type LeaseSpec, releasedSpec, renewedSpec, specOf } from './lease-record.ts'
import type { KubeObject } from './object.ts'
import { pathOf } from './path.ts'

export interface LeaseOptions {
  readonly client: Pick<ClusterClient, 'get' | 'create' | 'replace'>
  readonly namespace: string
  readonly name: string
  /** Of this process, and of no other ever. */
  readonly identity: string
  /** One more than the highest epoch that anything was published with; asked whenever the lease could be taken. */
  readonly epochMin: (signal: AbortSignal) => Promise<number>
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly meter: Pick<OperatorMeter, 'leading'>
}

/** Disposing of it gives it back, for the next to take at once. */
export interface HeldLease extends AsyncDisposable {
  /** Higher than that of every holder before. */
  readonly epoch: number
  /** Asks the clock: a process that stood still knows it before anything else of it runs. Once false, it stays so. */
  readonly isHeld: () => boolean
  /** Aborts when it is held no more. */
  readonly lost: AbortSignal
}

/**
 * Waits until the lease can be taken, for as long as it takes: an API server that is away is waited for, and a `epochMin` that fails too.
 * Rejects with the signal's reason only.
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
      // That somebody else was faster is as it should be.
      if (!isConflict(err)) log.warn({ err, lease: name }, 'lease request failed')
    }
    await clock.sleep(LEASE_RETRY_MS * (1 + LEASE_JITTER_MAX * randomFraction(ids)), signal)
  }
}

/** The lease as this process has written it. */
interface AcquiredLease {
  readonly spec: LeaseSpec
  readonly object: KubeObject
  /** Just before it was written, on the monotonic clock: what others saw of it, they saw later. */
  readonly writtenAt: number
}

/** Who does not hold the lease, and watches whether it still changes. */
class Candidate {
  readonly #options: LeaseOptions
  /** How the lease was when it changed last, and when that was seen. */
  #observed: { readonly state: string; readonly at: number } | undefined

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** Undefined when somebody else holds it. */
  async tryAcquire(signal: AbortSignal): Promise<AcquiredLease | undefined> {
    const { client, identity, epochMin, clock } = this.#options
    const limited = AbortSignal.any([signal, clock.timeout(LEASE_HELD_MS_MAX)])
    const found = await client.get(leasePath(this.#options), limited)
    if (found !== undefined && !this.#isFree(found)) return undefined
    const transitions = found === undefined ? 0 : specOf(found).leaseTransitions
    // It grows even where the lease was deleted, and begins at nothing.
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
    // Its own it is when the answer to its taking was lost.
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

  /** Ends when the signal aborts too. */
  async renewUntilLost(signal: AbortSignal): Promise<void> {
    const { clock, log, name } = this.#options
    while (this.isHeld() && !signal.aborted) {
      // No request outlasts what it is to prolong.
      const limited = AbortSignal.any([signal, clock.timeout(this.#leftMs())])
      try {
        await clock.sleep(LEASE_RETRY_MS, limited)
        if (this.isHeld()) await this.#write(renewedSpec(this.#acquired.spec, clock.now()), limited)
      } catch (err) {
        if (!limited.aborted) log.warn({ err, lease: name }, 'lease renewal failed')
      }
    }
  }

  /** Whoever comes next need not wait until it has run out. */
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

  /** Over what it was written last, or what others have made of that: it is held for as long as nobody else has taken it. */
  async #write(spec: LeaseSpec, signal: AbortSignal): Promise<void> {
    const { client } = this.#options
    try {
      this.#acquired = await writeLease(this.#options, { spec, current: this.#acquired.object }, signal)
      return
    } catch (error) {
      if (!isConflict(error) && !isGone(error)) throw error
    }
    const found = await client.get(leasePath(this.#options), signal)
    if (found !== undefined && !this.#isOwn(found)) return this.#markLost('acquired by another process')
    this.#acquired = await writeLease(this.#options, { spec, current: found }, signal)
  }

  /** With another epoch it is another lease, whoever wrote that. */
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
  /** The lease that it is to follow on; undefined = there is none. */
  readonly current: KubeObject | undefined
}

/** Refused as a conflict when there is another than it is to follow on. */
async function writeLease(
  options: LeaseOptions,
  { spec, current }: LeaseWrite,
  signal: AbortSignal,
): Promise<AcquiredLease> {
  const { client, clock, namespace, name } = options
  const writtenAt = clock.monotonic()
  if (current !== undefined)
    return { spec, writtenAt, object: await client.replace(leasePath(options), { ...current, spec }, signal) }
  const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { namespace, name }, spec }
  return { spec, writtenAt, object: await client.create(pathOf({ ...LEASES, namespace }), lease, signal) }
}

const LEASES = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases' }

function leasePath({ namespace, name }: LeaseOptions): string {
  return pathOf({ ...LEASES, namespace, name })
}

function isConflict(error: unknown): boolean {
  return error instanceof ClusterError && error.status === 409
}

function isGone(error: unknown): boolean {
  return error instanceof ClusterError && error.status === 404
}

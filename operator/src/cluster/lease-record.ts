import type { Instant } from '@platen/lib/brand.ts'
import { LEASE_MS } from './limit.ts'
import { isRecord, type KubeObject } from './object.ts'

export interface LeaseSpec {
  /** Empty when nobody holds the lease. */
  readonly holderIdentity: string
  readonly leaseDurationSeconds: number
  readonly acquireTime: string
  readonly renewTime: string
  /** How often the lease has changed hands: the epoch of its holder. */
  readonly leaseTransitions: number
}

/** Replaces a missing or mistyped field with the value of a lease that nobody has ever held. */
export function specOf({ spec }: KubeObject): Pick<LeaseSpec, 'holderIdentity' | 'leaseTransitions'> {
  const { holderIdentity, leaseTransitions } = isRecord(spec) ? spec : {}
  return {
    holderIdentity: typeof holderIdentity === 'string' ? holderIdentity : '',
    leaseTransitions: typeof leaseTransitions === 'number' ? leaseTransitions : 0,
  }
}

export function acquiredSpec(holderIdentity: string, leaseTransitions: number, now: Instant): LeaseSpec {
  const time = microTime(now)
  return {
    holderIdentity,
    leaseDurationSeconds: LEASE_MS / 1000,
    acquireTime: time,
    renewTime: time,
    leaseTransitions,
  }
}

export function renewedSpec(spec: LeaseSpec, now: Instant): LeaseSpec {
  return { ...spec, renewTime: microTime(now) }
}

/** Even here Kubernetes requires a duration above 0. */
export function releasedSpec(spec: LeaseSpec, now: Instant): LeaseSpec {
  return { ...renewedSpec(spec, now), holderIdentity: '', leaseDurationSeconds: 1 }
}

/** RFC 3339 with six fractional digits, as Kubernetes requires for a `MicroTime`. */
function microTime(now: Instant): string {
  return new Date(now).toISOString().replace('Z', '000Z')
}

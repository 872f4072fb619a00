/** What changes are made in, and of. */
import type { Reference, Resources } from '../rig/resources.ts'
import type { Rig } from '../rig/rig.ts'
import type { LaneModel } from './model.ts'

export interface Scene {
  readonly model: LaneModel
  readonly rig: Pick<Rig, 'kube' | 'publishes'>
  readonly resources: Resources
  /** At times nothing at all. */
  readonly nextRate: () => number
  readonly nextTag: () => string
  /** As in RFC 3339. */
  readonly nextTime: () => string
}

export interface Change {
  /** As `plan removed`. */
  readonly what: string
  readonly name: string
  /**
   * Makes it, and waits for what promises that every process enforces it. Where nothing does, it says so, and waits until the operator
   * has heard of it.
   */
  readonly make: (signal: AbortSignal) => Promise<void>
  readonly isUnpromised?: boolean
}

/** Removes a Tenant or ApiKey, whose finalizer promises that nothing of it is in force when it is gone. */
export async function removeUntilGone({ resources }: Scene, reference: Reference, signal: AbortSignal): Promise<void> {
  const { metadata } = resources.get(reference)?.resource ?? {}
  if (metadata === undefined) throw new Error(`there is no ${reference.kind} ${reference.name}`)
  await resources.remove(reference)
  await resources.untilGone(reference, metadata, signal)
}

/** The state of every Secret when it was last reconciled. The audit compares with it to find Secrets that somebody changed. */
import type { Log } from '@platen/contract/port/log.ts'
import type { Resource, Uid } from '@platen/contract/resource.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { Prepared } from '../reconcile/kind-handler.ts'
import { FINALIZER, type ResourceView } from '../reconcile/resource-view.ts'
import { isConditionTrue, type Status } from '../reconcile/status.ts'
import type { Unread } from '../secret/audit.ts'
import type { ObservedSecret } from '../secret/update-secret.ts'

export interface ReconciledSecret {
  readonly observed: ObservedSecret
  readonly isNew: boolean
  readonly repaired: readonly string[]
  readonly ignored?: string
}

export interface SecretTrackerOptions {
  readonly log: Log
  /** Called after a Secret that somebody had changed was repaired. */
  readonly onRepair: () => void
}

export class SecretTracker {
  readonly #options: SecretTrackerOptions
  readonly #observed = new Map<Uid, ObservedSecret | Unread>()

  constructor(options: SecretTrackerOptions) {
    this.#options = options
  }

  /** Returns a warning when the rotation annotation is invalid. */
  onReconciled(
    resource: Resource,
    { observed, isNew, repaired, ignored }: ReconciledSecret,
  ): Pick<Prepared, 'warning'> {
    const { log, onRepair } = this.#options
    const fields = { resource: labelOf(resource), stands: `${observed.place.namespace}/${observed.place.name}` }
    this.#observed.set(resource.metadata.uid, observed)
    if (isNew) log.info(fields, 'secret generated')
    if (repaired.length > 0) {
      log.warn({ ...fields, fields: repaired }, 'secret repaired')
      onRepair()
    }
    return ignored === undefined ? {} : { warning: { reason: 'RotationIgnored', message: ignored } }
  }

  /** Records a Secret that the status mentions and that this process has not read yet. */
  onRestored({ metadata }: Resource): void {
    this.#observed.set(metadata.uid, 'unread')
  }

  forget(uid: Uid): void {
    this.#observed.delete(uid)
  }

  /** The resources that have a Secret. */
  owners(): Iterable<Uid> {
    return this.#observed.keys()
  }

  lastObserved(uid: Uid): ObservedSecret | Unread | undefined {
    return this.#observed.get(uid)
  }
}

/** Tells whether the status covers the current spec and rotation, and nothing is left to do. */
export function isUpToDate({ resource, rotation, finalizers }: ResourceView, status: Status): boolean {
  const isReady = isConditionTrue(status, 'Ready', resource.metadata.generation)
  return isReady && rotation === status.rotation && finalizers.includes(FINALIZER)
}

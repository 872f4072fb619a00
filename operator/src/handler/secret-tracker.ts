/** The state of every Secret when it was last reconciled. The audit compares with it to find Secrets that somebody changed. */

import type { Resource } from '@platen/contract/domain/resource.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Log } from '@platen/lib/log.ts'
import type { Warning } from '../reconcile/event.ts'
import { FINALIZER, keyOfResource, type ResourceView } from '../reconcile/resource-view.ts'
import { isConditionTrue, type Status } from '../reconcile/status.ts'
import type { Unread } from '../secret/audit.ts'
import type { ObservedSecret, ReconciledSecret } from '../secret/update-secret.ts'

interface SecretTrackerOptions {
  readonly log: Log
  readonly onRepair: () => void
}

export class SecretTracker {
  readonly #options: SecretTrackerOptions
  /** By the key of the resource that owns the Secret. Read by the audit. */
  readonly observed = new Map<string, ObservedSecret | Unread>()

  constructor(options: SecretTrackerOptions) {
    this.#options = options
  }

  /** Returns when to reconcile the Secret again, and a warning when the rotation annotation is invalid. */
  onReconciled(
    resource: Resource,
    { observed, isNew, repaired, ignored, retryAt }: ReconciledSecret<unknown, unknown>,
  ): { readonly retryAt?: Instant; readonly warning?: Warning } {
    const { log, onRepair } = this.#options
    const key = keyOfResource(resource)
    const fields = { resource: key, secretName: `${observed.place.namespace}/${observed.place.name}` }
    this.observed.set(key, observed)
    if (isNew) log.info(fields, 'secret generated')
    if (repaired.length > 0) {
      log.warn({ ...fields, fields: repaired }, 'secret repaired')
      onRepair()
    }
    return {
      ...(retryAt !== undefined && { retryAt }),
      ...(ignored !== undefined && { warning: { reason: 'RotationIgnored', message: ignored } }),
    }
  }

  /** Records a Secret that the status mentions and that this process has not read yet. */
  onRestored(resource: Resource): void {
    this.observed.set(keyOfResource(resource), 'unread')
  }

  forget(resource: Resource): void {
    this.observed.delete(keyOfResource(resource))
  }
}

/** True if the status covers the current spec and rotation, and nothing is left to do. */
export function isUpToDate({ resource, rotation, finalizers }: ResourceView, status: Status): boolean {
  const isReady = isConditionTrue(status, 'Ready', resource.metadata.generation)
  return isReady && rotation === status.rotation && finalizers.includes(FINALIZER)
}

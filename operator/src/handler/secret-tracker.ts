/** In which state every Secret was when it was last seen to, for the audit to find those that somebody changed. */
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
  /** Somebody had changed a Secret of ours, and it was put right. */
  readonly onRepair: () => void
}

export class SecretTracker {
  readonly #options: SecretTrackerOptions
  readonly #observed = new Map<Uid, ObservedSecret | Unread>()

  constructor(options: SecretTrackerOptions) {
    this.#options = options
  }

  /** Answers what of the annotations asks for nothing. */
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

  /** Its status tells of it, and nobody has looked at it since. */
  onRestored({ metadata }: Resource): void {
    this.#observed.set(metadata.uid, 'unread')
  }

  forget(uid: Uid): void {
    this.#observed.delete(uid)
  }

  /** Whoever has a Secret. */
  owners(): Iterable<Uid> {
    return this.#observed.keys()
  }

  lastObserved(uid: Uid): ObservedSecret | Unread | undefined {
    return this.#observed.get(uid)
  }
}

/** The annotations of a resource, as far as they matter. */
export function annotationsOf({ rotation }: ResourceView, name: string): Readonly<Record<string, string>> {
  return rotation === undefined ? {} : { [name]: rotation }
}

/** Is what is declared what the status tells of, with nothing left to do? */
export function isUpToDate({ resource, rotation, finalizers }: ResourceView, status: Status): boolean {
  const isReady = isConditionTrue(status, 'Ready', resource.metadata.generation)
  return isReady && rotation === status.rotation && finalizers.includes(FINALIZER)
}

/** In which state every Secret was when it was last seen to, for the audit to find those that somebody changed. */
import type { Log } from '@platen/contract/port/log.ts'
import type { Resource, Uid } from '@platen/contract/resource.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { type Declared, FINALIZER } from '../reconcile/declared.ts'
import type { Prepared } from '../reconcile/station.ts'
import { holdsOf, type Status } from '../reconcile/status.ts'
import type { Unread } from '../secret/audit.ts'
import type { SeenSecret } from '../secret/write-secret.ts'

export interface SettledSecret {
  readonly seen: SeenSecret
  readonly isNew: boolean
  readonly repaired: readonly string[]
  readonly ignored?: string
}

export interface SecretWatchOptions {
  readonly log: Log
  /** Somebody had changed a Secret of ours, and it was put right. */
  readonly onRepair: () => void
}

export class SecretWatch {
  readonly #options: SecretWatchOptions
  readonly #seen = new Map<Uid, SeenSecret | Unread>()

  constructor(options: SecretWatchOptions) {
    this.#options = options
  }

  /** Answers what of the annotations asks for nothing. */
  settled(resource: Resource, { seen, isNew, repaired, ignored }: SettledSecret): Pick<Prepared, 'warning'> {
    const { log, onRepair } = this.#options
    const told = { resource: labelOf(resource), stands: `${seen.place.namespace}/${seen.place.name}` }
    this.#seen.set(resource.metadata.uid, seen)
    if (isNew) log.info(told, 'secret generated')
    if (repaired.length > 0) {
      log.warn({ ...told, fields: repaired }, 'secret put right')
      onRepair()
    }
    return ignored === undefined ? {} : { warning: { reason: 'RotationIgnored', message: ignored } }
  }

  /** Its status tells of it, and nobody has looked at it since. */
  recalled({ metadata }: Resource): void {
    this.#seen.set(metadata.uid, 'unread')
  }

  forget(uid: Uid): void {
    this.#seen.delete(uid)
  }

  /** Whoever has a Secret. */
  owners(): Iterable<Uid> {
    return this.#seen.keys()
  }

  seen(uid: Uid): SeenSecret | Unread | undefined {
    return this.#seen.get(uid)
  }
}

/** The annotations of a resource, as far as they matter. */
export function annotationsOf({ rotation }: Declared, name: string): Readonly<Record<string, string>> {
  return rotation === undefined ? {} : { [name]: rotation }
}

/** Is what is declared what the status tells of, with nothing left to do? */
export function isAsTold({ resource, rotation, finalizers }: Declared, status: Status): boolean {
  const isReady = holdsOf(status, 'Ready', resource.metadata.generation)
  return isReady && rotation === status.rotation && finalizers.includes(FINALIZER)
}

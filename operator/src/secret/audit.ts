/**
 * Nobody watches Secrets, since who may watch them may read them all. So each that counts is read again from time to time, slowly, and
 * whoever changed or removed one is found out within the round.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { SecretLocation } from './cluster-secret.ts'
import { SECRET_AUDIT_READS_PER_SECOND_MAX } from './limit.ts'
import type { ObservedSecret } from './update-secret.ts'

const PAUSE_MS = 1000 / SECRET_AUDIT_READS_PER_SECOND_MAX

/** Of a Secret that nobody has looked at since the process began: who settles it does. */
export type Unread = 'unread'

export interface AuditOptions<Owner> {
  /** Whoever has a Secret; asked for at the start of each round, and read bit by bit until its end. */
  readonly owners: () => Iterable<Owner>
  /** How it was seen when it was settled last; undefined where its owner is gone. */
  readonly lastObserved: (owner: Owner) => ObservedSecret | Unread | undefined
  /** The Secret is another than was seen, or was not seen yet: to be settled again. Told in each round until it is. */
  readonly onChange: (owner: Owner) => void
  /** One could not be read; the next is. */
  readonly onError: (owner: Owner, error: unknown) => void
  /** How it is now. */
  readonly observe: (place: SecretLocation, signal: AbortSignal) => Promise<ObservedSecret>
  readonly clock: Pick<Clock, 'sleep'>
}

/** Goes round until it is aborted, and rejects with the signal's reason then. */
export async function auditSecrets<Owner>(options: AuditOptions<Owner>, signal: AbortSignal): Promise<never> {
  const { owners, clock } = options
  for (;;) {
    // A round of none takes its time as well.
    await clock.sleep(PAUSE_MS, signal)
    for (const owner of owners()) {
      await auditOne(owner, options, signal)
      await clock.sleep(PAUSE_MS, signal)
    }
  }
}

async function auditOne<Owner>(
  owner: Owner,
  { observe, lastObserved, onChange, onError }: AuditOptions<Owner>,
  signal: AbortSignal,
): Promise<void> {
  const before = lastObserved(owner)
  if (before === undefined) return
  if (before === 'unread') return onChange(owner)
  try {
    const { resourceVersion } = await observe(before.place, signal)
    // What was settled while it was read is known better than by this.
    if (lastObserved(owner) === before && resourceVersion !== before.resourceVersion) onChange(owner)
  } catch (error) {
    signal.throwIfAborted()
    onError(owner, error)
  }
}

/**
 * Finds Secrets that somebody changed or removed. The operator does not watch Secrets, since the right to watch them includes the right to
 * read them all. So it reads each relevant Secret again, slowly, and finds every change within one round.
 */
import type { Clock } from '@platen/lib/clock.ts'
import type { SecretLocation } from './cluster-secret.ts'
import { SECRET_AUDIT_READS_PER_SECOND_MAX } from './limit.ts'
import type { ObservedSecret } from './update-secret.ts'

const PAUSE_MS = 1000 / SECRET_AUDIT_READS_PER_SECOND_MAX

/** This process has not read the Secret yet. The next reconcile reads it. */
export type Unread = 'unread'

interface AuditOptions {
  /** The Secrets as the last reconciles saw them, by the keys of their owners. May change at any time. */
  readonly observed: ReadonlyMap<string, ObservedSecret | Unread>
  /** Called when the Secret changed or was not read yet, so that it is reconciled again; in each round until then. */
  readonly onChange: (owner: string) => void
  /** Called when a Secret could not be read. The audit continues with the next one. */
  readonly onError: (owner: string, error: unknown) => void
  readonly observe: (place: SecretLocation, signal: AbortSignal) => Promise<ObservedSecret>
  readonly clock: Pick<Clock, 'sleep'>
}

/** Audits round after round. Rejects with the signal's reason when it aborts. */
export async function auditSecrets(options: AuditOptions, signal: AbortSignal): Promise<never> {
  const { observed, clock } = options
  for (;;) {
    // Also waits in an empty round, which would otherwise loop without a pause.
    await clock.sleep(PAUSE_MS, signal)
    for (const [owner, before] of observed) {
      if (before === 'unread') options.onChange(owner)
      else await auditOne({ owner, before }, options, signal)
      await clock.sleep(PAUSE_MS, signal)
    }
  }
}

async function auditOne(
  { owner, before }: { readonly owner: string; readonly before: ObservedSecret },
  { observe, observed, onChange, onError }: AuditOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { resourceVersion } = await observe(before.place, signal)
    // If a reconcile ran during this read, its result is newer.
    if (observed.get(owner) === before && resourceVersion !== before.resourceVersion) onChange(owner)
  } catch (error) {
    signal.throwIfAborted()
    onError(owner, error)
  }
}

/** What is removed when its time is over. */
export const REMOVED_KINDS = ['render', 'expiry_index_part', 'idempotency_claim'] as const
export type RemovedKind = (typeof REMOVED_KINDS)[number]

/** Metrics of the removal of expired data. Counting never fails and never waits. */
export interface RetentionMeter {
  /** A pass over all that has expired of a kind has ended. It removed so much, and so much could not be removed. */
  ended(kind: RemovedKind, counts: { readonly removed: number; readonly failed: number }): void
}

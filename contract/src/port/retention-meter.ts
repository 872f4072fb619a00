export const REMOVED_KINDS = ['render', 'expiry_index_part', 'idempotency_claim'] as const
export type RemovedKind = (typeof REMOVED_KINDS)[number]

/** Counting never fails and never waits. */
export interface RetentionMeter {
  /** A pass over everything expired of a kind has ended. `failed` could not be removed. */
  ended(kind: RemovedKind, counts: { readonly removed: number; readonly failed: number }): void
}

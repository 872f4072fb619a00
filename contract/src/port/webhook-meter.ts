import type { AttemptResult, DeliveryStatus } from '../domain/delivery.ts'

/**
 * Why a due delivery was postponed. `secret_missing`: its tenant has no webhook secret. `secret_unreadable`: no seal key of this process
 * opens the tenant's secrets. `no_room`: too many others are due before it.
 */
export const DEFERRAL_REASONS = ['secret_missing', 'secret_unreadable', 'no_room'] as const
export type DeferralReason = (typeof DEFERRAL_REASONS)[number]

/** Unreadable records: events of the log, or reminders of deliveries. */
export const WEBHOOK_DEAD_LETTERS = ['event', 'delivery'] as const
type WebhookDeadLetter = (typeof WEBHOOK_DEAD_LETTERS)[number]

/** In memory of a process: `waiting` for a free call, and `calling` their receivers. */
export const HELD_STATES = ['waiting', 'calling'] as const
export type HeldDeliveries = Readonly<Record<(typeof HELD_STATES)[number], number>>

/** Counting never fails and never waits. */
export interface WebhookMeter {
  /** Each scrape calls `read`, which must neither wait nor throw. Replaces the dispatcher before. */
  dispatching(read: () => HeldDeliveries): void
  /** An attempt has started, `lagMs` after it was due. */
  begun(lagMs: number): void
  deferred(reason: DeferralReason): void
  /** `traceId` is set if the attempt's trace is exported. */
  attempted(result: AttemptResult, durationMs: number, traceId?: string): void
  ended(status: Exclude<DeliveryStatus, 'scheduled'>): void
  deadLettered(record: WebhookDeadLetter): void
}

import type { AttemptResult, DeliveryStatus } from '../domain/delivery.ts'

/**
 * Why a due delivery was postponed. `secret_missing`: its tenant has no webhook secret. `secret_unreadable`: no seal key of this process
 * opens the tenant's secrets. `no_room`: too many others are due before it.
 */
export const DEFERRAL_REASONS = ['secret_missing', 'secret_unreadable', 'no_room'] as const
export type DeferralReason = (typeof DEFERRAL_REASONS)[number]

/** What was dead-lettered because it is unreadable: an event of the log, or the reminder of a delivery. */
export const WEBHOOK_DEAD_LETTERS = ['event', 'delivery'] as const
type WebhookDeadLetter = (typeof WEBHOOK_DEAD_LETTERS)[number]

/** The deliveries that a process has in memory: `waiting` for a free call, and `calling` their receivers. */
export const HELD_STATES = ['waiting', 'calling'] as const
export type HeldDeliveries = Readonly<Record<(typeof HELD_STATES)[number], number>>

/** Metrics of webhooks. Counting never fails and never waits. */
export interface WebhookMeter {
  /** A dispatcher has started. Each scrape calls `read`, which must neither wait nor throw. Replaces the one before. */
  dispatching(read: () => HeldDeliveries): void
  /** An attempt has started, so many milliseconds after it was due. */
  begun(lagMs: number): void
  /** A due delivery was postponed. */
  deferred(reason: DeferralReason): void
  /** `traceId` is that of the attempt's trace, if that is exported. */
  attempted(result: AttemptResult, durationMs: number, traceId?: string): void
  /** A delivery has ended. */
  ended(status: Exclude<DeliveryStatus, 'scheduled'>): void
  /** A record was moved to the dead letters. */
  deadLettered(record: WebhookDeadLetter): void
}

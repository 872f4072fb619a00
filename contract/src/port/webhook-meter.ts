import type { AttemptResult, DeliveryStatus } from '../delivery.ts'

/** Why a delivery that was due was put off. `no_secret`: its tenant has none that can be read. `no_room`: too many are due before it. */
export const DEFERRAL_REASONS = ['no_secret', 'no_room'] as const
export type DeferralReason = (typeof DEFERRAL_REASONS)[number]

/** What was put aside, as it could not be read: an event of the log, or what reminds of a delivery. */
export const WEBHOOK_DEAD_LETTERS = ['event', 'delivery'] as const
export type WebhookDeadLetter = (typeof WEBHOOK_DEAD_LETTERS)[number]

/** What operators watch of webhooks. Counting never fails and never waits. */
export interface WebhookMeter {
  /** An attempt has begun so many milliseconds after it was due. */
  begun(lagMs: number): void
  /** A delivery that was due was put off. */
  deferred(reason: DeferralReason): void
  attempted(result: AttemptResult, durationMs: number): void
  /** A delivery has come to its end. */
  ended(status: Exclude<DeliveryStatus, 'scheduled'>): void
  /** A record was put aside. */
  buried(record: WebhookDeadLetter): void
}

import type { AttemptResult, DeliveryStatus } from '../delivery.ts'

/** What operators watch of webhooks. Counting never fails and never waits. */
export interface WebhookMeter {
  /** An attempt has begun so many milliseconds after it was due. */
  begun(lagMs: number): void
  attempted(result: AttemptResult, durationMs: number): void
  /** A delivery has come to its end. */
  ended(status: Exclude<DeliveryStatus, 'scheduled'>): void
}

/** The meters of the embedded service, and those of a service without a metrics port. */
import type { ProbeOptions } from '@platen/adapters/http/probe-server.ts'
import type { ApiMeter } from '@platen/contract/port/api-meter.ts'
import type { RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import type { RetentionMeter } from '@platen/contract/port/retention-meter.ts'
import type { WebhookMeter } from '@platen/contract/port/webhook-meter.ts'

export interface Meters extends Pick<ProbeOptions, 'metrics'> {
  readonly api: ApiMeter
  readonly renderer: RendererMeter
  readonly webhooks: WebhookMeter
  readonly retention: RetentionMeter
  /** Counts the spans that the tracer loses. Called once. */
  readonly tracing: (tracer: { readonly lostSpans: () => number }) => void
}

const nothing = () => undefined
const untilDisposed = () => ({ [Symbol.dispose]: nothing })

/** Counts nothing. Real meters would be 76 modules and some work for each request, for nobody. */
export const NO_METERS: Meters = {
  metrics: { exposition: async () => ({ contentType: 'text/plain', text: '' }) },
  api: {
    routed: nothing,
    answered: nothing,
    refused: nothing,
    accepted: nothing,
    waiting: untilDisposed,
    awaitingEnd: untilDisposed,
    held: nothing,
    limiterFailed: nothing,
  },
  renderer: {
    restarted: nothing,
    launching: (launch) => launch(),
    serving: nothing,
    busy: untilDisposed,
    begun: nothing,
    ended: nothing,
    deadLettered: nothing,
  },
  webhooks: {
    dispatching: nothing,
    begun: nothing,
    deferred: nothing,
    attempted: nothing,
    ended: nothing,
    deadLettered: nothing,
  },
  retention: { ended: nothing },
  tracing: nothing,
}

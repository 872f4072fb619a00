/**
 * Writes the logs, spans and metrics of deliveries. The dispatcher reports what it does; the observer decides nothing, waits for nothing
 * and never fails.
 */
import type { Attempt, Delivery } from '@platen/contract/domain/delivery.ts'
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import type { DueDelivery, NextStatus } from '@platen/contract/port/delivery-log.ts'
import type { WebhookMeter } from '@platen/contract/port/webhook-meter.ts'
import type { WebhookResponse } from '@platen/contract/port/webhook-sender.ts'
import type { Log } from '@platen/lib/log.ts'
import type { TraceContext } from '@platen/lib/trace.ts'
import type { Tracer } from '@platen/lib/tracer.ts'

interface ObserverPorts {
  readonly log: Log
  readonly meter: Omit<WebhookMeter, 'deadLettered'>
  readonly tracer: Tracer
}

interface RecordedAttempt {
  readonly attempt: Attempt
  readonly next: NextStatus | undefined
  readonly trace: TraceContext | undefined
}

export type DeliveryObserver = ReturnType<typeof deliveryObserver>

export function deliveryObserver({ log, meter, tracer }: ObserverPorts) {
  return {
    dispatching: (held: Parameters<WebhookMeter['dispatching']>[0]) => meter.dispatching(held),
    deferred: (reason: Parameters<WebhookMeter['deferred']>[0]) => meter.deferred(reason),
    /**
     * A call begins, `lateMs` after it was due. It ends when this is disposed. Its span follows OpenTelemetry's conventions for HTTP
     * clients, but without the path, where many receivers expect a secret. The first attempt belongs to the trace of the render. Later ones
     * come after seconds to days, when a collector has closed that trace, so each has its own trace with a link. They are exported only if
     * the caller's trace is.
     */
    calling(due: DueDelivery, { url, lateMs }: { readonly url: URL | null; readonly lateMs: number }) {
      const { delivery, attempts, isRedelivery } = due
      const { id, type, trace, requestId } = delivery
      meter.begun(lateMs)
      const isLater = isRedelivery || attempts > 0
      const isLinked = isLater && tracer.exportedTraceId(trace) !== undefined
      const span = tracer.start('POST', {
        ...(isLinked ? { link: trace } : { parent: trace }),
        kind: 'client',
        attributes: {
          'http.request.method': 'POST',
          'http.request.resend_count': attempts,
          'url.scheme': url?.protocol.slice(0, -1),
          'server.address': url?.hostname,
          'server.port': url === null ? undefined : Number(url.port || (url.protocol === 'http:' ? 80 : 443)),
          'platen.delivery': id,
          'platen.event': type,
          'platen.render': delivery.render,
          'platen.tenant': delivery.tenant,
          'platen.request_id': requestId,
        },
      })
      return {
        /** Sent to the receiver. */
        trace: span.context,
        answered({ result, statusCode }: WebhookResponse) {
          const error = result === 'ok' ? undefined : result === 'status' ? `${statusCode}` : result
          span.end({ error, attributes: { 'http.response.status_code': statusCode } })
        },
        [Symbol.dispose]: () => span.end(),
      }
    },
    recorded({ delivery, attempts }: DueDelivery, { attempt, next, trace }: RecordedAttempt) {
      const { result, statusCode, durationMs, message } = attempt
      const status = next?.status
      meter.attempted(result, durationMs, tracer.exportedTraceId(trace))
      if (status !== undefined && status !== 'scheduled') meter.ended(status)
      const fields = { ...fieldsOf(delivery), attempts: attempts + 1, result, statusCode, durationMs, message }
      if (result === 'ok') log.debug(fields, 'webhook delivered')
      else if (status === 'scheduled' || status === undefined) log.info(fields, 'webhook attempt failed')
      else log.warn({ ...fields, status }, 'webhook delivery ended without success')
    },
    notRecorded: (delivery: Delivery, err: unknown) =>
      log.error({ ...fieldsOf(delivery), err }, 'delivery result not recorded'),
  }
}

function fieldsOf(delivery: Delivery): object {
  return { delivery: delivery.id, ...logFieldsOf({ ...delivery, id: delivery.render }) }
}

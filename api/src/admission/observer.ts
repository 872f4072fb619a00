/**
 * Writes the logs, spans and metrics of admission. The steps report what they do; the observer decides nothing, waits for nothing and never
 * fails.
 */
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { type Manifest, type RenderRecord, withTrace } from '@platen/contract/domain/render.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { messagingAttributes, queueNameOf, renderAttributes } from '@platen/contract/domain/span-attributes.ts'
import type { TraceContext } from '@platen/lib/trace.ts'
import { inSpan } from '@platen/lib/tracer.ts'
import type { ApiPorts } from '../ports.ts'
import { logTolerated } from '../problem.ts'

export type Admitting = ReturnType<ReturnType<typeof admissionObserver>['admitting']>

export function admissionObserver({ log, meter, tracer }: Pick<ApiPorts, 'log' | 'meter' | 'tracer'>) {
  return {
    admitting(parent: TraceContext | undefined) {
      const span = tracer.start('admission', { parent })
      return {
        admitted: (record: RenderRecord) => span.end({ attributes: renderAttributes(record) }),
        replayed: (render?: RenderId) => span.end({ attributes: { 'platen.render': render } }),
        [Symbol.dispose]: () => span.end(),
      }
    },
    /** Sends the record with the trace that a renderer continues. */
    sending(record: RenderRecord, send: (traced: RenderRecord) => Promise<void>) {
      const queueName = queueNameOf(record)
      const attributes = { ...messagingAttributes(queueName, 'send', record.id), ...renderAttributes(record) }
      const options = { kind: 'producer', parent: record.trace, attributes } as const
      return inSpan(tracer, [`send ${queueName}`, options], (trace) => send(withTrace(record, trace)))
    },
    queued(record: RenderRecord) {
      meter.accepted(record)
      log.debug(logFieldsOf(record), 'render queued')
    },
    notShown: (record: RenderRecord, err: unknown) =>
      logTolerated(log, { ...logFieldsOf(record), err }, 'render not marked as queued'),
    notConfirmed: (record: RenderRecord, err: unknown) =>
      logTolerated(log, { ...logFieldsOf(record), err }, 'reservation not confirmed'),
    notReleased: (record: RenderRecord, err: unknown) =>
      logTolerated(log, { ...logFieldsOf(record), err }, 'reservation not released'),
    notAbandoned: (record: RenderRecord, err: unknown) =>
      log.error({ ...logFieldsOf(record), err }, 'render not abandoned'),
    abandonedNotCompleted: (record: RenderRecord, err: unknown) =>
      logTolerated(log, { ...logFieldsOf(record), err }, 'abandoned render not completed'),
    expiryNotRecorded: (record: Manifest['render'], err: unknown) =>
      log.warn({ ...logFieldsOf(record), err }, 'expiry not recorded'),
  }
}

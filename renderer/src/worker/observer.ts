/**
 * Writes the logs, spans and metrics of a worker's renders. The stages of a render report what they do and how it ended; the observer
 * decides nothing, waits for nothing and never fails.
 */
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import { type Manifest, type RenderRecord, withTrace } from '@platen/contract/domain/render.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { messagingAttributes, queueNameOf, renderAttributes } from '@platen/contract/domain/span-attributes.ts'
import { warningCodesOf, warningCountOf } from '@platen/contract/domain/warning.ts'
import type { RendererMeter } from '@platen/contract/port/renderer-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import { inSpan, type Tracer } from '@platen/lib/tracer.ts'
import type { Phase } from '../port/phase.ts'
import type { Verdict } from './classify-error.ts'

interface ObserverPorts {
  readonly clock: Clock
  readonly log: Log
  readonly meter: RendererMeter
  readonly tracer: Tracer
}

const EVENTS = 'render.events'

export type RenderObserver = ReturnType<typeof renderObserver>

export function renderObserver({ clock, log, meter, tracer }: ObserverPorts) {
  const traceIdOf = ({ trace }: RenderRecord) => tracer.exportedTraceId(trace)
  return {
    busy: (engine: Engine) => meter.busy(engine),
    attempt(accepted: RenderRecord, attempt: number) {
      const { trace: parent, acceptedAt, id } = accepted
      const queueName = queueNameOf(accepted)
      const own = { ...renderAttributes(accepted), 'platen.attempt': attempt }
      const attributes = { ...messagingAttributes(queueName, 'process', id), ...own }
      const span = tracer.start(`process ${queueName}`, { kind: 'consumer', parent, attributes })
      if (attempt === 1) {
        // By the times in the record: the clock of the API process need not agree with ours.
        const waiting = { parent: parent ?? span.context, startedAt: acceptedAt, attributes: own }
        tracer.start('queue', waiting).end({ endedAt: Math.max(acceptedAt, clock.now()) })
      }
      return {
        /** The record whose trace has the attempt as parent of the later spans. */
        record: withTrace(accepted, span.context),
        ended: ({ outcome }: Manifest) =>
          span.end({ error: outcome.status === 'failed' ? outcome.error.code : undefined }),
        [Symbol.dispose]: () => span.end(),
      }
    },
    rendering(record: RenderRecord, attempt: number) {
      const fields = { ...logFieldsOf(record), attempt }
      const span = tracer.start('render', { parent: record.trace, attributes: { 'platen.engine': record.engine } })
      meter.begun(record, { attempt, waitedMs: clock.now() - record.acceptedAt, traceId: traceIdOf(record) })
      log.debug(fields, 'render started')
      return {
        /** The engine measured its phases where they ran: one after the other, and the last one ended just now. */
        made(phases: readonly Phase[]) {
          let startedAt = clock.now() - phases.reduce((sum, { durationMs }) => sum + durationMs, 0)
          for (const { name, durationMs } of phases) {
            const endedAt = startedAt + durationMs
            tracer.start(name, { parent: span.context, startedAt }).end({ endedAt })
            startedAt = endedAt
          }
        },
        /** A failure of the template concerns the tenant and is in the outcome. Only our own failures get a log line. */
        stopped(verdict: Verdict, err?: unknown) {
          span.end({ error: verdict.kind === 'failed' ? verdict.error.code : verdict.kind })
          if (verdict.kind === 'retry') log.warn({ ...fields, err }, 'render attempt crashed, retrying')
          else if (verdict.kind === 'lost') log.warn({ ...fields, err }, 'another renderer took over this render')
          else if (verdict.error.code === 'internal') failedByDefect({ ...fields, err })
        },
        [Symbol.dispose]: () => span.end(),
      }
    },
    replying: (record: RenderRecord, reply: () => Promise<void>) =>
      inSpan(tracer, ['reply', { parent: record.trace }], reply),
    storing: <Value>(record: RenderRecord, store: () => Promise<Value>) =>
      inSpan(tracer, ['store', { parent: record.trace }], store),
    sending(event: RenderEvent, send: () => Promise<void>) {
      const attributes = messagingAttributes(EVENTS, 'send', event.id)
      const { trace: parent } = event.manifest.render
      return inSpan(tracer, [`send ${EVENTS}`, { kind: 'producer', parent, attributes }], send)
    },
    /** The outcome of a render is known: this attempt wrote it, or found the one of an earlier attempt. */
    decided: (record: RenderRecord, { outcome }: Manifest) => meter.ended(record, outcome, traceIdOf(record)),
    deadLettered: (reason: Parameters<RendererMeter['deadLettered']>[0]) => meter.deadLettered(reason),
    done(record: RenderRecord, manifest: Manifest) {
      const { outcome } = manifest
      const { finishedAt, durationMs } = outcome
      const attempt = 'attempt' in manifest ? manifest.attempt : 0
      // Until the last attempt began, including the time to fetch the data.
      const queueWaitMs = Math.max(0, finishedAt - durationMs - record.acceptedAt)
      // Counts and codes only: the messages quote the template and the data.
      const warnings = warningCountOf(outcome)
      const warned = warnings > 0 && { warnings, warningCodes: warningCodesOf(outcome) }
      const fields = { ...logFieldsOf(record), attempt, queueWaitMs, durationMs, ...warned }
      if (outcome.status === 'failed') log.info({ ...fields, code: outcome.error.code }, 'render failed')
      else log.info({ ...fields, bytes: outcome.pdf.bytes, pages: outcome.pages }, 'render succeeded')
    },
    failedByDefect: (record: RenderRecord, err: unknown) => failedByDefect({ ...logFieldsOf(record), err }),
    unreadable: (record: RenderRecord, err: unknown) =>
      log.error({ ...logFieldsOf(record), err }, 'render outcome unreadable, dead-lettered'),
    replyLost: (record: RenderRecord, err: unknown) => log.warn({ ...logFieldsOf(record), err }, 'reply not delivered'),
    pdfNotStored: (record: RenderRecord) => log.warn(logFieldsOf(record), 'pdf not stored in time'),
    inputNotDeleted: (record: RenderRecord, err: unknown) =>
      log.warn({ ...logFieldsOf(record), err }, 'temporary input not deleted, left to retention'),
    claimNotReleased: (record: RenderRecord, err: unknown) =>
      log.debug({ ...logFieldsOf(record), err }, 'claim release failed'),
    handedOver: (record: RenderRecord) => log.info(logFieldsOf(record), 'render handed over'),
    notCompleted: (record: RenderRecord, err: unknown) =>
      log.error({ ...logFieldsOf(record), err }, 'render not completed'),
  }

  function failedByDefect(fields: object): void {
    log.error(fields, 'render failed by a defect')
  }
}

/** Attributes of spans about a render. Names outside of `platen.` are OpenTelemetry's semantic conventions. */
import type { SpanAttributes } from '@platen/lib/tracer.ts'
import type { RenderRecord } from './render.ts'

export function renderAttributes({
  id,
  tenant,
  engine,
  template,
  requestId,
}: Pick<RenderRecord, 'id' | 'tenant' | 'engine' | 'template' | 'requestId'>): SpanAttributes {
  return {
    'platen.render': id,
    'platen.tenant': tenant,
    'platen.engine': engine,
    'platen.template': template.code,
    'platen.request_id': requestId,
  }
}

/** The name of the queue's topic, without a prefix. */
export function queueNameOf({ engine, lane }: Pick<RenderRecord, 'engine' | 'lane'>): string {
  return `render.${engine}.${lane}`
}

/** For a span that writes to a queue or reads from it. */
export function messagingAttributes(queue: string, operation: 'send' | 'process', messageId: string): SpanAttributes {
  return {
    'messaging.destination.name': queue,
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.message.id': messageId,
  }
}

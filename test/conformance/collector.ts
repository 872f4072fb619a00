/** A collector of OpenTelemetry for tests: takes spans by OTLP over HTTP, in JSON, and keeps them. */
import { createServer, type RequestListener } from 'node:http'
import { openWaiting } from '../topology/receiver.ts'
import { type Listener, listening } from '../topology/server/port.ts'

export interface CollectedSpan {
  readonly service: string
  readonly name: string
  /** The number of the kind in OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  /** Empty = none. */
  readonly parentSpanId: string
  /** Epoch milliseconds. */
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly isError: boolean
}

export interface Collector extends Listener {
  readonly spans: CollectedSpan[]
  /** The bodies of all requests as they came. */
  readonly bodies: { readonly type: string | undefined; readonly bytes: Buffer }[]
  /** Resolves when this is true of the spans that have come. */
  until(isThere: (spans: readonly CollectedSpan[]) => boolean): Promise<void>
  /** Sets the answer to every complete request from now on. Default: 200. */
  answer(listener: RequestListener): void
}

/** What makes a process export to the collector, soon after each span. */
export function exportingTo({ url }: Listener): Record<string, string> {
  return {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '50',
  }
}

export async function aCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = []
  const bodies: Collector['bodies'] = []
  const waiting = openWaiting()
  let listener: RequestListener = (_request, response) => response.writeHead(200).end()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = { type: request.headers['content-type'], bytes: Buffer.concat(chunks) }
      bodies.push(body)
      if (request.url === '/v1/traces' && body.type === 'application/json') spans.push(...spansIn(body.bytes))
      listener(request, response)
      waiting.look()
    })
  })
  return {
    ...(await listening(server)),
    spans,
    bodies,
    until: (isThere) => waiting.until(() => isThere(spans)),
    answer(next) {
      listener = next
    },
  }
}

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface OtlpSpan extends Omit<CollectedSpan, 'service' | 'attributes' | 'links'> {
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes?: readonly KeyValue[]
  readonly links?: CollectedSpan['links']
  readonly status?: { readonly code?: number }
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] }
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[]
  }[]
}

const ERROR = 2

function spansIn(bytes: Buffer): CollectedSpan[] {
  const { resourceSpans }: OtlpRequest = JSON.parse(bytes.toString())
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)['service.name'])
    return scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        service,
        name: span.name,
        kind: span.kind,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        startMs: Number(span.startTimeUnixNano) / 1e6,
        endMs: Number(span.endTimeUnixNano) / 1e6,
        attributes: attributesOf(span.attributes ?? []),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
        isError: span.status?.code === ERROR,
      })),
    )
  })
}

function attributesOf(pairs: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, Object.values(value)[0]]))
}

/** Exports spans by OTLP, with the SDK of OpenTelemetry, which reads its own variables. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import {
  type Attributes,
  type Context,
  createTraceState,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Tracer as SdkTracer,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter as JsonExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { OTLPTraceExporter as ProtobufExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base'
import type { Instant } from '@platen/lib/brand.ts'
import { spanIdOf, type TraceContext, traceContextOf } from '@platen/lib/trace.ts'
import type { Span, SpanAttributes, SpanOptions, Tracer } from '@platen/lib/tracer.ts'
import { LAST_SPANS_MS_MAX } from './limit.ts'
import type { ProcessTracer, TracerOptions } from './process-tracer.ts'
import { openSpanQueue } from './span-queue.ts'

/** Throws if the SDK warns while it reads its variables: it would go on with a default. */
export function openExportingTracer(options: TracerOptions): ProcessTracer {
  const { protocol, deployable, clock, log } = options
  const [provider, queue] = withoutWarnings(() => {
    const exporter = protocol === 'http/json' ? new JsonExporter() : new ProtobufExporter()
    const spanQueue = openSpanQueue(exporter, log)
    const resource = resourceOf(deployable)
    return [new BasicTracerProvider({ resource, spanProcessors: [spanQueue.processor] }), spanQueue] as const
  })
  return {
    ...tracerOver(provider.getTracer('platen', VERSION), options),
    lostSpans: queue.lostSpans,
    async [Symbol.asyncDispose]() {
      const flushed = new AbortController()
      const limit = clock.sleep(LAST_SPANS_MS_MAX, flushed.signal).catch(() => undefined)
      await Promise.race([provider.shutdown().catch(() => undefined), limit])
      flushed.abort()
    },
  }
}

function withoutWarnings<Opened>(open: () => Opened): Opened {
  const warnings: string[] = []
  const ignore = () => undefined
  const warn = (message: string) => void warnings.push(message)
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
  try {
    const opened = open()
    if (warnings.length > 0) throw new Error(`the variables of OpenTelemetry are wrong: ${warnings.join('; ')}`)
    return opened
  } finally {
    diag.disable()
  }
}

const VERSION = versionOf()

/** All packages have the same version. */
function versionOf(): string {
  const manifest: { readonly version: string } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return manifest.version
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` take precedence. */
function resourceOf(deployable: string) {
  const own = {
    'service.namespace': 'platen',
    'service.name': `platen-${deployable}`,
    'service.version': VERSION,
    'host.name': hostname(),
    'process.pid': process.pid,
  }
  const given = detectResources({ detectors: [envDetector] })
  return defaultResource().merge(resourceFromAttributes(own)).merge(given)
}

const KINDS = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

function tracerOver(tracer: SdkTracer, { messagingSystem }: Pick<TracerOptions, 'messagingSystem'>): Tracer {
  return {
    start(name, { parent, link, kind = 'internal', attributes = {}, startedAt }: SpanOptions) {
      const isMessaging = kind === 'producer' || kind === 'consumer'
      const options = {
        kind: KINDS[kind],
        attributes: { ...attributesOf(attributes), ...(isMessaging && { 'messaging.system': messagingSystem }) },
        links: link === undefined ? [] : [{ context: spanContextOf(link) }],
        ...(startedAt !== undefined && { startTime: timeOf(startedAt) }),
      }
      return spanOver(tracer.startSpan(name, options, contextOf(parent)))
    },
    exportedTraceId(context) {
      const span = context && spanIdOf(context)
      return span?.isSampled === true ? span.traceId : undefined
    },
  }
}

function spanOver(span: ReturnType<SdkTracer['startSpan']>): Span {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext()
  const isSampled = (traceFlags & TraceFlags.SAMPLED) !== 0
  let hasEnded = false
  const end: Span['end'] = ({ attributes, error, endedAt } = {}) => {
    if (hasEnded) return
    hasEnded = true
    if (attributes !== undefined) span.setAttributes(attributesOf(attributes))
    if (error !== undefined) span.setAttribute('error.type', error).setStatus({ code: SpanStatusCode.ERROR })
    span.end(endedAt === undefined ? undefined : timeOf(endedAt))
  }
  return {
    context: traceContextOf({ traceId, spanId, isSampled }, traceState?.serialize()),
    end,
    [Symbol.dispose]: () => end(),
  }
}

function attributesOf(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

function contextOf(parent: TraceContext | undefined): Context {
  return parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent))
}

function spanContextOf(context: TraceContext): SpanContext {
  const { traceId, spanId, isSampled } = spanIdOf(context)
  return {
    traceId,
    spanId,
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
    ...(context.tracestate !== undefined && { traceState: createTraceState(context.tracestate) }),
  }
}

/** Seconds and nanoseconds: the SDK takes a number from before the start of the process for a value of another clock. */
function timeOf(instant: Instant): [number, number] {
  const seconds = Math.floor(instant / 1000)
  return [seconds, Math.round((instant - seconds * 1000) * 1e6)]
}

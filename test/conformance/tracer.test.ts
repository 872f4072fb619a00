/** The tracer of a process, with a collector that answers, hangs, refuses, or is not there. */

import { SPANS_WAITING_MAX } from '@platen/adapters/otel/limit.ts'
import { type OpenTracerOptions, openTracer } from '@platen/adapters/otel/open-tracer.ts'
import type { ProcessTracer } from '@platen/adapters/otel/process-tracer.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { spanIdOf } from '@platen/lib/trace.ts'
import { inSpan, type SpanKind } from '@platen/lib/tracer.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { anApi, TRAFFIC } from '../fixture/api.ts'
import { aRecord, type LogLine, logTo, NOON } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { manualClock } from '../fixture/memory/clock.ts'
import { aWorker } from '../fixture/render/work.ts'
import { poll } from '../time/poll.ts'
import { aCollector, type Collector, exportingTo } from './collector.ts'

const PARENT = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, tracestate: 'rojo=1' }
const UNSAMPLED = { traceparent: `00-${'c'.repeat(32)}-${'d'.repeat(16)}-00` }

let collector: Collector
let lines: LogLine[]
beforeEach(async () => {
  collector = ofTest(await aCollector())
  lines = []
})
afterEach(() => vi.unstubAllEnvs())

function aTracer(env: Record<string, string> = {}, options: Partial<OpenTracerOptions> = {}): Promise<ProcessTracer> {
  for (const [name, value] of Object.entries({ ...exportingTo(collector), ...env })) vi.stubEnv(name, value)
  return openTracer({
    traces: { protocol: 'http/json' },
    deployable: 'api',
    messagingSystem: 'kafka',
    clock: systemClock(),
    log: logTo((line) => lines.push(line)),
    ...options,
  })
}

describe('a span', () => {
  test('is exported with its parent, kind, time, attributes, error and the resource of its process', async () => {
    const tracer = await aTracer({ OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test' })
    const span = tracer.start('POST /x', {
      kind: 'server',
      parent: PARENT,
      startedAt: NOON,
      attributes: { 'http.route': '/x', 'platen.attempt': 1, absent: undefined },
    })
    span.end({ endedAt: NOON + 1.5, error: '503', attributes: { 'http.response.status_code': 503 } })
    span.end({ error: 'too late' })
    await tracer[Symbol.asyncDispose]()
    expect(collector.spans).toEqual([
      {
        service: 'platen-api',
        name: 'POST /x',
        kind: 2,
        traceId: 'a'.repeat(32),
        spanId: span.context && spanIdOf(span.context).spanId,
        parentSpanId: 'b'.repeat(16),
        startMs: NOON,
        endMs: NOON + 1.5,
        attributes: {
          'http.route': '/x',
          'platen.attempt': 1,
          'http.response.status_code': 503,
          'error.type': '503',
        },
        links: [],
        isError: true,
      },
    ])
    expect(span.context).toEqual({
      traceparent: expect.stringMatching(/^00-a{32}-[0-9a-f]{16}-01$/),
      tracestate: 'rojo=1',
    })
    expect(collector.bodies[0]?.bytes.toString()).toContain('deployment.environment.name')
  })

  test.for<[SpanKind, number, string | undefined]>([
    ['internal', 1, undefined],
    ['client', 3, undefined],
    ['producer', 4, 'kafka'],
    ['consumer', 5, 'kafka'],
  ])('of the kind %s is one for OpenTelemetry', async ([kind, number, system]) => {
    const tracer = await aTracer()
    tracer.start('x', { kind }).end()
    await tracer[Symbol.asyncDispose]()
    expect(collector.spans.map((span) => [span.kind, span.attributes['messaging.system']])).toEqual([[number, system]])
  })

  test('with a link begins another trace', async () => {
    const tracer = await aTracer()
    tracer.start('later', { link: PARENT }).end()
    await tracer[Symbol.asyncDispose]()
    const [span] = collector.spans
    expect(span?.links).toEqual([{ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }])
    expect([span?.traceId === 'a'.repeat(32), span?.parentSpanId]).toEqual([false, ''])
  })

  test('of a trace that its caller does not keep is passed on and not exported', async () => {
    const tracer = await aTracer()
    const span = tracer.start('x', { parent: UNSAMPLED })
    span.end()
    expect(span.context?.traceparent).toMatch(/^00-c{32}-[0-9a-f]{16}-00$/)
    expect([UNSAMPLED, PARENT, undefined].map((context) => tracer.exportedTraceId(context))).toEqual([
      undefined,
      'a'.repeat(32),
      undefined,
    ])
    await tracer[Symbol.asyncDispose]()
    expect(collector.bodies).toEqual([])
  })

  test('around work that throws has the name of the error, and lets it through', async () => {
    const tracer = await aTracer()
    const work = inSpan(tracer, ['x', { parent: PARENT }], () => Promise.reject(new TypeError('of a tenant')))
    await expect(work).rejects.toThrow('of a tenant')
    await tracer[Symbol.asyncDispose]()
    expect(collector.spans).toMatchObject([{ attributes: { 'error.type': 'TypeError' }, isError: true }])
    expect(collector.bodies[0]?.bytes.toString()).not.toContain('of a tenant')
  })
})

test('the default protocol is protobuf', async () => {
  const tracer = await aTracer({}, { traces: { protocol: 'http/protobuf' } })
  tracer.start('a name', { parent: PARENT }).end()
  await tracer[Symbol.asyncDispose]()
  const [body] = collector.bodies
  expect(body?.type).toBe('application/x-protobuf')
  for (const part of [Buffer.from('a name'), Buffer.alloc(16, 0xaa)]) expect(body?.bytes.includes(part)).toBe(true)
})

test.for<[string, Record<string, string>, number]>([
  ['always_off', { OTEL_TRACES_SAMPLER: 'always_off' }, 0],
  ['a ratio of 0', { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' }, 0],
  ['a ratio of 1', { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '1' }, 1],
])('the sampler decides: %s', async ([, env, count]) => {
  const tracer = await aTracer(env)
  tracer.start('x', {}).end()
  await tracer[Symbol.asyncDispose]()
  expect(collector.spans).toHaveLength(count)
})

describe('a collector that', () => {
  const some = 100
  const spans = (tracer: ProcessTracer, count: number) => {
    for (let n = 0; n < count; n++) tracer.start('x', {}).end()
  }

  test('hangs costs a bounded queue, one line, and no wait when the process ends', async () => {
    const arrived = Promise.withResolvers<void>()
    collector.answer(() => arrived.resolve())
    const clock = manualClock(NOON)
    const tracer = await aTracer({ OTEL_EXPORTER_OTLP_TIMEOUT: '60000' }, { clock })
    spans(tracer, some)
    await arrived.promise
    spans(tracer, 2 * SPANS_WAITING_MAX)
    expect(tracer.lostSpans()).toBe(SPANS_WAITING_MAX)
    expect(lines).toEqual([
      { level: 'warn', fields: { reason: 'too many spans wait for the collector' }, message: 'trace spans lost' },
    ])
    const closed = tracer[Symbol.asyncDispose]()
    await clock.advance(60_000)
    await closed
  })

  test('refuses costs its spans and a line; one more says when it takes spans again', async () => {
    collector.answer((_request, response) => response.writeHead(400, 'no such tenant').end('x'.repeat(10_000)))
    const tracer = await aTracer()
    for (let n = 1; n <= 2; n++) {
      spans(tracer, some)
      await poll(async () => tracer.lostSpans()).until((lost) => lost === n * some)
    }
    collector.answer((_request, response) => response.writeHead(200).end())
    spans(tracer, 1)
    await tracer[Symbol.asyncDispose]()
    expect(lines).toEqual([
      { level: 'warn', fields: { reason: expect.stringMatching(/^.{1,200}$/) }, message: 'trace spans lost' },
      { level: 'info', fields: { spans: 2 * some }, message: 'trace spans exported again' },
    ])
  })

  test('is not there costs its spans and a line', async () => {
    await collector[Symbol.asyncDispose]()
    const tracer = await aTracer({ OTEL_EXPORTER_OTLP_TIMEOUT: '1' })
    spans(tracer, some)
    await tracer[Symbol.asyncDispose]()
    expect([tracer.lostSpans(), lines.map(({ message }) => message)]).toEqual([some, ['trace spans lost']])
  })
})

test.for<[string, string]>([
  ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ['OTEL_EXPORTER_OTLP_CERTIFICATE', '/no/such/file'],
])('%s=%s is a fault at the start, and nothing is replaced by a default', async ([name, value]) => {
  await expect(aTracer({ [name]: value })).rejects.toThrow(/^the variables of OpenTelemetry are wrong: /)
})

test.for<[string, number, number]>([
  ['behind', -3000, 3000],
  ['ahead', 5000, 0],
])('a queue span by an API whose clock is %s has a length that is not negative', async ([, offMs, lengthMs]) => {
  const tracer = await aTracer()
  const record = aRecord({ acceptedAt: NOON + offMs, trace: PARENT })
  const worker = await aWorker(async () => Buffer.from('%PDF-'), [record], { tracer })
  await worker.runUntil(() => true)
  await tracer[Symbol.asyncDispose]()
  const [queue] = collector.spans.filter(({ name }) => name === 'queue')
  expect([queue?.startMs, queue?.endMs]).toEqual([NOON + offMs, NOON + offMs + lengthMs])
  expect(queue?.parentSpanId).toBe('b'.repeat(16))
})

test('a render without a trace has one from its first attempt on', async () => {
  const tracer = await aTracer()
  const worker = await aWorker(async () => Buffer.from('%PDF-'), [aRecord()], { tracer })
  const [event] = await worker.runUntil(() => true)
  await tracer[Symbol.asyncDispose]()
  const { traceId, spanId } = spanIdOf(event?.manifest.render.trace ?? PARENT)
  expect(new Set(collector.spans.map((span) => span.traceId))).toEqual(new Set([traceId]))
  expect(collector.spans.find((span) => span.spanId === spanId)?.name).toBe('process render.react_pdf.async')
})

test('refusals of an address without a key cost no spans beyond its limit', async () => {
  const tracer = await aTracer()
  const api = anApi({ ports: { tracer }, settings: { traffic: { ...TRAFFIC, addressRefusals: 2 } } })
  const statuses: number[] = []
  for (let n = 0; n < 4; n++) statuses.push((await api.call({ path: '/api/v1/templates' })).statusCode)
  await tracer[Symbol.asyncDispose]()
  expect(statuses).toEqual([401, 401, 429, 429])
  expect(collector.spans.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([401, 401])
})

/** What the spans of one render cost: not exported, not sampled, and exported to a collector that is away. */
import { openTracer } from '@platen/adapters/otel/open-tracer.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { messagingAttributes, queueNameOf, renderAttributes } from '@platen/contract/domain/span-attributes.ts'
import { readTraceContext, traceContextOf } from '@platen/lib/trace.ts'
import { inSpan, NO_TRACER, type Tracer } from '@platen/lib/tracer.ts'
import { aRecord, SILENT } from '../../fixture/build.ts'
import type { Figure } from '../measure.ts'

const RENDERS = 100_000
/** Nobody listens there. */
const NOWHERE = 'http://127.0.0.1:9'
const SPAN = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
const RECORD = aRecord()
const QUEUE = queueNameOf(RECORD)

export async function* traces(scale: number): AsyncGenerator<Figure> {
  const count = Math.ceil(RENDERS * scale)
  const figure = (name: string, value: number, atMost: number): Figure => ({
    name: `µs of CPU for the spans of a render, ${name}`,
    detail: `${count} renders`,
    value,
    target: { atMost },
  })
  yield figure('not exported', await microsecondsOf(NO_TRACER, { isSampled: true, count }), 10)
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = NOWHERE
  await using tracer = await openTracer({
    traces: { protocol: 'http/protobuf' },
    deployable: 'bench',
    messagingSystem: 'kafka',
    clock: systemClock(),
    log: SILENT,
  })
  yield figure('not sampled', await microsecondsOf(tracer, { isSampled: false, count }), 500)
  yield figure('exported to nobody', await microsecondsOf(tracer, { isSampled: true, count }), 500)
}

async function microsecondsOf(
  tracer: Tracer,
  { isSampled, count }: { readonly isSampled: boolean; readonly count: number },
): Promise<number> {
  const headers = { ...traceContextOf({ ...SPAN, isSampled }, 'rojo=1') }
  const all = async (renders: number) => {
    for (let n = 0; n < renders; n++) await spansOfRender(tracer, headers)
  }
  await all(count / 10)
  const before = process.cpuUsage()
  await all(count)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / count
}

/** As many spans of the same kinds, with as many attributes, as an async render with a webhook has. */
async function spansOfRender(tracer: Tracer, headers: Record<string, string>): Promise<void> {
  const own = renderAttributes(RECORD)
  const send = { ...messagingAttributes(QUEUE, 'send', RECORD.id), ...own }
  const request = tracer.start('POST', { kind: 'server', parent: readTraceContext(headers), attributes: own })
  const { context: parent } = request
  tracer.start('admission', { parent }).end({ attributes: own })
  await inSpan(tracer, ['send', { kind: 'producer', parent, attributes: send }], async () => undefined)
  request.end({ attributes: own })
  const attempt = tracer.start('process', { kind: 'consumer', parent, attributes: send })
  const { context: cause } = attempt
  for (const name of ['queue', 'evaluate', 'layout', 'print']) {
    tracer.start(name, { parent: cause, startedAt: RECORD.acceptedAt }).end({ endedAt: RECORD.acceptedAt })
  }
  for (const name of ['render', 'store', 'send']) {
    await inSpan(tracer, [name, { parent: cause, attributes: own }], async () => undefined)
  }
  attempt.end()
  tracer.start('POST', { kind: 'client', parent: cause, attributes: { ...own, ...send } }).end({ attributes: own })
}

/**
 * The settings of traces: OpenTelemetry's standard variables. Those that decide whether spans are exported, or that its SDK would replace by a
 * default without a word if they are wrong, are read here. The SDK itself reads all of them once more, and the others: see docs/traces.md.
 */
import { BASE_URL, type Format, oneOf } from './format.ts'
import { optional, type Settings, setting, table } from './setting.ts'

/** How spans are exported. */
export interface TraceExport {
  readonly protocol: 'http/protobuf' | 'http/json'
}

/** As OpenTelemetry has it: anything but true is false. */
const TRUE: Format<boolean> = { wanted: 'true or false', parse: (text) => text.toLowerCase() === 'true' }

const PROTOCOL = oneOf<TraceExport['protocol']>(['http/protobuf', 'http/json'])

const RATIO: Format<number> = {
  wanted: 'a number from 0 to 1',
  parse(text) {
    const value = /^[\d.]{1,20}$/.test(text) ? Number(text) : Number.NaN
    return value >= 0 && value <= 1 ? value : undefined
  },
}

/** Whether spans are exported at all. */
const SWITCH = table({
  endpoint: optional('OTEL_EXPORTER_OTLP_ENDPOINT', BASE_URL, {
    default: 'none',
    description: 'Exports spans by OTLP to this URL, such as `http://collector:4318`; `/v1/traces` is appended.',
  }),
  traceEndpoint: optional('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', BASE_URL, {
    default: 'none',
    description: 'The same, as the whole URL of the spans.',
  }),
  exporter: optional('OTEL_TRACES_EXPORTER', oneOf(['otlp', 'none']), {
    default: '`otlp` if one of the two is set, else `none`',
    description: 'Where spans go. With `otlp` and no URL, to `http://localhost:4318`.',
  }),
  isDisabled: setting('OTEL_SDK_DISABLED', TRUE, {
    default: 'false',
    description: 'With `true`, no span is exported.',
  }),
})

/** How, if they are. What else uses these variables may need other values as long as we do not export. */
const EXPORT = table({
  protocol: setting('OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOL, {
    default: 'http/protobuf',
    description: '`http/protobuf` or `http/json`. gRPC is not supported.',
  }),
  traceProtocol: optional('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', PROTOCOL, {
    default: 'the same',
    description: 'The protocol for spans.',
  }),
  sampler: setting(
    'OTEL_TRACES_SAMPLER',
    oneOf([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ]),
    {
      default: 'parentbased_always_on',
      description:
        'Which traces are exported. The three of `parentbased_` follow what a caller says in its `traceparent`.',
    },
  ),
  ratio: optional('OTEL_TRACES_SAMPLER_ARG', RATIO, {
    default: '1',
    description: 'The part of all traces that a sampler with `traceidratio` takes: 0 to 1.',
  }),
})

/** Undefined if no spans are exported. */
export const TRACE_SETTINGS: Settings<TraceExport | undefined> = {
  entries: [...SWITCH.entries, ...EXPORT.entries],
  read(variables) {
    const { endpoint, traceEndpoint, exporter, isDisabled } = SWITCH.read(variables)
    const isNamed = endpoint !== undefined || traceEndpoint !== undefined
    if (isDisabled || (exporter ?? (isNamed ? 'otlp' : 'none')) === 'none') return undefined
    const { protocol, traceProtocol } = EXPORT.read(variables)
    return { protocol: traceProtocol ?? protocol }
  },
}

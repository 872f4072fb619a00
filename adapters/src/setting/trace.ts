/**
 * The settings of traces: OpenTelemetry's standard variables. This reads those that decide whether spans are exported, or that the SDK
 * would silently replace by a default if they are wrong. The SDK itself reads them again, and all others: see docs/traces.md.
 */
import { BASE_URL, type Format, oneOf } from './format.ts'
import { optional, type Settings, setting, table } from './setting.ts'

export interface TraceExport {
  readonly protocol: 'http/protobuf' | 'http/json'
}

/** As in OpenTelemetry, anything but true is false. */
const TRUE: Format<boolean> = { wanted: 'true or false', parse: (text) => text.toLowerCase() === 'true' }

const PROTOCOL = oneOf<TraceExport['protocol']>(['http/protobuf', 'http/json'])

const RATIO: Format<number> = {
  wanted: 'a number from 0 to 1',
  parse(text) {
    const value = /^[\d.]{1,20}$/.test(text) ? Number(text) : Number.NaN
    return value >= 0 && value <= 1 ? value : undefined
  },
}

/** Decides whether spans are exported. */
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

/** Read only if spans are exported: other users of these variables may need other values. */
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

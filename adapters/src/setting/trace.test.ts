import { describe, expect, test } from 'vitest'
import { TRACE_SETTINGS } from './trace.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

describe('spans are exported', () => {
  test.for<[string, Record<string, string>]>([
    ['to the endpoint', ENDPOINT],
    ['to the endpoint of spans', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/v1/traces' }],
    ['if the exporter says so', { OTEL_TRACES_EXPORTER: 'otlp' }],
    ['with the SDK not disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }],
    ['with a word that OpenTelemetry takes for false', { ...ENDPOINT, OTEL_SDK_DISABLED: 'yes' }],
  ])('%s', ([, variables]) => {
    expect(TRACE_SETTINGS.read(variables)).toEqual({ protocol: 'http/protobuf' })
  })

  test.for<[Record<string, string>]>([
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }],
  ])('in JSON by %o', ([variables]) => {
    expect(TRACE_SETTINGS.read({ ...ENDPOINT, ...variables })).toEqual({ protocol: 'http/json' })
  })
})

test.for<[string, Record<string, string>]>([
  ['without a variable', {}],
  ['with empty variables', { OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_EXPORTER: '' }],
  ['with the exporter none', { ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ['with the SDK disabled', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
  // Something else in the pod may need these.
  [
    'with a protocol and a sampler that we do not know',
    { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'x' },
  ],
])('%s nothing is exported', ([, variables]) => {
  expect(TRACE_SETTINGS.read(variables)).toBeUndefined()
})

test.for<[Record<string, string>]>([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'secret' }],
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }],
  [{ OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'grpc' }],
  [{ OTEL_TRACES_SAMPLER: 'sometimes' }],
  [{ OTEL_TRACES_SAMPLER_ARG: '1.1' }],
  [{ OTEL_TRACES_SAMPLER_ARG: '0.1.1' }],
  [{ OTEL_TRACES_SAMPLER_ARG: '-1' }],
])('%o is a fault that names the variable and not its value', ([wrong]) => {
  const [[name, value] = ['', '']] = Object.entries(wrong)
  const read = () => TRACE_SETTINGS.read({ ...ENDPOINT, ...wrong })
  expect(read).toThrow(new RegExp(`^${name} must be `))
  expect(read).not.toThrow(` ${value}$`)
})

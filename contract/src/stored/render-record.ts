/** The stored form of an accepted render, in a queue that other processes read. */

import { TRACESTATE_CHARS_MAX } from '@platen/lib/trace.ts'
import {
  FILENAME_CHARS_MAX,
  METADATA_KEYS_MAX,
  METADATA_VALUE_CHARS_MAX,
  REFERENCE_CHARS_MAX,
  WEBHOOK_URL_CHARS_MAX,
} from '../domain/limit.ts'
import { LANES, MODES, type RenderRecord } from '../domain/render.ts'
import { ENGINES, renderOptionsSchema } from '../domain/render-options.ts'
import { type Codec, codecOf } from './codec.ts'
import { splitRecord, textOfRecord } from './record-text.ts'

const text = { type: 'string', minLength: 1, maxLength: 1024 } as const
const count = { type: 'integer', minimum: 0 } as const
const id = { type: 'string', pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' } as const
const digest = { type: 'string', pattern: '^[0-9a-f]{64}$' } as const
/** Like `isArtifactAddress`: no name begins with a dot, and none is empty. */
const name = '[A-Za-z0-9_-][A-Za-z0-9._-]*'
const bucket = { type: 'string', pattern: `^${name}$` } as const

/** Any name: `contentDisposition` can make a header of it. */
const filename = { type: 'string', minLength: 1, maxLength: FILENAME_CHARS_MAX } as const

/** Unknown fields are allowed: a newer version may have added them. */
export const renderRecordSchema = {
  type: 'object',
  required: [
    'id',
    'tenant',
    'account',
    'environment',
    'mode',
    'lane',
    'engine',
    'template',
    'data',
    'options',
    'deadlineMs',
    'javascriptEnabled',
    'storage',
    'requestId',
    'acceptedAt',
    'units',
    'period',
    'retentionDays',
  ],
  properties: {
    id,
    tenant: text,
    account: text,
    environment: { enum: ['live', 'test'] },
    mode: { enum: MODES },
    lane: { enum: LANES },
    engine: { enum: ENGINES },
    template: {
      type: 'object',
      required: ['code', 'version', 'digest'],
      properties: { code: text, version: count, digest },
    },
    data: {
      oneOf: [
        { type: 'object', required: ['inline'], properties: { inline: { type: 'object' } } },
        {
          type: 'object',
          required: ['stored'],
          properties: {
            stored: {
              type: 'object',
              required: ['bucket', 'key'],
              properties: { bucket, key: { type: 'string', pattern: `^${name}(/${name})*$` } },
            },
          },
        },
      ],
    },
    requestData: { enum: ['Stored'] },
    options: {
      ...renderOptionsSchema,
      additionalProperties: true,
      // Another Node may know other locales and time zones.
      properties: { ...renderOptionsSchema.properties, filename, locale: text, time_zone: text },
    },
    deadlineMs: { type: 'number', exclusiveMinimum: 0 },
    javascriptEnabled: { type: 'boolean' },
    strict: { const: true },
    storage: {
      type: 'object',
      required: ['bucket', 'prefix'],
      properties: { bucket, prefix: { type: 'string', pattern: `^(${name}/)*$` } },
    },
    webhookUrl: { type: 'string', maxLength: WEBHOOK_URL_CHARS_MAX },
    reference: { type: 'string', minLength: 1, maxLength: REFERENCE_CHARS_MAX },
    metadata: {
      type: 'object',
      maxProperties: METADATA_KEYS_MAX,
      additionalProperties: { type: 'string', maxLength: METADATA_VALUE_CHARS_MAX },
    },
    batch: id,
    requestId: text,
    trace: {
      type: 'object',
      required: ['traceparent'],
      properties: {
        traceparent: { type: 'string', pattern: '^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$' },
        tracestate: { type: 'string', maxLength: TRACESTATE_CHARS_MAX, pattern: '^[\\x20-\\x7e]*$' },
      },
    },
    acceptedAt: count,
    units: { type: 'number', minimum: 0 },
    period: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}$' },
    retentionDays: { type: 'number', exclusiveMinimum: 0 },
  },
} as const

/** Large data are not parsed: the engine finds out whether they are JSON. */
export function renderRecordCodec(): Codec<RenderRecord> {
  const { encode, decode } = codecOf<RenderRecord>(renderRecordSchema)
  return {
    encode: (record) => textOfRecord(record, encode),
    decode(format, bytes) {
      const split = bytes === null ? undefined : splitRecord(Buffer.from(bytes).toString())
      const found = split && decode(format, Buffer.from(split.empty))
      if (split === undefined || found === undefined || !('value' in found)) return decode(format, bytes)
      return { value: { ...found.value, data: { text: split.data } } }
    },
  }
}

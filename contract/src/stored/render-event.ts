/** The stored form of a render event, in a log that other processes read. */

import { EVENT_TYPES, type RenderEvent } from '../domain/event.ts'
import { type Codec, codecOf } from './codec.ts'
import { renderRecordSchema } from './render-record.ts'

const {
  data: _data,
  lane: _lane,
  deadlineMs: _deadline,
  javascriptEnabled: _javascript,
  ...kept
} = renderRecordSchema.properties
const { stored } = renderRecordSchema.properties.data.oneOf[1].properties

const count = { type: 'integer', minimum: 0 } as const
const duration = { type: 'number', minimum: 0 } as const
const text = { type: 'string' } as const
/** A newer version may have other codes. */
const warned = {
  warnings: {
    type: 'array',
    items: { type: 'object', required: ['code', 'message'], properties: { code: text, place: text, message: text } },
  },
  warningsOmitted: count,
} as const

/** Unknown fields are allowed: a newer version may have added them. */
export const renderEventSchema = {
  type: 'object',
  required: ['id', 'type', 'manifest'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    type: { enum: EVENT_TYPES },
    manifest: {
      type: 'object',
      required: ['kind', 'render', 'attempt', 'outcome'],
      properties: {
        kind: { const: 'ended' },
        render: {
          type: 'object',
          required: renderRecordSchema.required.filter((name) => name in kept),
          properties: kept,
        },
        attempt: count,
        outcome: {
          oneOf: [
            {
              type: 'object',
              required: ['status', 'finishedAt', 'durationMs', 'pages', 'pdf'],
              properties: {
                status: { const: 'succeeded' },
                finishedAt: count,
                durationMs: duration,
                pages: count,
                ...warned,
                pdf: {
                  type: 'object',
                  required: ['address', 'bytes', 'sha256'],
                  properties: { address: stored, bytes: count, sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' } },
                },
              },
            },
            {
              type: 'object',
              required: ['status', 'finishedAt', 'durationMs', 'error'],
              properties: {
                status: { const: 'failed' },
                finishedAt: count,
                durationMs: duration,
                ...warned,
                error: {
                  type: 'object',
                  required: ['code', 'message'],
                  properties: { code: text, message: text },
                },
              },
            },
          ],
        },
      },
    },
  },
} as const

export function renderEventCodec(): Codec<RenderEvent> {
  return codecOf<RenderEvent>(renderEventSchema)
}

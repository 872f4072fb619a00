import type { FromSchema } from 'json-schema-to-ts'
import { BATCH_ITEMS_MAX } from '../domain/limit.ts'
import { ENGINES, renderOptionsSchema } from '../domain/render-options.ts'
import { metadataSchema, referenceSchema, templateCodeSchema, webhookUrlSchema } from './render-request.ts'

/** One line of NDJSON. */
export const batchItemSchema = {
  title: 'BatchItem',
  type: 'object',
  additionalProperties: false,
  required: ['data'],
  properties: {
    data: {
      type: 'object',
      additionalProperties: true,
      description: "The payload. It must conform to the template's variables_schema.",
    },
    filename: { ...renderOptionsSchema.properties.filename, description: 'Overrides `options.filename` of the batch.' },
    reference: referenceSchema,
    metadata: metadataSchema,
  },
} as const

const common = {
  template: templateCodeSchema,
  engine: {
    title: 'Engine',
    type: 'string',
    enum: ENGINES,
    description: 'Overrides the engine of the template, which is react_pdf if the template names none.',
  },
  options: renderOptionsSchema,
  webhook_url: {
    ...webhookUrlSchema,
    description: 'https URL that receives one signed event when the batch has ended. Its renders send none.',
  },
  reference: {
    ...referenceSchema,
    description: 'Your own name for the batch. Its renders have a reference of their own.',
  },
  metadata: {
    ...metadataSchema,
    description: 'Texts of your own. You get them back with the status of the batch and in its webhook.',
  },
} as const

export const batchRequestSchema = {
  title: 'BatchRequest',
  type: 'object',
  additionalProperties: false,
  required: ['template', 'items'],
  properties: {
    ...common,
    items: {
      type: 'array',
      minItems: 1,
      maxItems: BATCH_ITEMS_MAX,
      items: batchItemSchema,
      description: 'What each render is made of.',
    },
  },
} as const

/** Without items, which are checked one by one. In NDJSON, the first line. */
export const batchHeadSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['template'],
  properties: { ...common, items: { type: 'array', maxItems: 0 } },
} as const

export type BatchRequest = FromSchema<typeof batchRequestSchema>
export type BatchHead = Omit<BatchRequest, 'items'>

const batchId = { type: 'string', pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$', description: 'ULID.' } as const
const instant = { type: 'string', format: 'date-time', description: 'RFC 3339, UTC.' } as const
const count = { type: 'integer', minimum: 0 } as const
const labels = {
  reference: { type: 'string', description: '`reference` of the batch.' },
  metadata: { type: 'object', additionalProperties: { type: 'string' }, description: '`metadata` of the batch.' },
} as const

export const batchAcceptedSchema = {
  title: 'BatchAccepted',
  type: 'object',
  additionalProperties: false,
  required: ['batch_id', 'status', 'total', 'poll_url'],
  properties: {
    batch_id: batchId,
    status: { type: 'string', const: 'processing' },
    total: { ...count, description: 'Renders of the batch.' },
    poll_url: { type: 'string', description: 'Relative path of the status of the batch.' },
  },
} as const
export type BatchAccepted = FromSchema<typeof batchAcceptedSchema>

export const batchRecordSchema = {
  title: 'BatchRecord',
  type: 'object',
  additionalProperties: false,
  required: ['batch_id', 'template', 'status', 'total', 'queued', 'running', 'succeeded', 'failed', 'created_at'],
  properties: {
    batch_id: batchId,
    template: { type: 'string', description: 'Template code.' },
    ...labels,
    status: { title: 'BatchStatus', type: 'string', enum: ['processing', 'ended'] },
    total: { ...count, description: 'Renders of the batch.' },
    queued: { ...count, description: 'Renders that wait.' },
    running: count,
    succeeded: count,
    failed: { ...count, description: 'Renders that failed, or were deleted before they ended.' },
    created_at: instant,
    ended_at: { ...instant, description: 'Only while status is ended.' },
    delivery_id: {
      type: 'string',
      format: 'uuid',
      description:
        'The delivery of `batch.ended`, as `GET /api/v1/deliveries/{id}` shows it. Only while status is ended, and if the batch has a webhook_url.',
    },
  },
} as const
export type BatchRecord = FromSchema<typeof batchRecordSchema>

/** Receivers must expect more fields. */
export const batchWebhookBodySchema = {
  title: 'BatchWebhookBody',
  type: 'object',
  additionalProperties: true,
  required: ['batch_id', 'template', 'status', 'total', 'succeeded', 'failed', 'created_at', 'ended_at'],
  properties: {
    batch_id: batchId,
    template: { type: 'string', description: 'Template code.' },
    ...labels,
    status: { type: 'string', const: 'ended' },
    total: count,
    succeeded: count,
    failed: count,
    created_at: instant,
    ended_at: instant,
  },
} as const
export type BatchWebhookBody = FromSchema<typeof batchWebhookBodySchema>

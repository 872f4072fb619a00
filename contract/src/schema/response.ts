/**
 * Bodies of the API's answers and of webhooks, as JSON Schemas for the OpenAPI document and for tests. `title` is the name of a schema in
 * that document.
 */
import type { FromSchema } from 'json-schema-to-ts'
import { ATTEMPT_RESULTS, DELIVERED_EVENTS, DELIVERY_STATUSES } from '../domain/delivery.ts'
import { FAILURES, HTTP_ERRORS, type HttpErrorCode, REQUEST_PARTS, reasonsOf } from '../domain/error.ts'
import { EVENT_TYPES } from '../domain/event.ts'
import { STATUSES } from '../domain/render.ts'
import { ENGINES } from '../domain/render-options.ts'
import { WARNINGS, WARNINGS_MAX } from '../domain/warning.ts'

const REASONS = [...new Set((Object.keys(HTTP_ERRORS) as HttpErrorCode[]).flatMap(reasonsOf))]

const renderId = { type: 'string', pattern: '^[0-7][0-9A-HJKMNP-TV-Z]{25}$', description: 'ULID.' } as const
const labels = {
  reference: { type: 'string', description: '`reference` of the request.' },
  metadata: { type: 'object', additionalProperties: { type: 'string' }, description: '`metadata` of the request.' },
} as const
const batchId = { ...renderId, description: 'The batch that the render belongs to, if any.' } as const
const failureCode = { title: 'FailureCode', type: 'string', enum: Object.keys(FAILURES) } as const
const failureReason = { ...failureCode, description: 'The same as code.' } as const
const instant = { type: 'string', format: 'date-time', description: 'RFC 3339, UTC.' } as const

export const acceptedSchema = {
  title: 'RenderAccepted',
  type: 'object',
  additionalProperties: false,
  required: ['render_id', 'status', 'poll_url'],
  properties: {
    render_id: renderId,
    status: { type: 'string', const: 'queued' },
    poll_url: { type: 'string', description: 'Relative path of the status record.' },
  },
} as const
export type Accepted = FromSchema<typeof acceptedSchema>

const pages = { type: 'integer', minimum: 1, description: 'Pages of the PDF. Only if status is succeeded.' } as const
const warningsOmitted = {
  type: 'integer',
  minimum: 1,
  description: `How many more warnings there were. Absent if \`warnings\` has all of them; it has at most ${WARNINGS_MAX}.`,
} as const

export const warningsSchema = {
  type: 'array',
  items: {
    title: 'RenderWarning',
    type: 'object',
    additionalProperties: false,
    required: ['code', 'message'],
    properties: {
      code: { title: 'WarningCode', type: 'string', enum: Object.keys(WARNINGS) },
      place: {
        type: 'string',
        description: 'Where, if it is known: a source with line and column, or the page of the PDF.',
      },
      message: { type: 'string' },
    },
  },
} as const

export const statusRecordSchema = {
  title: 'RenderRecord',
  type: 'object',
  additionalProperties: false,
  required: ['render_id', 'status', 'created_at'],
  properties: {
    render_id: renderId,
    template: {
      type: 'string',
      description: 'Template code. Absent only while nothing but the id of a queued render is known.',
    },
    ...labels,
    batch_id: batchId,
    status: { title: 'RenderStatus', type: 'string', enum: STATUSES },
    pdf_url: {
      type: 'string',
      format: 'uri',
      description: 'Only while status is succeeded. Valid for ten minutes; every GET returns a new one.',
    },
    pdf_size_bytes: { type: 'integer', minimum: 0 },
    pages,
    created_at: instant,
    finished_at: instant,
    error: {
      title: 'RenderFailure',
      type: 'object',
      additionalProperties: false,
      required: ['code', 'reason', 'message'],
      properties: {
        code: failureCode,
        reason: failureReason,
        message: { type: 'string' },
      },
      description: 'Only while status is failed.',
    },
    warnings: {
      ...warningsSchema,
      description:
        'Problems of a document that was rendered nevertheless, or that failed with document_warnings. Absent if there are none.',
    },
    warnings_omitted: warningsOmitted,
  },
} as const
export type StatusRecord = FromSchema<typeof statusRecordSchema>

export const renderPageSchema = {
  title: 'RenderPage',
  type: 'object',
  additionalProperties: false,
  required: ['renders'],
  properties: {
    renders: {
      type: 'array',
      items: {
        title: 'ListedRender',
        type: 'object',
        additionalProperties: false,
        required: ['render_id', 'template', 'engine', 'status', 'created_at'],
        properties: {
          render_id: renderId,
          template: { type: 'string', description: 'Template code.' },
          engine: { title: 'Engine', type: 'string', enum: ENGINES, description: 'The engine that renders.' },
          ...labels,
          batch_id: batchId,
          status: { title: 'RenderStatus', type: 'string', enum: STATUSES },
          pdf_size_bytes: { type: 'integer', minimum: 0 },
          created_at: instant,
          finished_at: instant,
          error: {
            title: 'ListedFailure',
            type: 'object',
            additionalProperties: false,
            required: ['code', 'reason'],
            properties: {
              code: failureCode,
              reason: failureReason,
            },
            description: 'Only while status is failed. The status record also has the message.',
          },
        },
      },
    },
    next_cursor: { type: 'string', description: 'The `cursor` of the next page. Absent on the last page.' },
  },
} as const
export type RenderPage = FromSchema<typeof renderPageSchema>

export const templateListSchema = {
  title: 'TemplateList',
  type: 'object',
  additionalProperties: false,
  required: ['templates'],
  properties: {
    templates: {
      type: 'array',
      items: {
        title: 'Template',
        type: 'object',
        additionalProperties: false,
        required: ['code', 'name', 'version', 'variables_schema'],
        properties: {
          code: { type: 'string' },
          name: { type: 'string' },
          version: { type: 'integer', minimum: 1 },
          variables_schema: { type: 'object', additionalProperties: true, description: 'JSON Schema 2020-12 of data.' },
        },
      },
    },
  },
} as const
export type TemplateList = FromSchema<typeof templateListSchema>

const attemptSchema = {
  title: 'DeliveryAttempt',
  type: 'object',
  additionalProperties: false,
  required: ['started_at', 'duration_ms', 'result'],
  properties: {
    started_at: instant,
    duration_ms: { type: 'integer', minimum: 0 },
    result: {
      title: 'AttemptResult',
      type: 'string',
      enum: ATTEMPT_RESULTS,
      description:
        'ok: answered 2xx. status: answered with another status, including redirects. timeout, dns, connection, tls, protocol: no valid answer. blocked: the target must not be called.',
    },
    status_code: { type: 'integer', description: 'HTTP status, if there was an answer.' },
    message: { type: 'string', description: 'What went wrong. Absent if the attempt succeeded.' },
    response_excerpt: { type: 'string', description: 'The first 4 KiB of the answer, if it is text.' },
  },
} as const

const deliveryProperties = {
  id: { type: 'string', format: 'uuid', description: 'X-Service-Delivery and webhook-id of every attempt.' },
  event: { title: 'EventType', type: 'string', enum: EVENT_TYPES },
  url: { type: 'string', description: 'webhook_url of the render.' },
  status: {
    title: 'DeliveryStatus',
    type: 'string',
    enum: DELIVERY_STATUSES,
    description:
      'scheduled: an attempt is due. delivered: answered 2xx. exhausted: the last attempt failed. gone: answered 410. blocked: the target must not be called.',
  },
  created_at: instant,
  next_attempt_at: { ...instant, description: 'Only while status is scheduled.' },
  reason: { type: 'string', description: 'Why the delivery is waiting or was blocked.' },
  attempts: { type: 'array', items: attemptSchema, description: 'The last 50 attempts, the oldest first.' },
} as const

export const deliveryListSchema = {
  title: 'DeliveryList',
  type: 'object',
  additionalProperties: false,
  required: ['deliveries'],
  properties: {
    deliveries: {
      type: 'array',
      items: {
        title: 'Delivery',
        type: 'object',
        additionalProperties: false,
        required: ['id', 'event', 'url', 'status', 'created_at', 'attempts'],
        properties: deliveryProperties,
      },
    },
  },
} as const
export type DeliveryList = FromSchema<typeof deliveryListSchema>

/** May get more events. A `Delivery` may not: callers may know all of its events. */
export const deliveryDetailSchema = {
  title: 'DeliveryDetail',
  type: 'object',
  additionalProperties: false,
  required: ['id', 'event', 'url', 'status', 'created_at', 'attempts'],
  properties: {
    ...deliveryProperties,
    event: { title: 'DeliveredEventType', type: 'string', enum: DELIVERED_EVENTS },
    render_id: { ...renderId, description: 'The render that the event is about. Absent if it is about none.' },
    batch_id: { ...renderId, description: 'The batch that has ended, of `batch.ended`.' },
    url: { type: 'string', description: 'Where it is sent: webhook_url of the request, or url of the test event.' },
  },
} as const
export type DeliveryDetail = FromSchema<typeof deliveryDetailSchema>

export const deliveryPageSchema = {
  title: 'DeliveryPage',
  type: 'object',
  additionalProperties: false,
  required: ['deliveries'],
  properties: {
    deliveries: {
      type: 'array',
      items: {
        title: 'ListedDelivery',
        type: 'object',
        additionalProperties: false,
        required: ['id', 'event', 'render_id', 'template', 'status', 'created_at'],
        properties: {
          id: deliveryProperties.id,
          event: { title: 'DeliveredEventType', type: 'string', enum: DELIVERED_EVENTS },
          render_id: renderId,
          template: { type: 'string', description: 'Template code.' },
          reference: { ...labels.reference, description: '`reference` of the render.' },
          status: deliveryProperties.status,
          created_at: instant,
          last_attempt: {
            title: 'ListedAttempt',
            type: 'object',
            additionalProperties: false,
            required: ['started_at', 'duration_ms', 'result'],
            properties: {
              started_at: instant,
              duration_ms: attemptSchema.properties.duration_ms,
              result: attemptSchema.properties.result,
              status_code: attemptSchema.properties.status_code,
            },
            description:
              'Absent before the first attempt. The delivery itself has all attempts, with messages and answers.',
          },
        },
      },
    },
    next_cursor: { type: 'string', description: 'The `cursor` of the next page. Absent on the last page.' },
  },
} as const
export type DeliveryPage = FromSchema<typeof deliveryPageSchema>

export const redeliverySchema = {
  title: 'Redelivery',
  type: 'object',
  additionalProperties: false,
  required: ['id', 'status'],
  properties: {
    id: { type: 'string', format: 'uuid' },
    status: {
      title: 'DeliveryStatus',
      type: 'string',
      enum: DELIVERY_STATUSES,
      description: 'The status before the new attempt.',
    },
  },
} as const
export type Redelivery = FromSchema<typeof redeliverySchema>

export const errorBodySchema = {
  title: 'ErrorBody',
  type: 'object',
  additionalProperties: false,
  required: ['error'],
  properties: {
    error: {
      title: 'Problem',
      type: 'object',
      additionalProperties: false,
      required: ['code', 'reason', 'message', 'request_id'],
      properties: {
        code: { title: 'ErrorCode', type: 'string', enum: Object.keys(HTTP_ERRORS) },
        reason: {
          title: 'ErrorReason',
          type: 'string',
          enum: REASONS,
          description: 'Why, in one word. It tells apart what has the same code.',
        },
        message: { type: 'string' },
        request_id: { type: 'string' },
        details: {
          type: 'array',
          items: {
            title: 'ErrorDetail',
            type: 'object',
            additionalProperties: false,
            required: ['in', 'path', 'message'],
            properties: {
              in: {
                title: 'RequestPart',
                type: 'string',
                enum: REQUEST_PARTS,
                description: 'The part of the request that has the fault.',
              },
              path: {
                type: 'string',
                description: 'In the body, a JSON pointer; else the name of the parameter or header.',
              },
              message: { type: 'string' },
            },
          },
        },
      },
    },
  },
} as const
export type ErrorBody = FromSchema<typeof errorBodySchema>

/** As `webhookBodyOf` makes it. Receivers must expect more fields. */
export const webhookBodySchema = {
  title: 'WebhookBody',
  type: 'object',
  additionalProperties: true,
  required: ['id', 'render_id', 'template', 'status'],
  properties: {
    id: { type: 'string', format: 'uuid', description: 'The `render_id` in its UUID spelling.' },
    render_id: renderId,
    template: { type: 'string', description: 'Template code.' },
    ...labels,
    status: { type: 'string', enum: ['succeeded', 'failed'] },
    duration_ms: { type: 'integer', minimum: 0, description: 'Rendering time. Only if status is succeeded.' },
    bytes: { type: 'integer', minimum: 1, description: 'Size of the PDF. Only if status is succeeded.' },
    artifact_id: { type: 'string', description: 'SHA-256 of the PDF. Only if status is succeeded.' },
    error_code: { ...failureCode, description: 'Only if status is failed.' },
    error_reason: { ...failureCode, description: 'The same as error_code.' },
    error_message: { type: 'string', description: 'Only if status is failed.' },
    pages,
    warnings: { ...warningsSchema, description: 'As in the status record. Absent if there are none.' },
    warnings_omitted: warningsOmitted,
  },
} as const
export type WebhookBody = FromSchema<typeof webhookBodySchema>

/** As `testEventOf` makes it. */
export const testEventBodySchema = {
  title: 'TestEventBody',
  type: 'object',
  additionalProperties: true,
  required: ['id', 'status', 'created_at'],
  properties: {
    id: { type: 'string', format: 'uuid', description: 'The same as X-Service-Delivery and webhook-id.' },
    status: { type: 'string', const: 'test' },
    created_at: instant,
  },
} as const
export type TestEventBody = FromSchema<typeof testEventBodySchema>

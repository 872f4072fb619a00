/** The body of POST /render (interface §2.1). One schema validates it, gives the type, and is part of the OpenAPI document. */
import type { FromSchema } from 'json-schema-to-ts'
import {
  METADATA_KEY_CHARS_MAX,
  METADATA_KEYS_MAX,
  METADATA_VALUE_CHARS_MAX,
  REFERENCE_CHARS_MAX,
  TEMPLATE_CODE_CHARS_MAX,
  WEBHOOK_URL_CHARS_MAX,
} from '../domain/limit.ts'
import { MODES } from '../domain/render.ts'
import { ENGINES, renderOptionsSchema } from '../domain/render-options.ts'

export const TEMPLATE_CODE_PATTERN = '^[a-z0-9]+([_-][a-z0-9]+)*$'

/**
 * Refuses control characters, line separators, and characters that change the direction of text, with which a list would show something
 * else than the label. The format refuses halves of surrogate pairs.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const LABEL_CHARACTER = '[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]'

/** In a request and in a filter. */
export const referenceSchema = {
  type: 'string',
  minLength: 1,
  maxLength: REFERENCE_CHARS_MAX,
  format: 'well-formed',
  pattern: `^${LABEL_CHARACTER}*$`,
  description:
    'Your own name for what the render is of, such as an order number: text without control characters and characters that change its direction. Renders are listed by it; it need not be unique.',
} as const

export const metadataSchema = {
  type: 'object',
  maxProperties: METADATA_KEYS_MAX,
  propertyNames: {
    pattern: `^[A-Za-z0-9][A-Za-z0-9_.-]{0,${METADATA_KEY_CHARS_MAX - 1}}$`,
    description: `At most ${METADATA_KEY_CHARS_MAX} letters, digits, _, - and ., the first a letter or digit.`,
  },
  additionalProperties: {
    type: 'string',
    maxLength: METADATA_VALUE_CHARS_MAX,
    format: 'well-formed',
    pattern: `^${LABEL_CHARACTER}*$`,
    description: 'Text without control characters and characters that change its direction.',
  },
  description: `Up to ${METADATA_KEYS_MAX} texts of your own. You get them back with the status, in lists and in webhooks.`,
} as const

/** In a request and in a filter. */
export const templateCodeSchema = {
  type: 'string',
  maxLength: TEMPLATE_CODE_CHARS_MAX,
  pattern: TEMPLATE_CODE_PATTERN,
  description: 'Template code, in snake or kebab case.',
} as const

export const webhookUrlSchema = { type: 'string', format: 'uri', maxLength: WEBHOOK_URL_CHARS_MAX } as const

export const renderRequestSchema = {
  title: 'RenderRequest',
  type: 'object',
  additionalProperties: false,
  required: ['template', 'data'],
  properties: {
    template: templateCodeSchema,
    data: {
      type: 'object',
      // Without it, client generators allow no field.
      additionalProperties: true,
      description: "The payload. It must conform to the template's variables_schema.",
    },
    engine: {
      title: 'Engine',
      type: 'string',
      enum: ENGINES,
      description: 'Overrides the engine of the template, which is react_pdf if the template names none.',
    },
    mode: {
      title: 'RenderMode',
      type: 'string',
      enum: MODES,
      description: 'sync (default) returns the PDF; async returns a render id.',
    },
    async: {
      type: 'boolean',
      description: 'true means async, false means sync. If mode is given too, both must agree.',
    },
    options: renderOptionsSchema,
    webhook_url: { ...webhookUrlSchema, description: 'https URL that receives the signed event of this render.' },
    reference: referenceSchema,
    metadata: metadataSchema,
  },
} as const

export type RenderRequest = FromSchema<typeof renderRequestSchema>

export const testEventRequestSchema = {
  title: 'TestEventRequest',
  type: 'object',
  additionalProperties: false,
  required: ['url'],
  properties: {
    url: {
      type: 'string',
      format: 'uri',
      maxLength: WEBHOOK_URL_CHARS_MAX,
      description: 'https URL that receives the signed test event: what you would send as `webhook_url`.',
    },
  },
} as const

export type TestEventRequest = FromSchema<typeof testEventRequestSchema>

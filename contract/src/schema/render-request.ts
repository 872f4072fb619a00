/** The body of POST /render (interface §2.1). One schema: it validates, gives the type, and is part of the OpenAPI document. */
import type { FromSchema } from 'json-schema-to-ts'
import { FILENAME_CHARS_MAX, PAGE_SIDE_PT_MAX, PAGE_SIDE_PT_MIN, TEMPLATE_CODE_CHARS_MAX } from '../limit.ts'
import { MODES } from '../render.ts'
import { ENGINES, PAGE_SIZES } from '../render-options.ts'
import { WEBHOOK_URL_CHARS_MAX } from '../webhook-limit.ts'
import { LENGTH_PATTERN } from './length.ts'

const length = {
  type: ['number', 'string'],
  minimum: 0,
  maximum: PAGE_SIDE_PT_MAX,
  pattern: LENGTH_PATTERN,
  description: 'Points, or a CSS length in pt, px, mm, cm or in.',
} as const

const pageSide = { type: 'number', minimum: PAGE_SIDE_PT_MIN, maximum: PAGE_SIDE_PT_MAX } as const

export const TEMPLATE_CODE_PATTERN = '^[a-z0-9]+([_-][a-z0-9]+)*$'

/**
 * Refuses control characters, characters with a meaning to a file system or a header, and those that change the direction of text: they
 * would show `invoice-fdp.exe` as `invoice-exe.pdf`.
 */
// oxlint-disable-next-line no-control-regex -- control characters are what it refuses
const FILENAME_PATTERN =
  '^[^\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069/\\\\:*?"<>|]+$'

export const renderOptionsSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    page_size: {
      anyOf: [
        { type: 'string', enum: PAGE_SIZES },
        {
          type: 'object',
          additionalProperties: false,
          required: ['width', 'height'],
          properties: { width: pageSide, height: pageSide },
        },
      ],
      description: 'A named size, or width and height in points.',
    },
    orientation: { type: 'string', enum: ['portrait', 'landscape'] },
    margin: {
      anyOf: [
        length,
        {
          type: 'object',
          additionalProperties: false,
          properties: { top: length, right: length, bottom: length, left: length },
        },
      ],
      description: 'One length for all sides, or an object of sides.',
    },
    filename: { type: 'string', minLength: 1, maxLength: FILENAME_CHARS_MAX, pattern: FILENAME_PATTERN },
  },
} as const

export const renderRequestSchema = {
  type: 'object',
  additionalProperties: false,
  required: ['template', 'data'],
  properties: {
    template: {
      type: 'string',
      maxLength: TEMPLATE_CODE_CHARS_MAX,
      pattern: TEMPLATE_CODE_PATTERN,
      description: 'Template code, in snake or kebab case.',
    },
    data: { type: 'object', description: "The payload; it conforms to the template's variables_schema." },
    engine: {
      type: 'string',
      enum: ENGINES,
      description: "Overrides the template's own engine; react_pdf where neither says.",
    },
    mode: { type: 'string', enum: MODES, description: 'sync (default) answers the PDF, async a render id.' },
    async: {
      type: 'boolean',
      description: 'true selects async, false sync; must agree with mode where both are given.',
    },
    options: renderOptionsSchema,
    webhook_url: {
      type: 'string',
      format: 'uri',
      maxLength: WEBHOOK_URL_CHARS_MAX,
      description: 'https URL that receives the signed event of this render.',
    },
  },
} as const

export type RenderRequest = FromSchema<typeof renderRequestSchema>

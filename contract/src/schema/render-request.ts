/** The body of POST /render (interface §2.1). One schema: it validates, gives the type, and is part of the OpenAPI document. */
import type { FromSchema } from 'json-schema-to-ts'
import { TEMPLATE_CODE_CHARS_MAX, WEBHOOK_URL_CHARS_MAX } from '../limit.ts'
import { MODES } from '../render.ts'
import { ENGINES, renderOptionsSchema } from '../render-options.ts'

export const TEMPLATE_CODE_PATTERN = '^[a-z0-9]+([_-][a-z0-9]+)*$'

export const renderRequestSchema = {
  title: 'RenderRequest',
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
    data: {
      type: 'object',
      // Without it, generators of clients allow no field.
      additionalProperties: true,
      description: "The payload. It must conform to the template's variables_schema.",
    },
    engine: {
      type: 'string',
      enum: ENGINES,
      description: 'Overrides the engine of the template, which is react_pdf if the template names none.',
    },
    mode: { type: 'string', enum: MODES, description: 'sync (default) returns the PDF; async returns a render id.' },
    async: {
      type: 'boolean',
      description: 'true means async, false means sync. If mode is given too, both must agree.',
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

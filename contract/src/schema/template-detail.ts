/** The answer of GET /templates/:code. */
import type { FromSchema } from 'json-schema-to-ts'
import { SAMPLE_BYTES_MAX } from '../domain/limit.ts'
import { ENGINES, renderOptionsSchema } from '../domain/render-options.ts'
import { templateListSchema, warningsSchema } from './response.ts'

const { items } = templateListSchema.properties.templates

export const templateDetailSchema = {
  ...items,
  title: 'TemplateDetail',
  required: [...items.required, 'engine', 'engines', 'options'],
  properties: {
    ...items.properties,
    engine: { title: 'Engine', type: 'string', enum: ENGINES, description: 'The engine of requests that name none.' },
    engines: {
      type: 'array',
      items: {
        title: 'TemplateEngine',
        type: 'object',
        additionalProperties: false,
        required: ['engine', 'units', 'in_plan'],
        properties: {
          engine: { title: 'Engine', type: 'string', enum: ENGINES },
          units: {
            type: 'integer',
            minimum: 0,
            description: 'What a render costs of the monthly quota. 0 in the sandbox.',
          },
          in_plan: {
            type: 'boolean',
            description: 'Whether the plan has this engine. If not, requests for it are 402.',
          },
        },
      },
      description: 'The engines that the template has a source for.',
    },
    options: renderOptionsSchema,
    sample: {
      type: 'object',
      additionalProperties: true,
      description: `Sample data of the template, valid under variables_schema. Absent if there is none, or if it has more than ${SAMPLE_BYTES_MAX / 1024} KiB.`,
    },
    warnings: { ...warningsSchema, description: 'What a render would be warned of now. Absent if there is nothing.' },
  },
} as const
export type TemplateDetail = FromSchema<typeof templateDetailSchema>

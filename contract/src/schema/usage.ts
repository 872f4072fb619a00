/** The answer of GET /usage. */
import type { FromSchema } from 'json-schema-to-ts'
import { CHARGED_TEMPLATES_MAX } from '../domain/limit.ts'
import { MODES } from '../domain/render.ts'
import { ENGINES } from '../domain/render-options.ts'

const instant = { type: 'string', format: 'date-time', description: 'RFC 3339, UTC.' } as const
const count = { type: 'integer', minimum: 0 } as const

export const usageSchema = {
  title: 'Usage',
  type: 'object',
  additionalProperties: false,
  required: ['month', 'resets_at', 'used', 'reserved', 'rates', 'templates', 'days'],
  properties: {
    month: {
      type: 'string',
      pattern: '^\\d{4}-\\d{2}$',
      description: 'The calendar month (UTC) that the units are of.',
    },
    resets_at: { ...instant, description: 'When the next month begins.' },
    limit: { ...count, description: 'Units that the plan allows in a month. Absent if it sets no limit.' },
    remaining: { ...count, description: 'Units left: limit without used and reserved. Absent if there is no limit.' },
    used: { ...count, description: 'Units of renders that succeeded.' },
    reserved: {
      ...count,
      description: 'Units of renders that have not ended. They are free again if the render fails.',
    },
    rates: {
      type: 'array',
      items: {
        title: 'UsageRate',
        type: 'object',
        additionalProperties: false,
        required: ['renders', 'per', 'limit', 'remaining', 'resets_at'],
        properties: {
          renders: {
            type: 'string',
            enum: [...MODES, ...ENGINES],
            description: 'The mode or engine whose renders count.',
          },
          per: {
            type: 'string',
            enum: ['key', 'tenant'],
            description: 'Whose renders count: those of this key, or of all keys of the tenant in this environment.',
          },
          limit: { ...count, description: 'Renders in any 60 seconds.' },
          remaining: { ...count, description: 'Renders left now.' },
          resets_at: { ...instant, description: 'When the whole limit is free again if nothing more is requested.' },
        },
      },
      description: 'Each rate limit that renders with this key count in. A render must fit into all of its rates.',
    },
    templates: {
      type: 'array',
      items: {
        title: 'UsageOfTemplate',
        type: 'object',
        additionalProperties: false,
        required: ['template', 'renders', 'units'],
        properties: { template: { type: 'string', description: 'Template code.' }, renders: count, units: count },
      },
      description: `The used units by template, the most used first: the first ${CHARGED_TEMPLATES_MAX} templates of the month.`,
    },
    days: {
      type: 'array',
      items: {
        title: 'UsageOfDay',
        type: 'object',
        additionalProperties: false,
        required: ['date', 'renders', 'units'],
        properties: {
          date: { type: 'string', format: 'date', description: 'UTC.' },
          renders: count,
          units: count,
        },
      },
      description: 'The used units by the day on which the render was accepted. Days without any are absent.',
    },
  },
} as const
export type UsageBody = FromSchema<typeof usageSchema>

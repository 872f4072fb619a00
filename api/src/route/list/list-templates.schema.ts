import { type TemplateList, templateListSchema } from '@platen/contract/schema/response.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import { LIST_PER_PAGE_DEFAULT, LIST_PER_PAGE_MAX } from '../limit.ts'

const PAGE_MAX = 1_000_000

const querySchema = {
  type: 'object',
  properties: {
    page: { type: 'integer', minimum: 1, maximum: PAGE_MAX, default: 1, description: 'Pages begin at 1.' },
    per_page: { type: 'integer', minimum: 1, maximum: LIST_PER_PAGE_MAX, default: LIST_PER_PAGE_DEFAULT },
  },
} as const

export function listTemplatesSchema(): object {
  return {
    operationId: 'listTemplates',
    tags: ['template'],
    summary: 'List the published templates',
    description: 'The templates that this key can render, page by page.',
    security: KEY_REQUIRED,
    querystring: querySchema,
    response: {
      200: {
        description: 'One page of templates, sorted by code; empty after the last page.',
        headers: {
          ...COMMON_HEADERS,
          Link: {
            type: 'string',
            description: 'Links to the pages `first`, `prev`, `next` and `last`, if they exist (RFC 8288).',
          },
          'X-Total-Count': { type: 'integer', description: 'Number of templates on all pages.' },
        },
        ...templateListSchema,
        examples: [EXAMPLE],
      },
      ...refusals('listTemplates'),
    },
  }
}

const EXAMPLE: TemplateList = {
  templates: [
    {
      code: 'invoice',
      name: 'Invoice',
      version: 3,
      variables_schema: { type: 'object', required: ['number'], properties: { number: { type: 'string' } } },
    },
  ],
}

/** GET /templates: the caller's published templates, page by page in the order of their codes. */
import { type TemplateList, templateListSchema } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import { callerOf } from '../../admission/authenticate.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { LIST_PER_PAGE_DEFAULT, LIST_PER_PAGE_MAX } from '../limit.ts'

const PAGE_MAX = 1_000_000

const querySchema = {
  type: 'object',
  properties: {
    page: { type: 'integer', minimum: 1, maximum: PAGE_MAX, default: 1, description: 'Pages begin at 1.' },
    per_page: { type: 'integer', minimum: 1, maximum: LIST_PER_PAGE_MAX, default: LIST_PER_PAGE_DEFAULT },
  },
} as const

interface Query {
  readonly page?: number
  readonly per_page?: number
}

export function listTemplatesRoute(app: FastifyInstance, { directory }: ApiPorts): void {
  app.get<{ Querystring: Query }>('/templates', { schema: description() }, async (request, reply) => {
    const { page = 1, per_page: perPage = LIST_PER_PAGE_DEFAULT } = request.query
    const { tenant } = callerOf(request)
    const all = [...(directory.current().templates.get(tenant.id)?.values() ?? [])]
    const templates = all
      .slice((page - 1) * perPage, page * perPage)
      .map(({ code, name, version, variablesSchema }) => ({
        code,
        name,
        version,
        variables_schema: variablesSchema,
      }))
    const body: TemplateList = { templates }
    return await reply
      .header('x-total-count', all.length)
      .header('link', linksOf({ path: request.routeOptions.url ?? '', page, perPage, total: all.length }))
      .send(body)
  })
}

/** Returns RFC 8288 links to the other pages. They are relative, because the Host header comes from the caller and is not trusted. */
function linksOf(list: { path: string; page: number; perPage: number; total: number }): string {
  const { path, page, perPage, total } = list
  const last = Math.max(1, Math.ceil(total / perPage))
  const pages = { first: 1, prev: Math.min(page - 1, last), next: page + 1, last }
  return Object.entries(pages)
    .filter(([, target]) => target >= 1 && target <= last)
    .map(([relation, target]) => `<${path}?page=${target}&per_page=${perPage}>; rel="${relation}"`)
    .join(', ')
}

function description(): object {
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

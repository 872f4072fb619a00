/** GET /templates: the caller's published templates, page by page in the order of their codes. */
import type { TemplateList } from '@platen/contract/schema/response.ts'
import type { FastifyInstance } from 'fastify'
import { callerOf } from '../../admission/authenticate.ts'
import type { ApiPorts } from '../../ports.ts'
import { LIST_PER_PAGE_DEFAULT } from '../limit.ts'
import { shownSchema } from '../read/get-template.ts'
import { listTemplatesSchema } from './list-templates.schema.ts'

interface Query {
  readonly page?: number
  readonly per_page?: number
}

export function listTemplatesRoute(app: FastifyInstance, { directory }: ApiPorts): void {
  app.get<{ Querystring: Query }>('/templates', { schema: listTemplatesSchema() }, async (request, reply) => {
    const { page = 1, per_page: perPage = LIST_PER_PAGE_DEFAULT } = request.query
    const { tenant } = callerOf(request)
    const all = [...(directory.current().templates.get(tenant.id)?.values() ?? [])]
    const templates = all
      .slice((page - 1) * perPage, page * perPage)
      .map(({ code, name, version, variablesSchema }) => ({
        code,
        name,
        version,
        variables_schema: shownSchema(variablesSchema),
      }))
    const body: TemplateList = { templates }
    return await reply
      .header('x-total-count', all.length)
      .header('link', linksOf({ path: request.routeOptions.url ?? '', page, perPage, total: all.length }))
      .send(body)
  })
}

/** RFC 8288 links to the other pages. They are relative, because the Host header comes from the caller and is not trusted. */
function linksOf(list: { path: string; page: number; perPage: number; total: number }): string {
  const { path, page, perPage, total } = list
  const last = Math.max(1, Math.ceil(total / perPage))
  const pages = { first: 1, prev: Math.min(page - 1, last), next: page + 1, last }
  return Object.entries(pages)
    .filter(([, target]) => target >= 1 && target <= last)
    .map(([relation, target]) => `<${path}?page=${target}&per_page=${perPage}>; rel="${relation}"`)
    .join(', ')
}

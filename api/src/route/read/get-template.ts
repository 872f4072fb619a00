/**
 * GET /templates/:code: all that a caller must know to render a template. What it costs and whether its engines may be used depends on the
 * plan and the environment of the key.
 */
import { sha256 } from '@platen/contract/canonical-json.ts'
import { assetKey, templateKey } from '@platen/contract/render.ts'
import { type TemplateDetail, templateDetailSchema } from '@platen/contract/schema/template-detail.ts'
import type { TemplateSource } from '@platen/contract/tenant.ts'
import { WARNINGS } from '@platen/contract/warning.ts'
import type { FastifyInstance } from 'fastify'
import { unitsOf } from '../../admission/admit.ts'
import { type Caller, callerOf } from '../../admission/authenticate.ts'
import { findTemplate } from '../../admission/template.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { unavailable } from '../../problem.ts'

export function getTemplateRoute(app: FastifyInstance, ports: ApiPorts): void {
  app.get<{ Params: { code: string } }>('/templates/:code', { schema: description() }, async (request, reply) => {
    return await reply.send(await detailOf(request.params.code, callerOf(request), ports))
  })
}

async function detailOf(asked: string, caller: Caller, ports: ApiPorts): Promise<TemplateDetail> {
  const { limits } = caller.tenant
  const template = findTemplate(ports.directory.current(), caller.tenant, asked)
  const { code, name, version, variablesSchema, engines, digest, sample } = template
  const [source, sampleData] = await Promise.all([
    readJson(templateKey(digest), digest, ports) as Promise<TemplateSource | undefined>,
    // Only objects are stored as sample data.
    sample && (readJson(assetKey(sample), sample, ports) as Promise<Readonly<Record<string, unknown>> | undefined>),
  ])
  // It was stored before the template was published.
  if (source === undefined) throw unavailable(new Error(`the template ${digest} is missing or damaged`))
  const isScriptOff = source.html?.javascript === true && !limits.javascriptEnabled
  return {
    code,
    name,
    version,
    engine: template.engine,
    engines: engines.map((engine) => ({
      engine,
      units: unitsOf(engine, caller),
      in_plan: engine !== 'html' || limits.htmlEngineEnabled,
    })),
    options: source.options,
    variables_schema: variablesSchema,
    ...(sampleData !== undefined && { sample: sampleData }),
    ...(isScriptOff && { warnings: [{ code: 'javascript_disabled', message: WARNINGS.javascript_disabled }] }),
  }
}

/** Reads an object of the service's own bucket. Returns undefined if it is missing, or is not the one with this digest. */
async function readJson(key: string, digest: string, { artifacts, clock, settings }: ApiPorts): Promise<unknown> {
  const bytes = await artifacts.get({ bucket: settings.serviceBucket, key }, clock.timeout(PORT_CALL_MS_MAX))
  if (bytes === undefined || sha256(bytes) !== digest) return undefined
  return JSON.parse(Buffer.from(bytes).toString())
}

function description(): object {
  return {
    operationId: 'getTemplate',
    tags: ['template'],
    summary: 'Get a template with its engines, options and sample',
    description: 'Units and engines are those of this key: they depend on its plan and environment.',
    security: KEY_REQUIRED,
    params: { type: 'object', properties: { code: { type: 'string', description: 'Template code.' } } },
    response: {
      200: {
        description: 'The template as a render with this key would use it now.',
        headers: COMMON_HEADERS,
        ...templateDetailSchema,
        examples: [EXAMPLE],
      },
      ...refusals('getTemplate'),
    },
  }
}

const EXAMPLE: TemplateDetail = {
  code: 'invoice',
  name: 'Invoice',
  version: 3,
  engine: 'react_pdf',
  engines: [
    { engine: 'react_pdf', units: 1, in_plan: true },
    { engine: 'html', units: 25, in_plan: false },
  ],
  options: { orientation: 'landscape' },
  variables_schema: { type: 'object', required: ['number'], properties: { number: { type: 'string' } } },
  sample: { number: '2026-0042' },
}

/**
 * GET /templates/:code: all that a caller must know to render a template. Units and allowed engines depend on the plan and the environment
 * of the key.
 */

import { assetKey, templateKey } from '@platen/contract/domain/render.ts'
import type { TemplateSource } from '@platen/contract/domain/tenant.ts'
import { WARNINGS } from '@platen/contract/domain/warning.ts'
import type { TemplateDetail } from '@platen/contract/schema/template-detail.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import type { FastifyInstance } from 'fastify'
import { unitsOf } from '../../admission/admit.ts'
import { type Caller, callerOf } from '../../admission/authenticate.ts'
import { findTemplate } from '../../admission/template.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { unavailable } from '../../problem.ts'
import { getTemplateSchema } from './get-template.schema.ts'

export function getTemplateRoute(app: FastifyInstance, ports: ApiPorts): void {
  app.get<{ Params: { code: string } }>('/templates/:code', { schema: getTemplateSchema() }, async (request, reply) => {
    return await reply.send(await detailOf(request.params.code, callerOf(request), ports))
  })
}

/** The schema for callers: programs read its `type` and `properties` without checking that they exist. */
export function shownSchema(schema: JsonObject): JsonObject {
  return { type: 'object', properties: {}, ...schema }
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
    variables_schema: shownSchema(variablesSchema),
    ...(sampleData !== undefined && { sample: sampleData }),
    ...(isScriptOff && { warnings: [{ code: 'javascript_disabled', message: WARNINGS.javascript_disabled }] }),
  }
}

/** Undefined if the object is missing, or does not have this digest. */
async function readJson(key: string, digest: string, { artifacts, clock, settings }: ApiPorts): Promise<unknown> {
  const bytes = await artifacts.get({ bucket: settings.serviceBucket, key }, clock.timeout(PORT_CALL_MS_MAX))
  if (bytes === undefined || sha256(bytes) !== digest) return undefined
  return JSON.parse(Buffer.from(bytes).toString())
}

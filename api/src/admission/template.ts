/** Step 3 of admission: chooses the template and the engine. */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { Limits, Template, TemplateCode, Tenant } from '@platen/contract/domain/tenant.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { UNAVAILABLE_RETRY_AFTER_S } from '../limit.ts'
import type { EngineStatus } from '../ports.ts'

/** Throws `TEMPLATE_NOT_FOUND`. */
export function findTemplate({ templates }: DirectorySnapshot, tenant: Tenant, code: string): Template {
  // An invalid code is in no map.
  const template = templates.get(tenant.id)?.get(code as TemplateCode)
  if (template === undefined) {
    throw new ServiceError(
      'TEMPLATE_NOT_FOUND',
      'There is no published template of this code; GET /api/v1/templates lists them.',
    )
  }
  return template
}

/** Checks the plan, then the template, then the installation, so that a caller who must pay learns it first. */
export function requireEngine(
  engine: Engine,
  { limits, template, status }: { limits: Limits; template: Template; status: EngineStatus },
): void {
  if (engine === 'html' && !limits.htmlEngineEnabled) {
    throw new ServiceError('PAYMENT_REQUIRED', 'The html engine is not part of the plan.', {
      reason: 'engine_not_in_plan',
    })
  }
  if (!template.engines.includes(engine)) {
    const message = `must be an engine that the template has a source for: ${template.engines.join(', ')}`
    throw new ServiceError('VALIDATION_FAILED', `The template has no source for the engine ${engine}.`, {
      reason: 'engine_without_source',
      details: [{ path: '/engine', message }],
    })
  }
  if (status === 'missing') {
    throw new ServiceError('VALIDATION_FAILED', `This installation does not have the engine ${engine}.`, {
      reason: 'engine_not_installed',
      details: [{ path: '/engine', message: 'must be an engine that this installation has' }],
    })
  }
  if (status === 'unavailable') {
    throw new ServiceError('RENDER_UNAVAILABLE', `There is no renderer of the engine ${engine} just now.`, {
      reason: 'engine_unavailable',
      headers: { 'retry-after': `${UNAVAILABLE_RETRY_AFTER_S}` },
    })
  }
}

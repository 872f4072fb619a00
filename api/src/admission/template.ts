/** Third station: which template, and which engine renders it. */
import { ServiceError } from '@platen/contract/error.ts'
import type { DirectorySnapshot } from '@platen/contract/port/directory.ts'
import type { Engine } from '@platen/contract/render-options.ts'
import type { Limits, Template, TemplateCode, Tenant } from '@platen/contract/tenant.ts'
import { unavailable } from '../problem.ts'

/** The tenant's published template of that code. Throws `TEMPLATE_NOT_FOUND`. */
export function findTemplate({ templates }: DirectorySnapshot, tenant: Tenant, code: string): Template {
  // A text that is no code is in no map.
  const template = templates.get(tenant.id)?.get(code as TemplateCode)
  if (template === undefined) {
    throw new ServiceError(
      'TEMPLATE_NOT_FOUND',
      'There is no published template of this code; GET /api/v1/templates lists them.',
    )
  }
  return template
}

/** The engine of a render: the request's choice, else the template's, else `react_pdf`, unless `html` is all there is. */
export function engineOf(asked: Engine | undefined, { engine, engines }: Template): Engine {
  const isHtmlAlone = engines.includes('html') && !engines.includes('react_pdf')
  return asked ?? engine ?? (isHtmlAlone ? 'html' : 'react_pdf')
}

/** Lets an engine pass that the plan, the template and this installation have; in this order, so that one who must pay is told so first. */
export function requireEngine(
  engine: Engine,
  { limits, template, isAvailable }: { limits: Limits; template: Template; isAvailable: boolean },
): void {
  if (engine === 'html' && !limits.htmlEngineEnabled) {
    throw new ServiceError('PAYMENT_REQUIRED', 'The html engine is not part of the plan.')
  }
  if (!template.engines.includes(engine)) {
    const message = `must be an engine the template has a source for: ${template.engines.join(', ')}`
    throw new ServiceError('VALIDATION_FAILED', `The template has no source for the engine ${engine}.`, {
      details: [{ path: '/engine', message }],
    })
  }
  if (!isAvailable) throw unavailable()
}

/** One template as the commands look at it: what is to be rendered of it, and what is to be said of it. */

import type { JsonObject } from '@platen/contract/brand.ts'
import type { ErrorDetail } from '@platen/contract/error.ts'
import type { Engine } from '@platen/contract/render-options.ts'
import type { Condition, TemplateResource } from '@platen/contract/resource.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variable/variables-schema.ts'
import { DEFAULT_LIMITS, type TenantId } from '@platen/contract/tenant.ts'
import type { Compiled } from '@platen/settings/compile/compile.ts'
import { labelOf, type Finding as Refusal } from '@platen/settings/compile/condition.ts'
import { type ConfigMaps, resolveSource } from '@platen/settings/compile/source.ts'
import type { Finding } from './finding/finding.ts'
import type { Places } from './finding/place.ts'
import type { Preview, Subject } from './renderer.ts'

/** The engines a template has a source for; of two, the one it is rendered with where nobody says comes first. */
export function enginesOf({ spec }: TemplateResource): readonly Engine[] {
  const engines: Engine[] = []
  if (spec.reactPdf !== undefined) engines.push('react_pdf')
  if (spec.html !== undefined) engines.push('html')
  return engines.sort((one, other) => Number(other === spec.engine) - Number(one === spec.engine))
}

/** What of a template does not depend on data, under the limits its tenant has; or which source or asset is missing. */
export function subjectOf(
  template: TemplateResource,
  { configMaps, compiled }: { configMaps: ConfigMaps; compiled: Compiled },
): Omit<Subject, 'data'> | { readonly refusal: Refusal } {
  const resolved = resolveSource(template, configMaps)
  if ('refusal' in resolved) return resolved
  const { name } = template.spec.tenantRef
  const tenant = [...compiled.tenants.values()].find(({ resource }) => resource.metadata.name === name)
  // A tenant's id is its resource's name.
  return { ...resolved, tenant: name as TenantId, limits: tenant?.settings?.limits ?? DEFAULT_LIMITS }
}

/** What is wrong with the schema of a template, if anything. Of one whose tenant is not there, compiling says nothing. */
export function schemaFaultOf({ spec }: TemplateResource): string | undefined {
  try {
    compileVariablesSchema(spec.variablesSchema ?? {})
    return undefined
  } catch (fault) {
    return `variablesSchema: ${fault instanceof Error ? fault.message : 'is no JSON Schema'}`
  }
}

/** How data fails the schema of a template, which is sound; the paths are those of the data. */
export function misfitsOf({ spec }: TemplateResource, data: JsonObject): readonly ErrorDetail[] {
  return compileVariablesSchema(spec.variablesSchema ?? {})(data)
}

/** The same of its own sample data. */
export function sampleFindings(template: TemplateResource, places: Places): readonly Finding[] {
  const resource = labelOf(template)
  return misfitsOf(template, template.spec.sampleData ?? {}).map(({ path, message }) => {
    const pointer = `/spec/sampleData${path}`
    return { ...places.ofValue(resource, pointer), resource, subject: pointer, message, isWarning: false }
  })
}

/** What is wrong with the `variablesSchema` of a template; the message may name the place in it. */
export function schemaFinding(template: TemplateResource, message: string, places: Places): Finding {
  const resource = labelOf(template)
  const pointer = `/spec/variablesSchema${pointerIn(template.spec.variablesSchema ?? {}, message)}`
  return { ...places.ofValue(resource, pointer), resource, subject: 'SchemaInvalid', message, isWarning: false }
}

/** The first JSON pointer in a message that leads into the schema. */
function pointerIn(schema: JsonObject, message: string): string {
  const pointers = [...message.matchAll(/\/[^\s,:;]+/g)].map(([pointer]) => pointer)
  return pointers.find((pointer) => Object.hasOwn(schema, pointer.split('/', 2)[1] ?? '')) ?? ''
}

/** What a source of a template comes to when it is compiled or rendered. */
export function sourceFinding(
  template: TemplateResource,
  { subject, message, engine }: { subject: string; message: string; engine: Engine },
  places: Places,
): Finding {
  const resource = labelOf(template)
  const place = places.ofSource(template, message)
  if (place !== undefined) return { ...place, resource, subject, message, isWarning: false }
  // It names no source, so it does not say which engine it is about.
  return { ...placeOf(engine, resource, places), resource, subject, message: `${engine}: ${message}`, isWarning: false }
}

function placeOf(engine: Engine, resource: string, places: Places) {
  return places.ofField(resource, engine === 'html' ? '/spec/html' : '/spec/reactPdf')
}

export interface Previewed {
  readonly resource: TemplateResource
  readonly conditions: readonly Condition[]
  readonly engine: Engine
  readonly preview: Preview
}

/** Why a template could not be rendered, or what its document warns of. */
export function previewFindings(
  { resource, conditions, engine, preview }: Previewed,
  places: Places,
): readonly Finding[] {
  if ('failure' in preview) {
    const { code, message } = preview.failure
    return [sourceFinding(resource, { subject: code, message, engine }, places)]
  }
  const label = labelOf(resource)
  // The condition has said it already.
  const isToldOfJavaScript = conditions.some(({ reason }) => reason === 'JavaScriptNotInPlan')
  return preview.warnings
    .filter(({ code }) => !(isToldOfJavaScript && code === 'javascript_disabled'))
    .map(({ code, message }) => ({
      ...placeOf(engine, label, places),
      resource: label,
      subject: code,
      message: `${engine}: ${message}`,
      isWarning: true,
    }))
}

import type { ErrorDetail } from '@platen/contract/domain/error.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { Condition, TemplateResource } from '@platen/contract/domain/resource.ts'
import { ENGINE_VALUES } from '@platen/contract/domain/resource-value.ts'
import type { CheckFault } from '@platen/contract/domain/template-check.ts'
import { DEFAULT_LIMITS, type Limits, type TenantId } from '@platen/contract/domain/tenant.ts'
import { compileVariablesSchema, variablesSchemaFault } from '@platen/contract/schema/variable/variables-schema.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { ConsoleLine } from '@platen/renderer/port/engine.ts'
import type { Compiled } from '@platen/settings/compilation/compile.ts'
import { labelOf, type Finding as Refusal } from '@platen/settings/compile/condition.ts'
import { type ConfigMaps, resolveSource } from '@platen/settings/compile/source.ts'
import { defaultEngineOf, enginesOf } from '@platen/settings/compile/template.ts'
import type { Diagnostic } from './diagnostic/diagnostic.ts'
import type { Locations } from './diagnostic/location.ts'
import type { Preview, PreviewInput } from './renderer.ts'

/** The first one is the default. */
export function enginesByDefault(template: TemplateResource): readonly Engine[] {
  const own = ENGINE_VALUES[defaultEngineOf(template)]
  return enginesOf(template).toSorted((one, other) => Number(other === own) - Number(one === own))
}

/** Everything but the data, with the limits of the tenant. A refusal says which source or asset is missing. */
export function previewInputOf(
  template: TemplateResource,
  { configMaps, compiled }: { configMaps: ConfigMaps; compiled: Compiled },
): Omit<PreviewInput, 'data'> | { readonly refusal: Refusal } {
  const resolved = resolveSource(template, configMaps)
  if ('refusal' in resolved) return resolved
  const { name } = template.spec.tenantRef
  const tenant = [...compiled.tenants.values()].find(({ resource }) => resource.metadata.name === name)
  // A tenant's id is its resource's name.
  return { ...resolved, tenant: name as TenantId, limits: tenant?.settings?.limits ?? DEFAULT_LIMITS }
}

/** Needed because compiling does not report this when the tenant is missing. */
export function schemaFaultOf({ spec }: TemplateResource): string | undefined {
  const fault = variablesSchemaFault(spec.variablesSchema ?? {})
  return fault && `variablesSchema: ${fault}`
}

/** The schema must be valid. Paths point into the data. */
export function schemaMismatches({ spec }: TemplateResource, data: JsonObject): readonly ErrorDetail[] {
  return compileVariablesSchema(spec.variablesSchema ?? {})(data)
}

export function sampleDiagnostics(template: TemplateResource, locations: Locations): readonly Diagnostic[] {
  const resource = labelOf(template)
  return schemaMismatches(template, template.spec.sampleData ?? {}).map(({ path, message }) => {
    const pointer = `/spec/sampleData${path}`
    return { ...locations.ofValue(resource, pointer), resource, subject: pointer, message, isWarning: false }
  })
}

/** `message` may contain a pointer into the schema. */
export function schemaDiagnostic(template: TemplateResource, message: string, locations: Locations): Diagnostic {
  const resource = labelOf(template)
  const pointer = `/spec/variablesSchema${pointerIn(template.spec.variablesSchema ?? {}, message)}`
  return { ...locations.ofValue(resource, pointer), resource, subject: 'SchemaInvalid', message, isWarning: false }
}

/** The first JSON pointer that leads into the schema, or ''. */
function pointerIn(schema: JsonObject, message: string): string {
  const pointers = [...message.matchAll(/\/[^\s,:;]+/g)].map(([pointer]) => pointer)
  return pointers.find((pointer) => Object.hasOwn(schema, pointer.split('/', 2)[1] ?? '')) ?? ''
}

export function sourceDiagnostic(
  template: TemplateResource,
  { subject, message, engine }: { subject: string; message: string; engine: Engine },
  locations: Locations,
): Diagnostic {
  const resource = labelOf(template)
  const location = locations.ofSource(template, message)
  if (location !== undefined) return { ...location, resource, subject, message, isWarning: false }
  // The message names no source, so the engine is added.
  return {
    ...sourceLocation(engine, resource, locations),
    resource,
    subject,
    message: `${engine}: ${message}`,
    isWarning: false,
  }
}

function sourceLocation(engine: Engine, resource: string, locations: Locations) {
  return locations.ofField(resource, engine === 'html' ? '/spec/html' : '/spec/reactPdf')
}

/** For faults that do not prevent a document. */
export function sourceWarning(template: TemplateResource, found: CheckFault, locations: Locations): Diagnostic {
  const { engine = 'react_pdf', message, code: subject = 'Source' } = found
  return { ...sourceDiagnostic(template, { subject, message, engine }, locations), isWarning: true }
}

export interface PreviewedTemplate {
  readonly resource: TemplateResource
  readonly conditions: readonly Condition[]
  readonly limits: Limits
  readonly engine: Engine
  readonly preview: Preview
}

/** Returns why the render failed, or the warnings of the document, and a fault if the service would fail it because of them. */
export function previewDiagnostics(
  { resource, conditions, limits, engine, preview }: PreviewedTemplate,
  locations: Locations,
): readonly Diagnostic[] {
  const notes = preview.console.map((line) => consoleDiagnostic(resource, line, locations))
  if ('failure' in preview) {
    const { code, message } = preview.failure
    return [...notes, sourceDiagnostic(resource, { subject: code, message, engine }, locations)]
  }
  const { warnings = [], warningsOmitted = 0 } = preview
  const label = labelOf(resource)
  const whole = { ...sourceLocation(engine, label, locations), resource: label, isWarning: true }
  // A condition has already reported it.
  const isJavaScriptReported = conditions.some(({ reason }) => reason === 'JavaScriptNotInPlan')
  const shown = warnings
    .filter(({ code }) => !(isJavaScriptReported && code === 'javascript_disabled'))
    .map(({ code, place, message }) => {
      const text = place === undefined ? message : `${place}: ${message}`
      return { ...sourceDiagnostic(resource, { subject: code, message: text, engine }, locations), isWarning: true }
    })
  const more = warningsOmitted === 0 ? [] : [{ ...whole, message: `${engine}: and ${warningsOmitted} more warnings` }]
  const isStrict = resource.spec.strict === true || limits.strict === true
  if (!isStrict || warnings.length === 0) return [...notes, ...shown, ...more]
  const message = `${engine}: the service fails this render, because its template or plan is strict: it allows no warning`
  return [...notes, ...shown, ...more, { ...whole, subject: 'document_warnings', message, isWarning: false }]
}

function consoleDiagnostic(
  template: TemplateResource,
  { level, place, text }: ConsoleLine,
  locations: Locations,
): Diagnostic {
  const named = { subject: `console.${level}`, message: `${place}: ${text}`, engine: 'react_pdf' } as const
  return { ...sourceDiagnostic(template, named, locations), isWarning: true, isNote: true }
}

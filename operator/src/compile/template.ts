/** Templates in, what is listed and rendered of them out. */
import type { JsonObject } from '@platen/contract/brand.ts'
import { TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/limit.ts'
import type { Engine } from '@platen/contract/render.ts'
import type { TemplateResource } from '@platen/contract/resource.ts'
import type { SourceSpec } from '@platen/contract/schema/resource.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variables-schema.ts'
import type {
  Template,
  TemplateCode,
  TemplateDigest,
  TemplateSource,
  Tenant,
  TenantId,
} from '@platen/contract/tenant.ts'
import { conditionsOf, type Finding, fails, holds, labelOf } from './condition.ts'
import { canonicalJson, digestOf, sha256 } from './digest.ts'
import type { InForce, Outcome } from './outcome.ts'
import { findTenant, type TenantsByName } from './tenant.ts'

export type TemplateOutcome = Outcome<TemplateResource, Template>

/** The data of ConfigMaps by `namespace/name`. */
export type ConfigMaps = ReadonlyMap<string, Readonly<Record<string, string>>>

/** What the publish check is asked: do these sources compile, and evaluate with the sample data? */
export interface CheckRequest {
  readonly source: TemplateSource
  readonly sampleData?: JsonObject
}

/** What it found, `message` opening with the place as `template.tsx:3:7`. Nothing = fine. */
export interface CheckFault {
  readonly engine: Engine
  readonly message: string
}

/** Answers to checks, by the request's key. */
export type CheckAnswers = ReadonlyMap<string, readonly CheckFault[]>

/** The checks that compiling these templates needs the answers of, by key: equal requests have equal keys. */
export function checksOf(
  templates: readonly TemplateResource[],
  configMaps: ConfigMaps,
): ReadonlyMap<string, CheckRequest> {
  const checks = new Map<string, CheckRequest>()
  for (const template of templates) {
    const resolved = resolveSource(template, configMaps)
    if (!('source' in resolved)) continue
    const request = checkOf(template, resolved.source)
    checks.set(keyOf(request), request)
  }
  return checks
}

function checkOf({ spec }: TemplateResource, source: TemplateSource): CheckRequest {
  return { source, ...(spec.sampleData !== undefined && { sampleData: spec.sampleData }) }
}

function keyOf(request: CheckRequest): string {
  return sha256(canonicalJson(request))
}

interface TemplateInput {
  /** The oldest first. */
  readonly templates: readonly TemplateResource[]
  readonly tenants: TenantsByName
  readonly configMaps: ConfigMaps
  readonly checks: CheckAnswers
  readonly previous: InForce<Template>
  readonly previousSources: ReadonlyMap<TemplateDigest, TemplateSource>
}

interface CompiledTemplates {
  readonly outcomes: readonly TemplateOutcome[]
  /** The sources of everything in force. */
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
}

/**
 * The templates in force. A broken one leaves the last good one of the same resource in force, as long as nobody else has its
 * code by now; one whose tenant does not know it (any more) leaves nothing.
 */
export function compileTemplates(input: TemplateInput): CompiledTemplates {
  const claims = new Map<string, TemplateResource>()
  const judged = input.templates.map((resource) => judge(resource, input, claims))
  const taken = new Set(judged.flatMap(({ settings }) => (settings === undefined ? [] : [placeOf(settings)])))
  const sources = new Map<TemplateDigest, TemplateSource>()
  const outcomes = judged.map(({ resource, conditions, settings, source, lastGood }): TemplateOutcome => {
    const live = settings ?? (lastGood !== undefined && !taken.has(placeOf(lastGood)) ? lastGood : undefined)
    if (live === undefined) return { resource, conditions }
    taken.add(placeOf(live))
    const text = settings === undefined ? input.previousSources.get(live.digest) : source
    if (text !== undefined) sources.set(live.digest, text)
    return { resource, conditions, settings: live }
  })
  return { outcomes, sources }
}

interface Judgement extends TemplateOutcome {
  readonly source?: TemplateSource
  readonly lastGood?: Template
}

function judge(resource: TemplateResource, input: TemplateInput, claims: Map<string, TemplateResource>): Judgement {
  const found = findTenant(resource, input.tenants)
  if ('refusal' in found) return { resource, conditions: conditionsOf(resource, { needed: [found.refusal] }) }
  const accepted = claimCode(resource, claims)
  const resolved = resolveSource(resource, input.configMaps)
  const before = input.previous.get(resource.metadata.uid)?.settings
  const needed =
    'source' in resolved
      ? [accepted, holds('SourceResolved', 'SourceResolved'), examine(resource, resolved.source, { ...input, before })]
      : [accepted, resolved.refusal]
  const engines = enginesOf(resource)
  const engineAllowed = allowEngines(engines, found.tenant)
  // With another engine to offer, the template is ready all the same; the API answers 402 to who asks for html.
  const conditions =
    engines.length > 1
      ? conditionsOf(resource, { needed, told: [engineAllowed] })
      : conditionsOf(resource, { needed: [...needed, engineAllowed] })
  if (resource.spec.published === false) return { resource, conditions }
  if ('source' in resolved && needed.every(({ isTrue }) => isTrue))
    return { resource, conditions, source: resolved.source, settings: settingsOf(resource, resolved.source) }
  return { resource, conditions, ...(before?.tenant === found.tenant.id && { lastGood: before }) }
}

function claimCode(resource: TemplateResource, claims: Map<string, TemplateResource>): Finding {
  const place = placeOf({ tenant: tenantIdOf(resource), code: codeOf(resource) })
  const owner = claims.get(place)
  if (owner !== undefined)
    return fails(
      'Accepted',
      'CodeTaken',
      `${labelOf(owner)} is older and has the code ${codeOf(resource)}: choose another`,
    )
  claims.set(place, resource)
  return holds('Accepted', 'Accepted')
}

function examine(
  resource: TemplateResource,
  source: TemplateSource,
  { checks, before }: { checks: CheckAnswers; before: Template | undefined },
): Finding {
  const schemaFault = faultOfSchema(schemaOf(resource), before)
  if (schemaFault !== undefined) return fails('Compiled', 'SchemaInvalid', `variablesSchema: ${schemaFault}`)
  const faults = checks.get(keyOf(checkOf(resource, source)))
  if (faults === undefined) return fails('Compiled', 'NotChecked', 'the sources were not checked yet')
  if (faults.length > 0) return fails('Compiled', 'CompileError', faults.map(({ message }) => message).join('; '))
  return holds('Compiled', 'Compiled')
}

function faultOfSchema(schema: JsonObject, before: Template | undefined): string | undefined {
  // Compiling costs milliseconds, and of many templates few change at a time.
  if (before !== undefined && canonicalJson(schema) === canonicalJson(before.variablesSchema)) return undefined
  if (schema['type'] !== 'object') return 'needs type: object, as data is an object'
  try {
    compileVariablesSchema(schema)
    return undefined
  } catch (fault) {
    return fault instanceof Error ? fault.message : 'is no JSON Schema'
  }
}

function allowEngines(engines: readonly Engine[], { id, limits }: Tenant): Finding {
  return engines.includes('html') && !limits.htmlEngineEnabled
    ? fails(
        'EngineAllowed',
        'EngineNotInPlan',
        `the limits of Tenant ${id} have no htmlEngineEnabled: html renders are refused`,
      )
    : holds('EngineAllowed', 'EngineAllowed')
}

function settingsOf(resource: TemplateResource, source: TemplateSource): Template {
  const { engine } = resource.spec
  return {
    tenant: tenantIdOf(resource),
    code: source.code,
    name: source.name,
    version: source.version,
    ...(engine !== undefined && { engine }),
    variablesSchema: schemaOf(resource),
    digest: digestOf(source),
    engines: enginesOf(resource),
  }
}

function resolveSource(
  resource: TemplateResource,
  configMaps: ConfigMaps,
): { readonly source: TemplateSource } | { readonly refusal: Finding } {
  const { reactPdf, html, options = {}, version = 1, name = codeOf(resource) } = resource.spec
  const wanted = { reactPdf: reactPdf?.source, template: html?.template, header: html?.header, footer: html?.footer }
  const texts: { [Name in keyof typeof wanted]?: string } = {}
  for (const part of ['reactPdf', 'template', 'header', 'footer'] as const) {
    const spec = wanted[part]
    if (spec === undefined) continue
    const text = readSource(spec, { part, namespace: resource.metadata.namespace, configMaps })
    if (typeof text !== 'string') return { refusal: text }
    texts[part] = text
  }
  const { reactPdf: tsx, template, ...edges } = texts
  return {
    source: {
      code: codeOf(resource),
      name,
      version,
      ...(tsx !== undefined && { reactPdf: tsx }),
      ...(template !== undefined && { html: { template, ...edges, javascript: html?.javascript ?? false } }),
      options,
    },
  }
}

function readSource(
  { inline, configMapKeyRef: ref }: SourceSpec,
  { part, namespace, configMaps }: { part: string; namespace: string; configMaps: ConfigMaps },
): string | Finding {
  const refuse = (reason: Finding['reason'], message: string) => fails('SourceResolved', reason, message)
  const configMap = ref === undefined ? undefined : configMaps.get(`${namespace}/${ref.name}`)
  if (ref !== undefined && configMap === undefined)
    return refuse('ConfigMapNotFound', `there is no ConfigMap ${namespace}/${ref.name}`)
  const hasKey = ref === undefined || Object.hasOwn(configMap ?? {}, ref.key)
  const text = ref === undefined ? inline : configMap?.[ref.key]
  if (!hasKey || text === undefined)
    return refuse('KeyNotFound', `ConfigMap ${namespace}/${ref?.name} has no key ${ref?.key}`)
  if (text.trim() === '') return refuse('SourceEmpty', `the source of ${part} is empty`)
  const bytes = Buffer.byteLength(text)
  if (bytes > TEMPLATE_SOURCE_BYTES_MAX)
    return refuse(
      'SourceTooLarge',
      `the source of ${part} has ${bytes} bytes; at most ${TEMPLATE_SOURCE_BYTES_MAX} are taken`,
    )
  return text
}

function enginesOf({ spec }: TemplateResource): readonly Engine[] {
  return [...(spec.reactPdf ? (['react_pdf'] as const) : []), ...(spec.html ? (['html'] as const) : [])]
}

function schemaOf({ spec }: TemplateResource): JsonObject {
  return spec.variablesSchema ?? { type: 'object' }
}

function codeOf({ metadata, spec }: TemplateResource): TemplateCode {
  // Both spellings have passed the pattern of codes.
  return (spec.code ?? metadata.name) as TemplateCode
}

function tenantIdOf({ spec }: TemplateResource): TenantId {
  // A tenant's id is its resource's name.
  return spec.tenantRef.name as TenantId
}

function placeOf({ tenant, code }: Pick<Template, 'tenant' | 'code'>): string {
  return `${tenant}/${code}`
}

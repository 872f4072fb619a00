/** Templates in, what is listed and rendered of them out. */
import type { JsonObject } from '@platen/contract/brand.ts'
import type { Engine } from '@platen/contract/render-options.ts'
import type { TemplateResource } from '@platen/contract/resource.ts'
import type {
  Asset,
  AssetDigest,
  Template,
  TemplateDigest,
  TemplateSource,
  Tenant,
  TenantId,
} from '@platen/contract/tenant.ts'
import type { CompileResult, InForce } from './compile-result.ts'
import { conditionsOf, type Finding, fails, holds, labelOf } from './condition.ts'
import { canonicalJson, digestOf, sha256 } from './digest.ts'
import { type ConfigMaps, codeOf, type ResolvedSource, resolveSource, titleOf } from './source.ts'
import { findTenant, type TenantsByName } from './tenant.ts'

export type TemplateResult = CompileResult<TemplateResource, Template>

/** What the publish check is asked: is this a schema, and do these sources compile, and evaluate with the sample data? */
export interface CheckRequest {
  readonly source: TemplateSource
  readonly assets: readonly Asset[]
  /** Both as JSON: a text is handed to a thread in no time, and a megabyte of small values takes a fifth of a second. */
  readonly variablesSchema: string
  readonly sampleData?: string
}

/** What it found, `message` opening with the place as `template.tsx:3:7`. Nothing = fine. */
export interface CheckFault {
  /** Whose source it is in; absent = it is in the schema. */
  readonly engine?: Engine
  readonly message: string
}

/** Answers to checks, by the request's key. */
export type CheckFaults = ReadonlyMap<string, readonly CheckFault[]>

/** The checks that compiling these templates needs the answers of, by key: equal requests have equal keys. */
export function checkRequestsOf(
  templates: readonly TemplateResource[],
  configMaps: ConfigMaps,
): ReadonlyMap<string, CheckRequest> {
  const checks = new Map<string, CheckRequest>()
  for (const template of templates) {
    const resolved = resolveSource(template, configMaps)
    if (!('source' in resolved)) continue
    const request = checkRequestOf(template, resolved)
    checks.set(checkKeyOf(request), request)
  }
  return checks
}

function checkRequestOf(resource: TemplateResource, { source, assets }: ResolvedSource): CheckRequest {
  const { sampleData } = resource.spec
  const sample = sampleData && { sampleData: JSON.stringify(sampleData) }
  return { source, assets, variablesSchema: JSON.stringify(schemaOf(resource)), ...sample }
}

/** The bytes of the assets need not be looked at: the source names their digests. */
function checkKeyOf({ source, variablesSchema, sampleData }: CheckRequest): string {
  return sha256(canonicalJson({ source, variablesSchema, ...(sampleData !== undefined && { sampleData }) }))
}

interface TemplateInput {
  /** The oldest first. */
  readonly templates: readonly TemplateResource[]
  readonly tenants: TenantsByName
  readonly configMaps: ConfigMaps
  readonly checks: CheckFaults
  readonly previous: InForce<Template>
  readonly previousSources: ReadonlyMap<TemplateDigest, TemplateSource>
  readonly previousAssets: ReadonlyMap<AssetDigest, Uint8Array>
}

interface CompiledTemplates {
  readonly results: readonly TemplateResult[]
  /** The sources of everything in force. */
  readonly sources: ReadonlyMap<TemplateDigest, TemplateSource>
  /** Their assets; those of before a restart are left out. */
  readonly assets: ReadonlyMap<AssetDigest, Uint8Array>
}

/**
 * The templates in force. A broken one leaves the last good one of the same resource in force, as long as nobody else has its
 * code by now; one whose tenant does not know it (any more) leaves nothing.
 */
export function compileTemplates(input: TemplateInput): CompiledTemplates {
  const codeOwners = new Map<string, TemplateResource>()
  const compiled = input.templates.map((resource) => compileTemplate(resource, input, codeOwners))
  const taken = new Set(compiled.flatMap(({ settings }) => (settings === undefined ? [] : [qualifiedCodeOf(settings)])))
  const sources = new Map<TemplateDigest, TemplateSource>()
  const assets = new Map<AssetDigest, Uint8Array>()
  const results = compiled.map(({ resource, conditions, settings, resolved, lastGood }): TemplateResult => {
    const live = settings ?? (lastGood !== undefined && !taken.has(qualifiedCodeOf(lastGood)) ? lastGood : undefined)
    if (live === undefined) return { resource, conditions }
    taken.add(qualifiedCodeOf(live))
    const source = settings === undefined ? input.previousSources.get(live.digest) : resolved?.source
    if (source !== undefined) sources.set(live.digest, source)
    const found = new Map(resolved?.assets.map(({ digest, bytes }) => [digest, bytes]))
    for (const { digest } of source?.assets ?? []) {
      const bytes = found.get(digest) ?? input.previousAssets.get(digest)
      if (bytes !== undefined) assets.set(digest, bytes)
    }
    return { resource, conditions, settings: live }
  })
  return { results, sources, assets }
}

interface CompiledTemplate extends TemplateResult {
  readonly resolved?: ResolvedSource
  readonly lastGood?: Template
}

/** A defect met in one resource is told of that one, and touches no other. */
function compileTemplate(
  resource: TemplateResource,
  input: TemplateInput,
  codeOwners: Map<string, TemplateResource>,
): CompiledTemplate {
  try {
    return compileOrThrow(resource, input, codeOwners)
  } catch (cause) {
    const message = `it could not be compiled: ${cause instanceof Error ? cause.message : 'it failed'}`
    const lastGood = input.previous.get(resource.metadata.uid)?.settings
    const conditions = conditionsOf(resource, { needed: [fails('Compiled', 'CompileError', message)] })
    return { resource, conditions, ...(lastGood !== undefined && { lastGood }) }
  }
}

function compileOrThrow(
  resource: TemplateResource,
  input: TemplateInput,
  codeOwners: Map<string, TemplateResource>,
): CompiledTemplate {
  const found = findTenant(resource, input.tenants)
  if ('refusal' in found) return { resource, conditions: conditionsOf(resource, { needed: [found.refusal] }) }
  const accepted = requireUniqueCode(resource, codeOwners)
  const resolved = resolveSource(resource, input.configMaps)
  const before = input.previous.get(resource.metadata.uid)?.settings
  const needed =
    'source' in resolved
      ? [accepted, holds('SourceResolved', 'SourceResolved'), checkFinding(resource, resolved, input.checks)]
      : [accepted, resolved.refusal]
  const engines = enginesOf(resource)
  const engineAllowed = allowEngines(resource, found.tenant)
  // With another engine to offer, the template is ready all the same; the API answers 402 to who asks for html.
  const isNeeded = engines.length === 1 && engineAllowed.reason === 'EngineNotInPlan'
  const conditions = isNeeded
    ? conditionsOf(resource, { needed: [...needed, engineAllowed] })
    : conditionsOf(resource, { needed, told: [engineAllowed] })
  if (resource.spec.published === false) return { resource, conditions }
  if ('source' in resolved && needed.every(({ isTrue }) => isTrue))
    return { resource, conditions, resolved, settings: settingsOf(resource, digestOf(resolved.source)) }
  return { resource, conditions, ...(before?.tenant === found.tenant.id && { lastGood: before }) }
}

function requireUniqueCode(resource: TemplateResource, owners: Map<string, TemplateResource>): Finding {
  const code = requestedCodeOf(resource)
  const owner = owners.get(code)
  if (owner !== undefined)
    return fails(
      'Accepted',
      'CodeTaken',
      `${labelOf(owner)} is older and has the code ${codeOf(resource)}: choose another`,
    )
  owners.set(code, resource)
  return holds('Accepted', 'Accepted')
}

function checkFinding(resource: TemplateResource, resolved: ResolvedSource, checks: CheckFaults): Finding {
  const faults = checks.get(checkKeyOf(checkRequestOf(resource, resolved)))
  if (faults === undefined) return fails('Compiled', 'NotChecked', 'the template was not checked yet')
  const schemaFault = faults.find(({ engine }) => engine === undefined)
  if (schemaFault !== undefined) return fails('Compiled', 'SchemaInvalid', `variablesSchema: ${schemaFault.message}`)
  if (faults.length > 0) return fails('Compiled', 'CompileError', faults.map(({ message }) => message).join('; '))
  return holds('Compiled', 'Compiled')
}

function allowEngines({ spec }: TemplateResource, { id, limits }: Tenant): Finding {
  if (spec.html !== undefined && !limits.htmlEngineEnabled)
    return fails(
      'EngineAllowed',
      'EngineNotInPlan',
      `the limits of Tenant ${id} have no htmlEngineEnabled: html renders are refused with 402`,
    )
  if (spec.html?.javascript === true && !limits.javascriptEnabled)
    return fails(
      'EngineAllowed',
      'JavaScriptNotInPlan',
      `the limits of Tenant ${id} have no javascriptEnabled: the template's page JavaScript is not run`,
    )
  return holds('EngineAllowed', 'EngineAllowed')
}

/** What a template comes to that is sound, with the digest of its source. */
export function settingsOf(resource: TemplateResource, digest: TemplateDigest): Template {
  const { engine } = resource.spec
  return {
    tenant: tenantIdOf(resource),
    ...titleOf(resource),
    ...(engine !== undefined && { engine }),
    variablesSchema: schemaOf(resource),
    digest,
    engines: enginesOf(resource),
  }
}

function enginesOf({ spec }: TemplateResource): readonly Engine[] {
  return [...(spec.reactPdf ? (['react_pdf'] as const) : []), ...(spec.html ? (['html'] as const) : [])]
}

function schemaOf({ spec }: TemplateResource): JsonObject {
  return spec.variablesSchema ?? { type: 'object' }
}

function tenantIdOf({ spec }: TemplateResource): TenantId {
  // A tenant's id is its resource's name.
  return spec.tenantRef.name as TenantId
}

/** The place a template asks for. */
export function requestedCodeOf(resource: TemplateResource): string {
  return qualifiedCodeOf({ tenant: tenantIdOf(resource), code: codeOf(resource) })
}

/** What only one template can have. */
export function qualifiedCodeOf({ tenant, code }: Pick<Template, 'tenant' | 'code'>): string {
  return `${tenant}/${code}`
}

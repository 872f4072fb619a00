/** Compiles templates to what the API lists and what renderers use. */

import { templateSpecDefaults } from '@platen/contract/domain/crd/template.ts'
import { SAMPLE_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { TemplateResource, Uid } from '@platen/contract/domain/resource.ts'
import type { TemplateSpec } from '@platen/contract/domain/resource-spec.ts'
import { ENGINE_VALUES } from '@platen/contract/domain/resource-value.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/domain/template-check.ts'
import {
  type Asset,
  type AssetDigest,
  TEMPLATES_MAX,
  type Template,
  type TemplateDigest,
  type Tenant,
  type TenantId,
} from '@platen/contract/domain/tenant.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import type { CompileResult, InForce } from './compile-result.ts'
import { conditionsOf, type Finding, fails, holds, labelOf } from './condition.ts'
import { canonicalJson, digestOf, sha256 } from './digest.ts'
import { type ConfigMaps, codeOf, type ResolvedSource, resolveSource, titleOf } from './source.ts'
import { findTenant, type TenantsByName } from './tenant.ts'

export type TemplateResult = CompileResult<TemplateResource, Template>

/** By the request's key. */
export type CheckFaults = ReadonlyMap<string, readonly CheckFault[]>

/** Checks to be answered before these templates compile, by key. Equal requests have equal keys. */
export function checkRequestsOf(
  templates: readonly TemplateResource[],
  configMaps: ConfigMaps,
): ReadonlyMap<string, CheckRequest> {
  const checks = new Map<string, CheckRequest>()
  for (const template of templates) {
    const { digested, request } = digestSource(template, configMaps)
    if ('checkKey' in digested && request !== undefined) checks.set(digested.checkKey, request)
  }
  return checks
}

/** All that compiling needs of sources and assets, so that nobody has to keep them. */
type DigestedSource = { readonly digest: TemplateDigest; readonly checkKey: string } | { readonly refusal: Finding }

/** Of one generation of a template. */
export type PreparedSource = DigestedSource & { readonly generation: number }

/** Without a request, the sources are refused. */
export function digestSource(
  template: TemplateResource,
  configMaps: ConfigMaps,
): { readonly digested: DigestedSource; readonly request?: CheckRequest } {
  const resolved = resolveSource(template, configMaps)
  if (!('source' in resolved)) return { digested: resolved }
  const request = checkRequestOf(template, resolved)
  return { digested: { digest: digestOf(resolved.source), checkKey: checkKeyOf(request) }, request }
}

function checkRequestOf(resource: TemplateResource, { source, assets }: ResolvedSource): CheckRequest {
  const { sampleData } = resource.spec
  const sample = sampleData && { sampleData: JSON.stringify(sampleData) }
  return { source, assets, variablesSchema: JSON.stringify(schemaOf(resource)), ...sample }
}

/** The source has the digests of its assets, so their bytes are not needed. */
function checkKeyOf({ source, variablesSchema, sampleData }: CheckRequest): string {
  return sha256(canonicalJson({ source, variablesSchema, ...(sampleData !== undefined && { sampleData }) }))
}

interface TemplateInput {
  /** The oldest first. */
  readonly templates: readonly TemplateResource[]
  readonly tenants: TenantsByName
  /** Whether the template is among the `withinLimit` of its tenant. */
  readonly isWithinLimit: (resource: TemplateResource) => boolean
  readonly configMaps: ConfigMaps
  /** Sources that were read before; these templates need no ConfigMaps. */
  readonly prepared?: ReadonlyMap<Uid, PreparedSource>
  readonly checks: CheckFaults
  readonly previous: Pick<InForce<Template>, 'get'>
}

/**
 * The templates in force. A broken template keeps its last good version, unless another template has its code by now. Nothing is in force
 * of a template whose tenant does not list its namespace (any more).
 */
export function compileTemplates(input: TemplateInput): readonly TemplateResult[] {
  const codeOwners = new Map<string, TemplateResource>()
  const compiled = input.templates.map((resource) => compileTemplate(resource, input, codeOwners))
  const taken = new Set(compiled.flatMap(({ settings }) => (settings === undefined ? [] : [qualifiedCodeOf(settings)])))
  return compiled.map(({ resource, conditions, settings, lastGood }): TemplateResult => {
    const live = settings ?? (lastGood !== undefined && !taken.has(qualifiedCodeOf(lastGood)) ? lastGood : undefined)
    if (live === undefined) return { resource, conditions }
    taken.add(qualifiedCodeOf(live))
    return { resource, conditions, settings: live }
  })
}

interface CompiledTemplate extends TemplateResult {
  readonly lastGood?: Template
}

/** A defect that one resource triggers is reported at that resource, and affects no other. */
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
  if (!input.isWithinLimit(resource))
    return { resource, conditions: conditionsOf(resource, { needed: [tooManyTemplates(found.tenant)] }) }
  const accepted = requireUniqueCode(resource, codeOwners)
  const digested = preparedSource(resource, input)
  const before = input.previous.get(resource.metadata.uid)?.settings
  const needed =
    'digest' in digested
      ? [accepted, holds('SourceResolved', 'SourceResolved'), checkFinding(digested.checkKey, input.checks)]
      : [accepted, digested.refusal]
  const engines = enginesOf(resource)
  const engineAllowed = allowEngines(resource, found.tenant)
  // A template with another engine is ready anyway. The API answers 402 to requests for html.
  const isNeeded = engines.length === 1 && engineAllowed.reason === 'EngineNotInPlan'
  const conditions = isNeeded
    ? conditionsOf(resource, { needed: [...needed, engineAllowed] })
    : conditionsOf(resource, { needed, informational: [engineAllowed] })
  if (resource.spec.published === false) return { resource, conditions }
  if ('digest' in digested && needed.every(({ isTrue }) => isTrue))
    return { resource, conditions, settings: settingsOf(resource, digested.digest) }
  return { resource, conditions, ...(before?.tenant === found.tenant.id && { lastGood: before }) }
}

function preparedSource(resource: TemplateResource, { prepared, configMaps }: TemplateInput): DigestedSource {
  const { uid, generation } = resource.metadata
  const digested = prepared?.get(uid)
  return digested?.generation === generation ? digested : digestSource(resource, configMaps).digested
}

function tooManyTemplates({ id }: Tenant): Finding {
  const message = `Tenant ${id} has ${TEMPLATES_MAX} older Templates, as many as are allowed: remove one of them`
  return fails('Accepted', 'TooManyTemplates', message)
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

function checkFinding(checkKey: string, checks: CheckFaults): Finding {
  const answer = checks.get(checkKey)
  const faults = answer?.filter(({ isWarning }) => isWarning !== true)
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
  if (spec.html?.javascriptEnabled === true && !limits.javascriptEnabled)
    return fails(
      'EngineAllowed',
      'JavaScriptNotInPlan',
      `the limits of Tenant ${id} have no javascriptEnabled: the template's page JavaScript is not run`,
    )
  return holds('EngineAllowed', 'EngineAllowed')
}

export function settingsOf(resource: TemplateResource, digest: TemplateDigest): Template {
  const sample = sampleOf(resource)
  return {
    tenant: tenantIdOf(resource),
    ...titleOf(resource),
    engine: ENGINE_VALUES[defaultEngineOf(resource)],
    variablesSchema: schemaOf(resource),
    digest,
    ...(resource.spec.strict === true && { strict: true }),
    engines: enginesOf(resource),
    ...(sample !== undefined && { sample: sample.digest }),
  }
}

/** Sample data that callers may see, stored as an asset. */
export function sampleOf({ spec }: TemplateResource): Omit<Asset, 'name'> | undefined {
  if (spec.sampleData === undefined) return undefined
  const bytes = Buffer.from(canonicalJson(spec.sampleData))
  // `AssetDigest` is defined as lower-case hex SHA-256.
  return bytes.byteLength > SAMPLE_BYTES_MAX ? undefined : { bytes, digest: sha256(bytes) as AssetDigest }
}

export function enginesOf({ spec }: TemplateResource): readonly Engine[] {
  return [...(spec.reactPdf ? (['react_pdf'] as const) : []), ...(spec.html ? (['html'] as const) : [])]
}

/** For requests that name none, as a resource spells it. */
export function defaultEngineOf({ spec }: TemplateResource): NonNullable<TemplateSpec['engine']> {
  return spec.engine ?? templateSpecDefaults.engine
}

function schemaOf({ spec }: TemplateResource): JsonObject {
  return spec.variablesSchema ?? { type: 'object' }
}

function tenantIdOf({ spec }: TemplateResource): TenantId {
  // A tenant's id is its resource's name.
  return spec.tenantRef.name as TenantId
}

export function requestedCodeOf(resource: TemplateResource): string {
  return qualifiedCodeOf({ tenant: tenantIdOf(resource), code: codeOf(resource) })
}

export function qualifiedCodeOf({ tenant, code }: Pick<Template, 'tenant' | 'code'>): string {
  return `${tenant}/${code}`
}

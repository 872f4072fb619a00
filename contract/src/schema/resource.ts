/**
 * The manifests of the four kinds, and of the ConfigMaps and Secrets that may stand beside them. What a spec may hold is defined in
 * `crds`, and made into `../crd`. Unknown fields are refused, as a misspelt limit that is silently ignored is a limit
 * nobody has. Limits carry no defaults: `compile` applies those of `tenant.ts`.
 */
import type { FromSchema } from 'json-schema-to-ts'
import type { JsonObject } from '../brand.ts'
import { type ApiKeySpec, apiKeySpecSchema } from '../crd/api-key.ts'
import { type PlanSpec, planSpecSchema } from '../crd/plan.ts'
import { type TemplateSpec as DefinedTemplateSpec, templateSpecSchema } from '../crd/template.ts'
import { type TenantSpec, tenantSpecSchema } from '../crd/tenant.ts'
import type { ErrorDetail } from '../error.ts'
import { renderOptionsSchema } from './render-request.ts'
import { brokenRules } from './resource-rule.ts'
import { compileValidator } from './validator.ts'

const API_VERSION = 'platen.dev/v1alpha1'

/** The kinds of `API_VERSION`. */
export type Kind = 'Plan' | 'Tenant' | 'Template' | 'ApiKey'

/** Names of Kubernetes' stricter kind, as tenants and namespaces have, and of the other. It checks those of resources by itself. */
const labelName = { type: 'string', maxLength: 63, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' } as const
const subdomainName = {
  type: 'string',
  maxLength: 253,
  pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
} as const

const { filename: _filename, ...templateOptions } = renderOptionsSchema.properties

/** The options of a request but for the name of the file. A definition for Kubernetes cannot say what is a text or a mapping. */
const optionsSchema = { type: 'object', additionalProperties: false, properties: templateOptions } as const

const templateSpec = {
  ...templateSpecSchema,
  properties: { ...templateSpecSchema.properties, options: optionsSchema },
} as const

/** What `spec` of each kind may hold. */
export const SPEC_SCHEMAS = {
  Plan: planSpecSchema,
  Tenant: tenantSpecSchema,
  Template: templateSpec,
  ApiKey: apiKeySpecSchema,
} as const

export type { ApiKeySpec, ApiKeyStatus } from '../crd/api-key.ts'
export type { PlanSpec, PlanStatus } from '../crd/plan.ts'
export type { TemplateStatus } from '../crd/template.ts'
export type { TenantSpec, TenantStatus } from '../crd/tenant.ts'
export type TemplateSpec = Omit<DefinedTemplateSpec, 'options'> & {
  readonly options?: FromSchema<typeof optionsSchema>
}
/** A text, or where it stands; exactly one. */
export type SourceSpec = NonNullable<TemplateSpec['reactPdf']>['source']

const strings = { type: 'object', additionalProperties: { type: 'string' } } as const

const clusterMetadata = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: labelName, labels: strings, annotations: strings },
} as const

const namespacedMetadata = {
  ...clusterMetadata,
  properties: { ...clusterMetadata.properties, name: subdomainName, namespace: labelName },
} as const

const SHAPES = {
  Plan: resourceShape(
    'Plan',
    { ...clusterMetadata, properties: { ...clusterMetadata.properties, name: subdomainName } },
    planSpecSchema,
  ),
  Tenant: resourceShape('Tenant', clusterMetadata, tenantSpecSchema),
  Template: resourceShape('Template', namespacedMetadata, templateSpec),
  ApiKey: resourceShape('ApiKey', namespacedMetadata, apiKeySpecSchema),
  ConfigMap: coreShape('ConfigMap', { data: strings, binaryData: strings, immutable: { type: 'boolean' } }),
  Secret: coreShape('Secret', {
    data: strings,
    stringData: strings,
    type: { type: 'string' },
    immutable: { type: 'boolean' },
  }),
} as const satisfies Record<Kind | 'ConfigMap' | 'Secret', object>

function resourceShape(kind: Kind, metadata: object, spec: object): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: { apiVersion: { enum: [API_VERSION] }, kind: { enum: [kind] }, metadata, spec },
  }
}

function coreShape(kind: 'ConfigMap' | 'Secret', fields: object): object {
  return {
    type: 'object',
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata'],
    properties: { apiVersion: { enum: ['v1'] }, kind: { enum: [kind] }, metadata: namespacedMetadata, ...fields },
  }
}

interface WrittenMetadata {
  readonly name: string
  readonly namespace?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** A manifest as it was written: valid by itself; whether it fits the others, `compile` says. */
export type Written =
  | { readonly kind: 'Plan'; readonly metadata: WrittenMetadata; readonly spec: PlanSpec }
  | { readonly kind: 'Tenant'; readonly metadata: WrittenMetadata; readonly spec: TenantSpec }
  | { readonly kind: 'Template'; readonly metadata: WrittenMetadata; readonly spec: TemplateSpec }
  | { readonly kind: 'ApiKey'; readonly metadata: WrittenMetadata; readonly spec: ApiKeySpec }
  | {
      readonly kind: 'ConfigMap'
      readonly metadata: WrittenMetadata
      readonly data?: Readonly<Record<string, string>>
      /** Base64. */
      readonly binaryData?: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'Secret'
      readonly metadata: WrittenMetadata
      /** Base64. */
      readonly data?: Readonly<Record<string, string>>
      /** As it is; goes before `data` of the same key. */
      readonly stringData?: Readonly<Record<string, string>>
    }

export type WrittenKind = Written['kind']

export type ReadResource = (
  value: JsonObject,
) => { readonly written: Written } | { readonly faults: readonly ErrorDetail[] }

/** Makes the reader of manifests; the schemas are compiled once, here. Faults carry JSON pointers and never a value. */
export function resourceReader(): ReadResource {
  const validators = new Map(Object.entries(SHAPES).map(([kind, shape]) => [kind, compileValidator(shape)]))
  return (value) => {
    const kind = value['kind']
    const validate = typeof kind === 'string' ? validators.get(kind) : undefined
    if (validate === undefined)
      return { faults: [{ path: '/kind', message: `must be one of ${[...validators.keys()].join(', ')}` }] }
    const faults = validate(value)
    if (faults.length > 0) return { faults }
    // Its kind's schema has just said so.
    const written = value as unknown as Written
    const broken = brokenRules(written)
    return broken.length > 0 ? { faults: broken } : { written }
  }
}

/**
 * Manifests of the four kinds, and of the ConfigMaps and Secrets beside them. `../crd` is generated from `crds`, which defines each spec.
 * Unknown fields are refused, because a misspelt limit that is silently ignored limits nobody. Limits have no defaults here: `compile`
 * applies those of `tenant.ts`.
 */
import { type ApiKeySpec, apiKeySpecSchema } from './crd/api-key.ts'
import { type PlanSpec, planSpecSchema } from './crd/plan.ts'
import { type TemplateSpec as DefinedTemplateSpec, templateSpecSchema } from './crd/template.ts'
import { type TenantSpec, tenantSpecSchema } from './crd/tenant.ts'
import { type TemplateOptions, templateOptionsSchema } from './render-options.ts'

export type Kind = 'Plan' | 'Tenant' | 'Template' | 'ApiKey'

/** A Kubernetes definition cannot say that a field is a text or a mapping, so the options are not made from it. */
const templateSpec = {
  ...templateSpecSchema,
  properties: { ...templateSpecSchema.properties, options: templateOptionsSchema },
} as const

export const SPEC_SCHEMAS = {
  Plan: planSpecSchema,
  Tenant: tenantSpecSchema,
  Template: templateSpec,
  ApiKey: apiKeySpecSchema,
} as const

export type { ApiKeySpec, ApiKeyStatus } from './crd/api-key.ts'
export type { PlanSpec, PlanStatus } from './crd/plan.ts'
export type { SourceSpec, TemplateStatus } from './crd/template.ts'
export type { TenantSpec, TenantStatus } from './crd/tenant.ts'
export type TemplateSpec = Omit<DefinedTemplateSpec, 'options'> & {
  readonly options?: TemplateOptions
}

interface ManifestMetadata {
  readonly name: string
  readonly namespace?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** Valid by itself; `compile` decides whether it fits the others. */
export type ResourceManifest =
  | { readonly kind: 'Plan'; readonly metadata: ManifestMetadata; readonly spec: PlanSpec }
  | { readonly kind: 'Tenant'; readonly metadata: ManifestMetadata; readonly spec: TenantSpec }
  | { readonly kind: 'Template'; readonly metadata: ManifestMetadata; readonly spec: TemplateSpec }
  | { readonly kind: 'ApiKey'; readonly metadata: ManifestMetadata; readonly spec: ApiKeySpec }
  | {
      readonly kind: 'ConfigMap'
      readonly metadata: ManifestMetadata
      readonly data?: Readonly<Record<string, string>>
      /** Base64. */
      readonly binaryData?: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'Secret'
      readonly metadata: ManifestMetadata
      /** Base64. */
      readonly data?: Readonly<Record<string, string>>
      /** Plain text. Takes precedence over `data` of the same key. */
      readonly stringData?: Readonly<Record<string, string>>
    }

/** Requests a new webhook secret for a Tenant: any RFC 3339 time that was not requested before. */
export const ROTATE_ANNOTATION = 'platen.dev/rotate-webhook-secret'
export const ROTATE_POINTER = `/metadata/annotations/${ROTATE_ANNOTATION.replace('/', '~1')}`
/** Requests a new key for an ApiKey in the same way; in a cluster only. */
export const ROTATE_KEY_ANNOTATION = 'platen.dev/rotate'

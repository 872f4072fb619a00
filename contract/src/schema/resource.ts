/**
 * The manifests of the four kinds, and of the ConfigMaps and Secrets that may stand beside them. What a spec may hold is defined in
 * `crds`, and made into `../crd`. Unknown fields are refused, as a misspelt limit that is silently ignored is a limit
 * nobody has. Limits carry no defaults: `compile` applies those of `tenant.ts`.
 */
import type { FromSchema } from 'json-schema-to-ts'
import { type ApiKeySpec, apiKeySpecSchema } from '../crd/api-key.ts'
import { type PlanSpec, planSpecSchema } from '../crd/plan.ts'
import { type TemplateSpec as DefinedTemplateSpec, templateSpecSchema } from '../crd/template.ts'
import { type TenantSpec, tenantSpecSchema } from '../crd/tenant.ts'
import { renderOptionsSchema } from './render-request.ts'

/** The kinds of `platen.dev/v1alpha1`. */
export type Kind = 'Plan' | 'Tenant' | 'Template' | 'ApiKey'

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

interface ManifestMetadata {
  readonly name: string
  readonly namespace?: string
  readonly annotations?: Readonly<Record<string, string>>
}

/** A manifest as it was written: valid by itself; whether it fits the others, `compile` says. */
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
      /** As it is; goes before `data` of the same key. */
      readonly stringData?: Readonly<Record<string, string>>
    }

export type ManifestKind = ResourceManifest['kind']

/** The annotation of a Tenant by which a new webhook secret is asked for: any time that was not asked for before, in RFC 3339. */
export const ROTATE_ANNOTATION = 'platen.dev/rotate-webhook-secret'
/** Where it stands in a manifest, as a JSON pointer. */
export const ROTATE_POINTER = `/metadata/annotations/${ROTATE_ANNOTATION.replace('/', '~1')}`
/** The annotation of an ApiKey by which a new key is asked for, likewise; in a cluster only. */
export const ROTATE_KEY_ANNOTATION = 'platen.dev/rotate'

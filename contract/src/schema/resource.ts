/**
 * The manifests of the four kinds, and of the ConfigMaps and Secrets that may stand beside them. Unknown fields are refused, as a
 * misspelt limit that is silently ignored is a limit nobody has. Limits carry no defaults: `compile` applies those of `tenant.ts`.
 */
import type { FromSchema } from 'json-schema-to-ts'
import type { JsonObject } from '../brand.ts'
import type { ErrorDetail } from '../error.ts'
import { TEMPLATE_CODE_CHARS_MAX, TEMPLATE_SOURCE_BYTES_MAX } from '../limit.ts'
import { ENGINES } from '../render.ts'
import { renderOptionsSchema, TEMPLATE_CODE_PATTERN } from './render-request.ts'
import { brokenRules } from './resource-rule.ts'
import { compileValidator } from './validator.ts'

const API_VERSION = 'platen.dev/v1alpha1'

/** The kinds of `API_VERSION`. */
export type Kind = 'Plan' | 'Tenant' | 'Template' | 'ApiKey'

const RATE_MAX = 1_000_000
const QUOTA_MAX = 1_000_000_000_000

const LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'
const SUBDOMAIN = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'

/** A name of Kubernetes' stricter kind: what tenants and namespaces have. */
const labelName = { type: 'string', maxLength: 63, pattern: LABEL } as const
const subdomainName = { type: 'string', maxLength: 253, pattern: SUBDOMAIN } as const
/** A key of a ConfigMap or Secret. */
const dataKey = { type: 'string', maxLength: 253, pattern: '^[-._a-zA-Z0-9]+$' } as const
const text = { type: 'string', maxLength: 500 } as const
const rate = { type: 'integer', minimum: 0, maximum: RATE_MAX } as const

const limits = {
  htmlEngineEnabled: { type: 'boolean' },
  htmlEngineRenderMultiplier: { type: 'integer', minimum: 1, maximum: 1000 },
  htmlRateLimitPerMinute: rate,
  rateLimitPerMinute: rate,
  syncRateLimitPerMinute: rate,
  asyncRateLimitPerMinute: rate,
  renderLimitMonthly: { type: 'integer', minimum: 0, maximum: QUOTA_MAX },
  renderTimeoutSeconds: { type: 'integer', minimum: 1, maximum: 120 },
  retentionDays: { type: 'integer', minimum: 1, maximum: 3650 },
  asyncFairShare: { type: 'integer', minimum: 1, maximum: 10_000 },
  javascriptEnabled: { type: 'boolean' },
} as const

const planSpec = {
  type: 'object',
  additionalProperties: false,
  properties: { displayName: text, ...limits },
} as const

const tenantSpec = {
  type: 'object',
  additionalProperties: false,
  required: ['planRef'],
  properties: {
    planRef: {
      type: 'object',
      additionalProperties: false,
      required: ['name'],
      properties: { name: subdomainName },
    },
    displayName: text,
    suspended: { type: 'boolean' },
    suspendedReason: text,
    overrides: { type: 'object', additionalProperties: false, minProperties: 1, properties: limits },
    namespaces: { type: 'array', maxItems: 64, uniqueItems: true, items: labelName },
    storage: {
      type: 'object',
      additionalProperties: false,
      properties: {
        bucket: { type: 'string', pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$' },
        prefix: {
          type: 'string',
          maxLength: 256,
          // Names joined by slashes that every artifact store can hold (`isArtifactAddress`), and a slash at the end.
          pattern: '^([A-Za-z0-9_-][A-Za-z0-9._-]*/)+$',
        },
      },
    },
    webhooks: {
      type: 'object',
      additionalProperties: false,
      properties: {
        allowCidrs: { type: 'array', maxItems: 32, uniqueItems: true, items: { type: 'string', maxLength: 43 } },
      },
    },
    webhookSecretRef: {
      type: 'object',
      additionalProperties: false,
      required: ['namespace', 'name', 'key'],
      properties: { namespace: labelName, name: subdomainName, key: dataKey },
    },
    deletionPolicy: { type: 'string', enum: ['Retain', 'Delete'] },
  },
} as const

const tenantRef = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: { name: labelName },
} as const

const configMapKeyRef = {
  type: 'object',
  additionalProperties: false,
  required: ['name', 'key'],
  properties: { name: subdomainName, key: dataKey },
} as const

const source = {
  type: 'object',
  additionalProperties: false,
  minProperties: 1,
  maxProperties: 1,
  properties: {
    inline: { type: 'string', minLength: 1, maxLength: TEMPLATE_SOURCE_BYTES_MAX },
    configMapKeyRef,
  },
} as const

/** A file beside the sources, which call it `asset:<name>`. */
const asset = {
  type: 'object',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', maxLength: 63, pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' },
    inline: {
      type: 'string',
      minLength: 4,
      maxLength: TEMPLATE_SOURCE_BYTES_MAX,
      pattern: '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$',
    },
    configMapKeyRef,
  },
} as const

const font = {
  type: 'object',
  additionalProperties: false,
  required: ['family', 'asset'],
  properties: {
    family: { type: 'string', minLength: 1, maxLength: 100 },
    weight: { type: 'integer', minimum: 1, maximum: 1000 },
    style: { type: 'string', enum: ['normal', 'italic'] },
    asset: asset.properties.name,
  },
} as const

const { filename: _filename, ...templateOptions } = renderOptionsSchema.properties

const templateSpec = {
  type: 'object',
  additionalProperties: false,
  required: ['tenantRef'],
  properties: {
    tenantRef,
    code: { type: 'string', maxLength: TEMPLATE_CODE_CHARS_MAX, pattern: TEMPLATE_CODE_PATTERN },
    name: { type: 'string', minLength: 1, maxLength: 200 },
    version: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    published: { type: 'boolean' },
    engine: { type: 'string', enum: ENGINES },
    variablesSchema: { type: 'object' },
    reactPdf: { type: 'object', additionalProperties: false, required: ['source'], properties: { source } },
    html: {
      type: 'object',
      additionalProperties: false,
      required: ['template'],
      properties: { template: source, header: source, footer: source, javascript: { type: 'boolean' } },
    },
    options: { type: 'object', additionalProperties: false, properties: templateOptions },
    // BCP 47; whether it is one, a rule says.
    locale: { type: 'string', minLength: 2, maxLength: 35, pattern: '^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$' },
    assets: { type: 'array', maxItems: 64, items: asset },
    fonts: { type: 'array', maxItems: 64, items: font },
    egress: {
      type: 'object',
      additionalProperties: false,
      properties: { allowedHosts: { type: 'array', maxItems: 32, uniqueItems: true, items: subdomainName } },
    },
    sampleData: { type: 'object' },
  },
} as const

const apiKeySpec = {
  type: 'object',
  additionalProperties: false,
  required: ['tenantRef'],
  properties: {
    tenantRef,
    environment: { type: 'string', enum: ['live', 'test'] },
    secretName: subdomainName,
    sha256: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$' },
    description: text,
    // The pattern leaves out what RFC 3339 allows and JavaScript cannot read: lower case, spaces, leap seconds.
    expiresAt: { type: 'string', format: 'date-time', pattern: '^[0-9-]{10}T[0-9:]{6}[0-5][0-9][0-9.:Z+-]*$' },
    suspended: { type: 'boolean' },
    overlapHours: { type: 'integer', minimum: 0, maximum: 720 },
  },
} as const

/** What `spec` of each kind may hold. */
export const SPEC_SCHEMAS = { Plan: planSpec, Tenant: tenantSpec, Template: templateSpec, ApiKey: apiKeySpec } as const

export type PlanSpec = FromSchema<typeof planSpec>
export type TenantSpec = FromSchema<typeof tenantSpec>
export type ApiKeySpec = FromSchema<typeof apiKeySpec>
/** A text, or where it stands; exactly one. */
export type SourceSpec = FromSchema<typeof source>
/** Free-form objects are JSON: they came out of a manifest. */
export type TemplateSpec = Omit<FromSchema<typeof templateSpec>, 'variablesSchema' | 'sampleData'> & {
  readonly variablesSchema?: JsonObject
  readonly sampleData?: JsonObject
}

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
    planSpec,
  ),
  Tenant: resourceShape('Tenant', clusterMetadata, tenantSpec),
  Template: resourceShape('Template', namespacedMetadata, templateSpec),
  ApiKey: resourceShape('ApiKey', namespacedMetadata, apiKeySpec),
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

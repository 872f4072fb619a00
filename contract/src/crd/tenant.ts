/** Made from `crds/tenant.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */
import type { PlanSpec, StatusCondition } from './plan.ts'

/** The plan of the tenant, what differs from it, and who may speak for the tenant. */
export interface TenantSpec {
  /** The plan whose limits the tenant has. When the plan goes, the last limits stay in force. */
  readonly planRef: {
    /** Name of the Plan. */
    readonly name: string
  }
  /** For people to read. */
  readonly displayName?: string
  /** Are new renders answered 402, and queued ones failed with tenant_suspended? What is finished can be fetched. False if absent. */
  readonly suspended?: boolean
  /** Why, in the answer and in the condition. */
  readonly suspendedReason?: string
  /** Limits of this tenant alone, laid over those of the plan; at least one. */
  readonly overrides?: Omit<PlanSpec, 'displayName'>
  /** The namespaces whose Templates and ApiKeys may name this tenant. None if absent. */
  readonly namespaces?: readonly string[]
  /** Where the tenant's PDFs go. A change is for new renders, and what was stored before is found where it is. */
  readonly storage?: {
    /** Name of the bucket. The service's own if absent. */
    readonly bucket?: string
    /** What the keys of its PDFs begin with; equal to, inside or around no other tenant's. The tenant's name and a slash if absent. */
    readonly prefix?: string
  }
  /** What is special about the webhooks of this tenant. */
  readonly webhooks?: {
    /** Networks that may receive webhooks of this tenant though they are not public, those of cloud metadata aside. */
    readonly allowCidrs?: readonly string[]
  }
  /** Where the secret stands that signs the tenant's webhooks. One is made if absent. */
  readonly webhookSecretRef?: {
    /** Namespace of the Secret. */
    readonly namespace: string
    /** Name of the Secret. */
    readonly name: string
    /** Which of its values. */
    readonly key: string
  }
  /** What happens to the tenant's PDFs when it is removed. Retain if absent. */
  readonly deletionPolicy?: 'Retain' | 'Delete'
}

/** What the operator did about this tenant. */
export interface TenantStatus {
  /** The generation of the spec that this status is about. */
  readonly observedGeneration?: number
  /** The limits in force, those of the plan overlaid with the overrides. One that is absent is without a limit where its description names no other. */
  readonly effective?: Omit<PlanSpec, 'displayName'>
  /** The settings of this tenant that the API pods were last given. */
  readonly published?: {
    /** The revision of the directory that brought them. */
    readonly revision: number
    /** Lower-case hexadecimal SHA-256 of the settings. */
    readonly digest: string
    /** When they were published. */
    readonly at: string
  }
  /** How many Templates name this tenant. */
  readonly templates?: number
  /** How many ApiKeys name this tenant. */
  readonly apiKeys?: number
  /** Where the secret stands that signs the tenant's webhooks. */
  readonly webhookSecret?: {
    /** Namespace of the Secret. */
    readonly namespace: string
    /** Name of the Secret. */
    readonly name: string
  }
  /** The annotation platen.dev/rotate-webhook-secret that was carried out last. */
  readonly rotation?: string
  /** Ready, PlanResolved, Published, Suspended, and Propagated, which is true when every API pod enforces this generation. */
  readonly conditions?: readonly StatusCondition[]
}

/** What a spec is held against: as Kubernetes does, but for what its fields demand of each other. */
export const tenantSpecSchema = {
  type: 'object',
  required: ['planRef'],
  additionalProperties: false,
  properties: {
    planRef: {
      type: 'object',
      required: ['name'],
      additionalProperties: false,
      properties: {
        name: {
          type: 'string',
          pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
          maxLength: 253,
        },
      },
    },
    displayName: { type: 'string', maxLength: 500 },
    suspended: { type: 'boolean' },
    suspendedReason: { type: 'string', maxLength: 500 },
    overrides: {
      type: 'object',
      minProperties: 1,
      additionalProperties: false,
      properties: {
        htmlEngineEnabled: { type: 'boolean' },
        htmlEngineRenderMultiplier: { type: 'integer', minimum: 1, maximum: 1000 },
        htmlRateLimitPerMinute: { type: 'integer', minimum: 0, maximum: 1000000 },
        rateLimitPerMinute: { type: 'integer', minimum: 0, maximum: 1000000 },
        syncRateLimitPerMinute: { type: 'integer', minimum: 0, maximum: 1000000 },
        asyncRateLimitPerMinute: { type: 'integer', minimum: 0, maximum: 1000000 },
        tenantSyncRateLimitPerMinute: { type: 'integer', minimum: 0, maximum: 1000000 },
        tenantAsyncRateLimitPerMinute: { type: 'integer', minimum: 0, maximum: 1000000 },
        apiKeysMax: { type: 'integer', minimum: 1, maximum: 1000 },
        renderLimitMonthly: { type: 'integer', minimum: 0, maximum: 1000000000000 },
        renderTimeoutSeconds: { type: 'integer', minimum: 1, maximum: 120 },
        retentionDays: { type: 'integer', minimum: 1, maximum: 3650 },
        asyncFairShare: { type: 'integer', minimum: 1, maximum: 10000 },
        javascriptEnabled: { type: 'boolean' },
      },
    },
    namespaces: {
      type: 'array',
      maxItems: 64,
      uniqueItems: true,
      items: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 },
    },
    storage: {
      type: 'object',
      additionalProperties: false,
      properties: {
        bucket: { type: 'string', pattern: '^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$', maxLength: 63 },
        prefix: { type: 'string', pattern: '^([A-Za-z0-9_-][A-Za-z0-9._-]*/)+$', maxLength: 256 },
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
      required: ['namespace', 'name', 'key'],
      additionalProperties: false,
      properties: {
        namespace: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 },
        name: {
          type: 'string',
          pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
          maxLength: 253,
        },
        key: { type: 'string', pattern: '^[-._a-zA-Z0-9]+$', maxLength: 253 },
      },
    },
    deletionPolicy: { type: 'string', enum: ['Retain', 'Delete'] },
  },
} as const

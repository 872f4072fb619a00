/** Made from `crds/tenant.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */
import type { PlanSpec, StatusCondition } from './plan.ts'

/** The plan of the tenant, its overrides, and the namespaces that belong to the tenant. */
export interface TenantSpec {
  /** The plan whose limits the tenant has. If the plan is removed, the last limits stay in force. */
  readonly planRef: {
    /** Name of the Plan. */
    readonly name: string
  }
  /** Name of the account that the tenant's renders, quota and rates belong to. If absent, the uid of this resource. It cannot be changed or removed, and can be added only with the value of status.accountId. Declare it so that a Tenant that is created again from its manifest keeps its renders and quota. */
  readonly accountId?: string
  /** Name of the tenant for people. */
  readonly displayName?: string
  /** True suspends the tenant. New renders are answered 402, and queued renders fail with tenant_suspended. Finished renders can still be fetched. Default is false. */
  readonly suspend?: boolean
  /** Reason for the suspension. The answers and the condition contain it. */
  readonly suspendReason?: string
  /** Limits of this tenant that replace limits of the plan. At least one. */
  readonly overrides?: Omit<PlanSpec, 'displayName'>
  /** The namespaces whose Templates and ApiKeys can name this tenant. If absent, none. */
  readonly namespaces?: readonly string[]
  /** Place of the tenant's PDFs. A change affects new renders only; PDFs stored before stay where they are and can still be fetched. */
  readonly storage?: {
    /** Name of the bucket. Default is the bucket of the service. */
    readonly bucket?: string
    /** Prefix of the keys of the tenant's PDFs. It must not be equal to, inside or around the prefix of another tenant. Default is the tenant's name and a slash. */
    readonly prefix?: string
  }
  /** Settings for the webhooks of this tenant. */
  readonly webhooks?: {
    /** Private networks that can receive webhooks of this tenant. Addresses of cloud metadata are never allowed. */
    readonly allowCidrs?: readonly string[]
  }
  /** Reference to the secret that signs the tenant's webhooks. If absent, the operator generates one. */
  readonly webhookSecretRef?: {
    /** Namespace of the Secret. */
    readonly namespace: string
    /** Name of the Secret. */
    readonly name: string
    /** Key of the value. */
    readonly key: string
  }
  /** Treatment of the tenant's renders when the tenant is removed. Retain keeps them until they expire, Delete erases them. Default is Retain. */
  readonly deletionPolicy?: 'Retain' | 'Delete'
}

/** State of this tenant, written by the operator. */
export interface TenantStatus {
  /** The generation of the spec that this status describes. It is -1 until the operator has seen the resource. */
  readonly observedGeneration?: number
  /** Name of the account in force, which spec.accountId declares, or the uid of this resource. */
  readonly accountId?: string
  /** The limits in force, from the plan and the overrides. An absent limit has the default that its description names; without such a default there is no limit. */
  readonly effective?: Omit<PlanSpec, 'displayName'>
  /** The settings of this tenant that were last published to the API processes. */
  readonly published?: {
    /** The revision of the directory that contained them first. */
    readonly revision: number
    /** Lower-case hexadecimal SHA-256 of the settings. */
    readonly digest: string
    /** Time at which they were published. */
    readonly at: string
  }
  /** Quota units of this tenant in one month, as the operator last read them. Absent until the tenant uses some. The operator keeps the last figures while it cannot read others. */
  readonly usage?: {
    /** Calendar month (UTC) that the units count in, such as 2026-11. */
    readonly month: string
    /** Units of the renders that succeeded. A change of 5 percent is written within minutes, a smaller one within about an hour. */
    readonly used: number
    /** Units held for renders that have not ended. They count against the limit, too. */
    readonly reserved: number
    /** The renderLimitMonthly in force. If absent, there is no limit. */
    readonly limit?: number
    /** Time at which the operator read these figures. It is over a day old only if the operator cannot read them. */
    readonly readAt: string
  }
  /** Number of Templates that name this tenant. */
  readonly templates?: number
  /** Number of ApiKeys that name this tenant. */
  readonly apiKeys?: number
  /** Reference to the secret that signs the tenant's webhooks. */
  readonly webhookSecret?: {
    /** Namespace of the Secret. */
    readonly namespace: string
    /** Name of the Secret. */
    readonly name: string
  }
  /** Value of the annotation platen.dev/rotate-webhook-secret of the last completed rotation. */
  readonly rotation?: string
  /** Conditions of the resource. These are Ready, Accepted, PlanResolved, Suspended, Published and Propagated, and Reconciling or Stalled while the resource is not as declared. Propagated is True when every connected API process enforces this generation. */
  readonly conditions?: readonly StatusCondition[]
}

/** Validates a spec as Kubernetes does, except for rules between its fields. */
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
    accountId: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$', maxLength: 63 },
    displayName: { type: 'string', maxLength: 500 },
    suspend: { type: 'boolean' },
    suspendReason: { type: 'string', maxLength: 500 },
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
        requestData: { type: 'string', enum: ['Inline', 'Stored'] },
        strict: { type: 'boolean' },
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

/** The default of each field that has one. Kubernetes fills them in; everybody else takes them from here. */
export const tenantSpecDefaults = {
  suspend: false,
  deletionPolicy: 'Retain',
} as const

/** Made from `crds/plan.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */

/** One statement of a status. */
export interface StatusCondition {
  /** Subject of the statement. */
  readonly type: string
  /** Truth of the statement. */
  readonly status: 'True' | 'False' | 'Unknown'
  /** The generation of the spec that the statement describes. */
  readonly observedGeneration?: number
  /** Time at which the status last changed. */
  readonly lastTransitionTime: string
  /** The reason for the status, in one word for programs. */
  readonly reason: string
  /** The reason for the status, and what to do, for people. */
  readonly message: string
}

/** The limits of all tenants that name this plan. */
export interface PlanSpec {
  /** Name of the plan for people. */
  readonly displayName?: string
  /** True allows html renders. Without it, requests for them are answered 402. Default is false. */
  readonly htmlEngineEnabled?: boolean
  /** Quota units of one html render. A react_pdf render is one unit. Default is 1. */
  readonly htmlEngineRenderMultiplier?: number
  /** Maximum html renders of a tenant in any sixty seconds. Further ones are answered 429. More than 0 needs htmlEngineEnabled. Default is 10. */
  readonly htmlRateLimitPerMinute?: number
  /** Maximum react_pdf renders of a tenant in any sixty seconds. Further ones are answered 429. If absent, there is no limit. */
  readonly rateLimitPerMinute?: number
  /** Maximum sync requests of each API key in any sixty seconds. Further ones are answered 429. Default is 60. */
  readonly syncRateLimitPerMinute?: number
  /** Maximum async requests of each API key in any sixty seconds. Further ones are answered 429. Default is 600. */
  readonly asyncRateLimitPerMinute?: number
  /** Maximum sync requests of a tenant in any sixty seconds, from all its API keys of an environment together. Further ones are answered 429. Default is four times syncRateLimitPerMinute. */
  readonly tenantSyncRateLimitPerMinute?: number
  /** Maximum async requests of a tenant in any sixty seconds, from all its API keys of an environment together. Further ones are answered 429. Default is four times asyncRateLimitPerMinute. */
  readonly tenantAsyncRateLimitPerMinute?: number
  /** Maximum ApiKeys of a tenant in force. If there are more, the oldest are in force, and the others wait until one of these is removed. Default is 50. */
  readonly apiKeysMax?: number
  /** Maximum quota units of a tenant in a calendar month (UTC). Further renders are answered 402. Failed renders are refunded, and sandbox renders are free. If absent, there is no limit. */
  readonly renderLimitMonthly?: number
  /** Deadline of one render in seconds. A render that misses it fails with render_timeout. Default is 25. */
  readonly renderTimeoutSeconds?: number
  /** Days for which PDFs and records are kept. After that, requests for them are answered 410. Default is 30. */
  readonly retentionDays?: number
  /** Unfinished async renders of a tenant, per engine, before further ones wait in the bulk lane. Default is 4. */
  readonly asyncFairShare?: number
  /** Place of the data, file name and webhook URL of requests. Inline keeps them in the records of the queue and the event log. Stored keeps them only in the artifact store, so that an erasure removes them everywhere; it needs the store before each 202. Default is Inline. */
  readonly requestData?: 'Inline' | 'Stored'
  /** True fails renders whose document has a warning, with document_warnings. A template and a request may be strict by themselves. Default is false. */
  readonly strict?: boolean
  /** True allows html templates to run JavaScript in the page. Needs htmlEngineEnabled. Default is false. */
  readonly javascriptEnabled?: boolean
}

/** State of this plan, written by the operator. */
export interface PlanStatus {
  /** The generation of the spec that this status describes. It is -1 until the operator has seen the resource. */
  readonly observedGeneration?: number
  /** Number of tenants that name this plan. */
  readonly tenants?: number
  /** Conditions of the resource. These are Ready, InUse, Published and Propagated, and Reconciling or Stalled while the resource is not as declared. Propagated is True when every connected API process enforces this generation for all tenants of the plan. */
  readonly conditions?: readonly StatusCondition[]
}

/** Validates a spec as Kubernetes does, except for rules between its fields. */
export const planSpecSchema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    displayName: { type: 'string', maxLength: 500 },
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
} as const

/** The default of each field that has one. Kubernetes fills them in; everybody else takes them from here. */
export const planSpecDefaults = {
  htmlEngineEnabled: false,
  htmlEngineRenderMultiplier: 1,
  syncRateLimitPerMinute: 60,
  asyncRateLimitPerMinute: 600,
  renderTimeoutSeconds: 25,
  retentionDays: 30,
  asyncFairShare: 4,
  javascriptEnabled: false,
} as const

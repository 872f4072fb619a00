/** Made from `crds/plan.yaml` by `npx vitest run test/crd.test.ts -u`; do not edit. */

/** One statement of a status. */
export interface StatusCondition {
  /** What the statement is about. */
  readonly type: string
  /** Whether it holds. */
  readonly status: 'True' | 'False' | 'Unknown'
  /** The generation of the spec that was looked at. */
  readonly observedGeneration?: number
  /** When the status changed last. */
  readonly lastTransitionTime: string
  /** Why, in one word that does not change. */
  readonly reason: string
  /** Why, for people to read, and what to do about it. */
  readonly message: string
}

/** The limits of every tenant that names this plan. */
export interface PlanSpec {
  /** For people to read. */
  readonly displayName?: string
  /** May html be rendered? Without it such a request is answered 402. False if absent. */
  readonly htmlEngineEnabled?: boolean
  /** Quota units of one html render; a react_pdf render is one unit. 1 if absent. */
  readonly htmlEngineRenderMultiplier?: number
  /** Html renders of a tenant in any sixty seconds; past it they are answered 429. Over 0 only with htmlEngineEnabled. 10 if absent. */
  readonly htmlRateLimitPerMinute?: number
  /** Renders of a tenant by react_pdf in any sixty seconds; past it they are answered 429. Without a limit if absent. */
  readonly rateLimitPerMinute?: number
  /** Sync requests of each API key in any sixty seconds; past it they are answered 429. 60 if absent. */
  readonly syncRateLimitPerMinute?: number
  /** Async requests of each API key in any sixty seconds; past it they are answered 429. 600 if absent. */
  readonly asyncRateLimitPerMinute?: number
  /** Sync requests of a tenant in any sixty seconds, by all its API keys of an environment together; past it they are answered 429. Four times syncRateLimitPerMinute if absent. */
  readonly tenantSyncRateLimitPerMinute?: number
  /** Async requests of a tenant in any sixty seconds, by all its API keys of an environment together; past it they are answered 429. Four times asyncRateLimitPerMinute if absent. */
  readonly tenantAsyncRateLimitPerMinute?: number
  /** ApiKeys that a tenant may have in force; of more, the oldest are, and the others wait until one of those goes. 50 if absent. */
  readonly apiKeysMax?: number
  /** Quota units of a tenant in a calendar month (UTC); past it renders are answered 402. Unlimited if absent. */
  readonly renderLimitMonthly?: number
  /** Deadline of one render; past it it fails with render_timeout. 25 if absent. */
  readonly renderTimeoutSeconds?: number
  /** How long PDFs and records are kept; from then on they are answered 410. 30 if absent. */
  readonly retentionDays?: number
  /** Unfinished async renders of a tenant, per engine, before the next ones wait in the bulk lane. 4 if absent. */
  readonly asyncFairShare?: number
  /** May html templates run JavaScript in the page? Needs htmlEngineEnabled. False if absent. */
  readonly javascriptEnabled?: boolean
}

/** What the operator did about this plan. */
export interface PlanStatus {
  /** The generation of the spec that this status is about. */
  readonly observedGeneration?: number
  /** How many tenants name this plan. */
  readonly tenants?: number
  /** Ready, InUse, Published, and Propagated, which is true when every API pod enforces this generation for all tenants of the plan. */
  readonly conditions?: readonly StatusCondition[]
}

/** What a spec is held against: as Kubernetes does, but for what its fields demand of each other. */
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
    javascriptEnabled: { type: 'boolean' },
  },
} as const

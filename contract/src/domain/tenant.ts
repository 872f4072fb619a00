/**
 * Tenant, plan, API key and template as the data plane sees them: compiled, with every default applied. `resource.ts` has what people
 * write.
 */
import type { Brand, Instant, JsonObject } from '@platen/lib/brand.ts'
import { type PlanSpec, planSpecDefaults } from './crd/plan.ts'
import type { Engine, RenderOptions } from './render-options.ts'

export type TenantId = Brand<'TenantId'>
export type TemplateCode = Brand<'TemplateCode'>
/** Lower-case hex SHA-256 of a whole API key. */
export type KeyHash = Brand<'KeyHash'>
/** Lower-case hex SHA-256 of a template's canonical source. */
export type TemplateDigest = Brand<'TemplateDigest'>

/** Lower-case hex SHA-256 of an asset's bytes. */
export type AssetDigest = Brand<'AssetDigest'>

/** `live` keys begin with `service_live_`, `test` keys (sandbox) with `service_test_`. */
export type Environment = 'live' | 'test'

/** The limits that a plan, or a tenant itself, names. `crds/plan.yaml` defines them, and says of each what it limits. */
export type LimitLayer = Omit<PlanSpec, 'displayName'>

/** Limits without a default. */
type OptionalLimit =
  // Absent = no such bucket.
  | 'rateLimitPerMinute'
  // Absent = `TENANT_RATE_TIMES` the rate of one key.
  | 'tenantSyncRateLimitPerMinute'
  | 'tenantAsyncRateLimitPerMinute'
  // Absent = `API_KEYS_MAX`.
  | 'apiKeysMax'
  // Absent = `REQUEST_DATA`.
  | 'requestData'
  // Absent = false.
  | 'strict'
  // Absent = unlimited.
  | 'renderLimitMonthly'

/** The limits in force for one tenant: its plan overlaid with its overrides. */
export type Limits = Required<Omit<LimitLayer, OptionalLimit>> & Pick<LimitLayer, OptionalLimit>

/**
 * Defaults for limits that nobody sets: a plan leaves them out, or they were published before there was the limit. `crds/plan.yaml` defines
 * them: a new limit does not compile until it has a default there, or is optional and says above what applies if it is absent.
 */
export const DEFAULT_LIMITS: Limits = {
  ...planSpecDefaults,
  // A plan must not set it without html, so Kubernetes cannot fill it in.
  htmlRateLimitPerMinute: 10,
}

/** How many busy keys fit into a tenant if its limits set no rate for the tenant, which then follows the rate of a key. */
export const TENANT_RATE_TIMES = 4

/** How many ApiKeys of a tenant may be in force if its limits do not say. */
export const API_KEYS_MAX = 50

/** How many templates of a tenant may be in force. They bound what an operator reads and checks for it, and what is published of it. */
export const TEMPLATES_MAX = 500

/** Where the data of requests are if the limits of a tenant do not say. */
export const REQUEST_DATA = 'Inline'

export interface Tenant {
  readonly id: TenantId
  /** What its Tenant declares, or the uid of that. So a tenant created again under an old name may have another one, and sees nothing old. */
  readonly account: string
  readonly limits: Limits
  readonly suspended: boolean
  readonly suspendedReason?: string
  /** Where this tenant's PDFs go. `prefix` ends in `/`. */
  readonly storage: { readonly bucket: string; readonly prefix: string }
  /** Blocks of non-public addresses that may receive its webhooks, such as `10.0.0.0/8`; absent = none. */
  readonly webhookAllowCidrs?: readonly string[]
  /**
   * The secrets that sign its webhooks, oldest first; absent while there is none. The current one has no `until`. `webhook-secret.ts` reads
   * them.
   */
  readonly webhookSecrets?: readonly WebhookSecret[]
}

/** A webhook secret, sealed (see `seal.ts`). */
export interface WebhookSecret {
  readonly sealed: string
  /** End of the overlap, for a secret that was replaced. */
  readonly until?: Instant
}

export interface ApiKey {
  readonly hash: KeyHash
  readonly tenant: TenantId
  readonly environment: Environment
  readonly suspended: boolean
  readonly expiresAt?: Instant
}

/** A template as it is listed and admitted. Its sources are under `digest` in the artifact store. */
export interface Template {
  readonly tenant: TenantId
  readonly code: TemplateCode
  readonly name: string
  readonly version: number
  /** The engine for requests that name none. */
  readonly engine: Engine
  readonly variablesSchema: JsonObject
  readonly digest: TemplateDigest
  /** It wants no document with a warning. */
  readonly strict?: true
  /** The engines it has a source for. */
  readonly engines: readonly Engine[]
  /** Its sample data, if callers are shown any: canonical JSON that is stored as an asset is. */
  readonly sample?: AssetDigest
}

/** What a renderer needs of a template; content-addressed by `digestOf`. */
export interface TemplateSource {
  readonly code: TemplateCode
  readonly name: string
  readonly version: number
  /** TSX module with a default-exported component. */
  readonly reactPdf?: string
  readonly html?: {
    readonly template: string
    readonly header?: string
    readonly footer?: string
    readonly javascript: boolean
  }
  readonly options: RenderOptions
  /** BCP 47. For `Intl`, the filters and the document's language if the source names none. Absent = en-US. */
  readonly locale?: string
  /** The files that the sources use as `asset:<name>`. Their bytes are under `digest` in the artifact store. */
  readonly assets?: readonly AssetReference[]
  /** Its own fonts, beside those that every template has. */
  readonly fonts?: readonly FontReference[]
  /** The hosts it may fetch files from, in lower case; absent = none. */
  readonly allowedHosts?: readonly string[]
}

export interface AssetReference {
  /** Unique within the template. */
  readonly name: string
  readonly digest: AssetDigest
}

export interface FontReference {
  readonly family: string
  /** 1–1000. */
  readonly weight: number
  readonly style: 'normal' | 'italic'
  /** The name of one of the template's assets. */
  readonly asset: string
}

/** An asset with its bytes, from any place they are stored. */
export interface Asset extends AssetReference {
  readonly bytes: Uint8Array
}

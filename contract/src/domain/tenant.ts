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

/** Limits that a plan or a tenant names. `crds/plan.yaml` defines and describes them. */
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

/** In force for one tenant: its plan overlaid with its overrides. */
export type Limits = Required<Omit<LimitLayer, OptionalLimit>> & Pick<LimitLayer, OptionalLimit>

/**
 * Apply where a plan leaves a limit out, or was published before the limit existed. `crds/plan.yaml` defines them: a new limit compiles
 * only with a default there, or as an optional one whose absence is explained above.
 */
export const DEFAULT_LIMITS: Limits = {
  ...planSpecDefaults,
  // A plan must not set it without html, so Kubernetes cannot fill it in.
  htmlRateLimitPerMinute: 10,
}

/** Default rate of a tenant, in rates of one key: how many busy keys fit into it. */
export const TENANT_RATE_TIMES = 4

/** In force, of a tenant whose limits do not say. */
export const API_KEYS_MAX = 50

/** Of a tenant, in force. Bounds what an operator reads and checks for it, and what is published of it. */
export const TEMPLATES_MAX = 500

/** Where request data are stored if the limits do not say. */
export const REQUEST_DATA = 'Inline'

export interface Tenant {
  readonly id: TenantId
  /**
   * What its Tenant declares, or the uid of that. So a tenant created again under an old name may have another account, and sees nothing
   * old.
   */
  readonly account: string
  readonly limits: Limits
  readonly suspended: boolean
  readonly suspendedReason?: string
  /** Where PDFs go. `prefix` ends in `/`. */
  readonly storage: { readonly bucket: string; readonly prefix: string }
  /** Non-public addresses that may receive webhooks, as blocks such as `10.0.0.0/8`; absent = none. */
  readonly webhookAllowCidrs?: readonly string[]
  /** Sign webhooks, oldest first; absent while there is none. The current one has no `until`. See `webhook-secret.ts`. */
  readonly webhookSecrets?: readonly WebhookSecret[]
}

/** Sealed, see `seal.ts`. */
export interface WebhookSecret {
  readonly sealed: string
  /** End of the overlap of a secret that was replaced. */
  readonly until?: Instant
}

export interface ApiKey {
  readonly hash: KeyHash
  readonly tenant: TenantId
  readonly environment: Environment
  readonly suspended: boolean
  readonly expiresAt?: Instant
}

/** As it is listed and admitted. Its sources are under `digest` in the artifact store. */
export interface Template {
  readonly tenant: TenantId
  readonly code: TemplateCode
  readonly name: string
  readonly version: number
  /** For requests that name none. */
  readonly engine: Engine
  readonly variablesSchema: JsonObject
  readonly digest: TemplateDigest
  /** Allows no document with a warning. */
  readonly strict?: true
  readonly engines: readonly Engine[]
  /** Sample data that callers may see: canonical JSON, stored like an asset. */
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
  /** BCP 47, for `Intl`, the filters, and the document's language if the source names none. Absent = en-US. */
  readonly locale?: string
  /** Files that the sources use as `asset:<name>`. Their bytes are under `digest` in the artifact store. */
  readonly assets?: readonly AssetReference[]
  /** Beside the fonts that every template has. */
  readonly fonts?: readonly FontReference[]
  /** Hosts to fetch files from, in lower case; absent = none. */
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
  /** Name of one of the template's assets. */
  readonly asset: string
}

export interface Asset extends AssetReference {
  readonly bytes: Uint8Array
}

/**
 * Plan, Tenant, Template and ApiKey as people write them (`platen.dev/v1alpha1`), and the conditions that answer them.
 * `settings/src/compile` turns them into the form of `tenant.ts`, for the data plane.
 */
import type { Brand, Instant } from '@platen/lib/brand.ts'
import type { ApiKeySpec, PlanSpec, TemplateSpec, TenantSpec } from './resource-spec.ts'

/** A resource created again under an old name has another uid. */
export type Uid = Brand<'Uid'>

export interface Metadata {
  readonly name: string
  readonly uid: Uid
  /** Counts the changes of `spec`, from 1. */
  readonly generation: number
  /** Where two resources want the same thing, the older one gets it. */
  readonly createdAt: Instant
}

/** As with kubectl. */
export const NAMESPACE_DEFAULT = 'default'

export interface NamespacedMetadata extends Metadata {
  readonly namespace: string
}

interface TenantMetadata extends Metadata {
  /** `spec.accountId`, or the uid. The same for the lifetime of the resource. */
  readonly account: string
  /** Time in the annotation that requests a new webhook secret; absent = never. */
  readonly rotateWebhookSecretAt?: Instant
}

export interface PlanResource {
  readonly kind: 'Plan'
  readonly metadata: Metadata
  readonly spec: PlanSpec
}
export interface TenantResource {
  readonly kind: 'Tenant'
  readonly metadata: TenantMetadata
  readonly spec: TenantSpec
}
export interface TemplateResource {
  readonly kind: 'Template'
  readonly metadata: NamespacedMetadata
  readonly spec: TemplateSpec
}
export interface ApiKeyResource {
  readonly kind: 'ApiKey'
  readonly metadata: NamespacedMetadata
  readonly spec: ApiKeySpec
}
export type Resource = PlanResource | TenantResource | TemplateResource | ApiKeyResource

/**
 * `Ready` sums up the others: this generation is in force, and nothing of it is missing. `Published` and `Propagated` come from the
 * publisher. `Reconciling` and `Stalled` say why a resource is not where it should be, as kstatus defines them. The rest comes from
 * `compile`.
 */
export const CONDITION_TYPES = [
  'Ready',
  'Accepted',
  'PlanResolved',
  'Suspended',
  'InUse',
  'SourceResolved',
  'Compiled',
  'EngineAllowed',
  'Published',
  'Propagated',
  'Reconciling',
  'Stalled',
] as const
export type ConditionType = (typeof CONDITION_TYPES)[number]

/** A closed set, because people write alerts for them. */
export const CONDITION_REASONS = {
  InForce: 'The settings in force are those of this generation, and nothing of it is missing.',
  Accepted: 'Its tenant lists its namespace, and no older resource has the same code, key or storage prefix.',
  TenantNotFound:
    'There is no tenant of the name in `tenantRef`, or it does not list the namespace of this resource; users of a namespace are not told which.',
  TenantNotReady: 'The tenant itself has no settings in force, so none of its resources are served.',
  CodeTaken: 'An older template of the tenant has the code.',
  KeyTaken: 'An older ApiKey has the same key.',
  TooManyApiKeys: 'The tenant has `apiKeysMax` older ApiKeys in force, and no more are allowed.',
  TooManyTemplates: 'The tenant has 500 older templates, and no more are allowed.',
  AccountTaken: 'An older Tenant has the account that `accountId` names; it must be gone before this one is served.',
  AccountErased:
    'The account that `accountId` names was that of a removed Tenant with `deletionPolicy: Delete`, and its renders are still being erased.',
  AccountIdChanged: '`accountId` was changed or removed, or added with another value; the account stays what it was.',
  PrefixTaken: 'The storage prefix is, or overlaps, that of another tenant or of the service.',
  PlanResolved: 'The plan exists, and its limits do not contradict each other.',
  PlanNotFound: 'There is no plan of the name in `planRef`; the last resolved limits stay in force.',
  PlanNotReady: 'The limits of the plan contradict each other; the last resolved limits stay in force.',
  InvalidLimits: 'The limits of the plan contradict each other.',
  InvalidEffectiveLimits:
    'The plan overlaid with the overrides contradicts itself; the last good limits stay in force.',
  Suspended: 'New renders are refused with 402.',
  Active: 'Renders are accepted.',
  InUse: 'At least one tenant names the plan.',
  NotInUse: 'No tenant names the plan.',
  SourceResolved: 'Every source of the template was found.',
  ConfigMapNotFound: 'There is no ConfigMap of the name in a `configMapKeyRef` in the namespace of the template.',
  KeyNotFound: 'The ConfigMap has no such key.',
  SourceEmpty: 'A source of the template is empty.',
  SourceTooLarge: 'A source of the template is over 128 KiB.',
  AssetsTooLarge: 'The assets of the template are over 10 MiB together.',
  NestedTooDeep: 'The spec of the template nests arrays and objects more than 64 levels deep.',
  Compiled: 'The sources compile, and evaluate with the sample data if there is any.',
  SchemaInvalid: '`variablesSchema` is not a JSON Schema of an object.',
  CompileError: 'A source does not compile, or fails with the sample data.',
  NotChecked: 'The template was not checked yet.',
  EngineAllowed: 'The plan allows every engine that the template has a source for.',
  JavaScriptNotInPlan: 'The plan does not allow page JavaScript: html renders of this template run without it.',
  EngineNotInPlan: 'The plan has no html engine: html renders of this template are refused with 402.',
  SecretMissing: 'The API key or webhook secret of this resource cannot be read; one published earlier stays in force.',
  SecretUnreadable:
    'The webhook secret of this resource cannot be opened: the operator, or an events process, does not have the seal key for it. Webhooks wait.',
  SecretTaken: "Somebody else's Secret has the name in `secretName`, or that of the tenant's webhook secret.",
  SecretsNotGranted:
    'The operator is not allowed to read Secrets in the namespace; earlier settings stay in force. The message has the command that allows it.',
  Published: 'The settings of this generation are in Redis.',
  RedisUnavailable: 'Redis cannot be reached; the settings published last stay in force until it can.',
  StoreUnavailable:
    'The artifact store cannot be reached; the settings published last stay in force until the sources are there.',
  Propagated:
    'Every API process that is connected enforces this generation. If none is connected, the message says so: a process that starts enforces it from the start.',
  Waiting: 'Some API process does not enforce this generation yet.',
  RotationPutOff: 'The maximum number of webhook secrets sign; the newest one signs after an overlap has ended.',
} as const
export type ConditionReason = keyof typeof CONDITION_REASONS

/**
 * Reasons that end by themselves, or when another resource, a Secret or a right arrives: the resource is `Reconciling`. For every other
 * reason for not being ready, the resource itself must change: it is `Stalled`.
 */
export const WAITING_REASONS: ReadonlySet<ConditionReason> = new Set([
  'TenantNotFound',
  'TenantNotReady',
  'AccountErased',
  'PlanNotFound',
  'PlanNotReady',
  'ConfigMapNotFound',
  'KeyNotFound',
  'NotChecked',
  'SecretMissing',
  'SecretUnreadable',
  'SecretsNotGranted',
  'RotationPutOff',
  'RedisUnavailable',
  'StoreUnavailable',
  'Waiting',
])

/** A Kubernetes condition without its time. */
export interface Condition {
  readonly type: ConditionType
  readonly status: 'True' | 'False'
  readonly reason: ConditionReason
  /** What the resource's owner can do. Contains names, never values or secrets. At most `FAILURE_MESSAGE_CHARS_MAX` characters. */
  readonly message: string
  readonly observedGeneration: number
}

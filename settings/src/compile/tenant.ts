/** Compiles plans and tenants, and decides who may name a tenant. */

import { tenantSpecDefaults } from '@platen/contract/domain/crd/tenant.ts'
import { ERASURE_PREFIX, LISTED_ERASURE_PREFIX } from '@platen/contract/domain/erasure.ts'
import type {
  ApiKeyResource,
  PlanResource,
  TemplateResource,
  TenantResource,
  Uid,
} from '@platen/contract/domain/resource.ts'
import type { Limits, Tenant, TenantId, WebhookSecret } from '@platen/contract/domain/tenant.ts'
import { inForce, withCurrentSecret } from '@platen/contract/domain/webhook-secret.ts'
import { BATCH_PREFIX } from '@platen/contract/stored/batch.ts'
import { EXPIRY_PREFIX } from '@platen/contract/stored/expiry.ts'
import { IDEMPOTENCY_PREFIX } from '@platen/contract/stored/idempotency.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { CompileResult, InForce } from './compile-result.ts'
import { conditionsOf, type Finding, fails, holds, labelOf } from './condition.ts'
import { limitLayerOf, overlay } from './limit-layer.ts'
import { type AccountRefusals, accountIdChanged, refusedAccounts } from './tenant/account.ts'

type PlanResult = CompileResult<PlanResource, Limits>
export type TenantResult = CompileResult<TenantResource, Tenant>

interface PlanInput {
  readonly plans: readonly PlanResource[]
  readonly isInUse: (plan: string) => boolean
  readonly defaults: Limits
  readonly previous: Pick<InForce<Limits>, 'get'>
}

/** A plan that contradicts itself keeps its previous limits. */
export function compilePlans({ plans, isInUse, defaults, previous }: PlanInput): readonly PlanResult[] {
  return plans.map((resource) => {
    const merged = overlay(defaults, limitLayerOf(resource.spec))
    const isGood = 'limits' in merged
    const settings = isGood ? merged.limits : previous.get(resource.metadata.uid)?.settings
    const conditions = conditionsOf(resource, {
      needed: isGood ? [] : [fails('Ready', 'InvalidLimits', merged.contradiction)],
      informational: [
        isInUse(resource.metadata.name)
          ? holds('InUse', 'InUse')
          : fails('InUse', 'NotInUse', `no Tenant names ${labelOf(resource)} in planRef`),
      ],
    })
    return { resource, conditions, ...(settings && { settings }) }
  })
}

/** Besides being missing or invalid. */
export type SecretRefusalReason = 'SecretTaken' | 'SecretsNotGranted'

export type FoundSecret =
  | {
      /** Sealed. */
      readonly current: string
      /** Sealed. Counts as the previous secret if no other is known. */
      readonly replaced?: string
    }
  | {
      /** Why there is none, and what to do. */
      readonly fault: string
      /** Absent = it is missing or invalid. */
      readonly reason?: SecretRefusalReason
      /** True if the published secrets do not open with the current seal key, so that none of them signs. */
      readonly isUnreadable?: boolean
    }

/** By the Tenant's uid. */
export type FoundSecrets = ReadonlyMap<Uid, FoundSecret>

/** Seals with the present key. Returns the text itself if that key sealed it, or if no known key opens it. */
export type Reseal = (sealed: string, account: string) => string

interface TenantInput {
  /** The oldest first. Includes all tenants that share an account with one of them. */
  readonly tenants: readonly TenantResource[]
  readonly accountRefusals?: AccountRefusals
  readonly webhookSecrets: FoundSecrets
  /** Absent = everything is sealed with one key. */
  readonly reseal?: Reseal
  /** Whether every process that signs webhooks can open what is sealed with the present key. Absent = it can. */
  readonly areSecretsReadable?: () => boolean
  readonly now: Instant
  readonly plans: readonly PlanResult[]
  readonly previous: Pick<InForce<Tenant>, 'get'>
  readonly serviceBucket: string
}

/**
 * The tenants in force. A tenant whose plan is gone, or whose limits or storage are refused, keeps its previous ones: never "unlimited",
 * and never "nothing". A suspension always applies at once. A tenant that never had any is not served, nor is one whose account is not its
 * own. Without a new webhook secret, the published one stays in force, and nothing else of the tenant is affected.
 */
export function compileTenants({
  tenants,
  plans,
  previous,
  serviceBucket,
  webhookSecrets,
  accountRefusals = new Map(),
  reseal = (sealed) => sealed,
  areSecretsReadable = () => true,
  now,
}: TenantInput): readonly TenantResult[] {
  const plansByName = new Map(plans.map((plan) => [plan.resource.metadata.name, plan]))
  const refused = refusedAccounts(tenants, accountRefusals)
  // A tenant that loses its account loses its settings, and with them its claim to its storage.
  const held = (uid: Uid) => (refused.has(uid) ? undefined : previous.get(uid)?.settings)
  const refusals = storageRefusals({ tenants, held, serviceBucket })
  return tenants.map((resource) => {
    const { uid, account } = resource.metadata
    const before = held(uid)
    const plan = findPlan(resource, plansByName.get(resource.spec.planRef.name))
    const merged = plan.limits && overlay(plan.limits, resource.spec.overrides ?? {})
    const limits = merged !== undefined && 'limits' in merged ? merged.limits : before?.limits
    const refusal = refusals.get(resource)
    const storage = refusal === undefined ? storageOf(resource, serviceBucket) : before?.storage
    const published = before?.webhookSecrets?.map((secret) => ({ ...secret, sealed: reseal(secret.sealed, account) }))
    const found = resealed(webhookSecrets.get(uid), (sealed) => reseal(sealed, account))
    const signing = rotateSecrets(published ?? [], found, now)
    const conditions = conditionsOf(resource, {
      needed: [
        refused.get(uid) ?? accountIdChanged(resource) ?? refusal ?? holds('Accepted', 'Accepted'),
        plan.finding,
        ...(merged !== undefined && 'contradiction' in merged
          ? [
              fails(
                'Ready',
                'InvalidEffectiveLimits',
                `overrides contradict the limits of the plan: ${merged.contradiction}`,
              ),
            ]
          : []),
        ...signing.findings,
        ...(signing.secrets.length > 0 && !areSecretsReadable() ? [NOT_READABLE] : []),
      ],
      informational: [suspension(resource)],
    })
    const { secrets } = signing
    return {
      resource,
      conditions,
      ...(!refused.has(uid) && limits && storage && { settings: settingsOf(resource, { limits, storage, secrets }) }),
    }
  })
}

/** Names neither a process nor a number of them: during a rollout, every tenant would be written again for each process. */
const NOT_READABLE = fails(
  'Ready',
  'SecretUnreadable',
  'an events process has no key of PLATEN_SEAL_KEY that opens the webhook secret; its webhooks wait until it has the key of the operator',
)

/**
 * Like the published secrets, the found ones may be older than a change of the seal key. If only one of the two were sealed again, the same
 * secret would look like a new one, with an overlap.
 */
function resealed(found: FoundSecret | undefined, reseal: (sealed: string) => string): FoundSecret | undefined {
  if (found === undefined || 'fault' in found) return found
  const { current, replaced } = found
  return { current: reseal(current), ...(replaced !== undefined && { replaced: reseal(replaced) }) }
}

interface SigningSecrets {
  readonly secrets: readonly WebhookSecret[]
  readonly findings: readonly Finding[]
}

function rotateSecrets(before: readonly WebhookSecret[], found: FoundSecret | undefined, now: Instant): SigningSecrets {
  const secrets = inForce(before, now)
  if (found === undefined) return { secrets, findings: [] }
  if ('fault' in found) return { secrets, findings: [secretMissing(found, secrets)] }
  const last = secrets.length === 0 && found.replaced !== undefined ? [{ sealed: found.replaced }] : secrets
  const next = withCurrentSecret(last, found.current, now)
  return next === undefined ? { secrets, findings: [rotationPostponed(secrets)] } : { secrets: next, findings: [] }
}

type FoundFault = Extract<FoundSecret, { readonly fault: string }>

function secretMissing(
  { fault, reason, isUnreadable = false }: FoundFault,
  secrets: readonly WebhookSecret[],
): Finding {
  if (isUnreadable)
    return fails(
      'Ready',
      'SecretUnreadable',
      `${fault}; the one published earlier was sealed with no key of PLATEN_SEAL_KEY; webhooks wait until then`,
    )
  const meanwhile =
    secrets.length === 0 ? 'webhooks wait until then' : 'the one published earlier stays in force until then'
  return fails('Ready', reason ?? 'SecretMissing', `${fault}; ${meanwhile}`)
}

function rotationPostponed(secrets: readonly WebhookSecret[]): Finding {
  const ends = secrets.flatMap(({ until }) => until ?? [])
  const first = new Date(Math.min(...ends)).toISOString()
  const message = `the new webhook secret does not sign yet: ${secrets.length} secrets sign, and no more may; it will sign after the first change of the manifests after ${first}, when an overlap ends`
  return fails('Ready', 'RotationPutOff', message)
}

type KeptSettings = Pick<Tenant, 'limits' | 'storage'> & { readonly secrets: readonly WebhookSecret[] }

function settingsOf({ metadata, spec }: TenantResource, { secrets, ...kept }: KeptSettings): Tenant {
  const { allowCidrs = [] } = spec.webhooks ?? {}
  return {
    // A tenant's id is its resource's name.
    id: metadata.name as TenantId,
    account: metadata.account,
    ...kept,
    ...(allowCidrs.length > 0 && { webhookAllowCidrs: allowCidrs.toSorted() }),
    ...(secrets.length > 0 && { webhookSecrets: secrets }),
    suspended: spec.suspend ?? tenantSpecDefaults.suspend,
    ...(spec.suspendReason !== undefined && { suspendedReason: spec.suspendReason }),
  }
}

function findPlan({ spec }: TenantResource, plan: PlanResult | undefined): { finding: Finding; limits?: Limits } {
  const { name } = spec.planRef
  if (plan === undefined) return { finding: fails('PlanResolved', 'PlanNotFound', `there is no Plan ${name}`) }
  if (plan.settings === undefined)
    return { finding: fails('PlanResolved', 'PlanNotReady', `Plan ${name} is not ready: fix its limits`) }
  return { finding: holds('PlanResolved', 'PlanResolved'), limits: plan.settings }
}

function suspension({ spec }: TenantResource): Finding {
  return spec.suspend === true
    ? holds('Suspended', 'Suspended', spec.suspendReason)
    : fails('Suspended', 'Active', 'renders are accepted')
}

/** Of the service itself in its bucket. No tenant may write there. */
const SERVICE_PREFIXES = [
  'manifest/',
  'template/',
  'asset/',
  'delivery/',
  ERASURE_PREFIX,
  LISTED_ERASURE_PREFIX,
  EXPIRY_PREFIX,
  IDEMPOTENCY_PREFIX,
  BATCH_PREFIX,
]

interface StorageInput extends Pick<TenantInput, 'tenants' | 'serviceBucket'> {
  readonly held: (uid: Uid) => Tenant | undefined
}

/**
 * The tenants whose requested storage is refused. Tenants that keep their storage are registered before those that move, and older ones
 * before younger ones, so that existing PDFs never become someone else's. A tenant whose move is refused keeps its storage, too.
 */
function storageRefusals({ tenants, held, serviceBucket }: StorageInput): ReadonlyMap<TenantResource, Finding> {
  const before = ({ metadata }: TenantResource) => held(metadata.uid)?.storage
  const stays = (resource: TenantResource) => {
    const [has, wanted] = [before(resource), storageOf(resource, serviceBucket)]
    return has?.bucket === wanted.bucket && has.prefix === wanted.prefix
  }
  const staying = tenants.filter(stays)
  const moving = tenants.filter((tenant) => !stays(tenant))
  const heldBack = new Map<TenantResource, string>()
  // A tenant whose move is refused may conflict with others, so everything is registered again.
  for (;;) {
    const owners = openStorageOwners(serviceBucket)
    const refused = new Map(heldBack)
    const register = (resource: TenantResource) => {
      const owner = owners.register(storageOf(resource, serviceBucket), labelOf(resource))
      if (owner !== undefined) refused.set(resource, owner)
    }
    staying.forEach(register)
    for (const resource of heldBack.keys())
      owners.register(before(resource) ?? storageOf(resource, serviceBucket), labelOf(resource))
    moving.filter((resource) => !heldBack.has(resource)).forEach(register)
    const more = moving.filter((resource) => refused.has(resource) && !heldBack.has(resource) && before(resource))
    if (more.length === 0) return refusalsOf({ tenants, serviceBucket, refused, before })
    for (const resource of more) heldBack.set(resource, refused.get(resource) as string)
  }
}

interface Refused {
  /** The oldest first. */
  readonly tenants: readonly TenantResource[]
  readonly serviceBucket: string
  /** The owner that conflicted when the storage was refused. */
  readonly refused: ReadonlyMap<TenantResource, string>
  readonly before: (resource: TenantResource) => Tenant['storage'] | undefined
}

/** Names the oldest of several conflicting owners, whichever was registered first, so that an unchanged conflict keeps its message. */
function refusalsOf({ tenants, serviceBucket, refused, before }: Refused): ReadonlyMap<TenantResource, Finding> {
  if (refused.size === 0) return new Map()
  const { register, ownerOf } = openStorageOwners(serviceBucket)
  for (const resource of tenants) {
    const storage = refused.has(resource) ? before(resource) : storageOf(resource, serviceBucket)
    if (storage !== undefined) register(storage, labelOf(resource))
  }
  const findingOf = (resource: TenantResource, last: string): Finding => {
    const owner = ownerOf(storageOf(resource, serviceBucket), labelOf(resource)) ?? last
    return fails('Accepted', 'PrefixTaken', `storage.prefix overlaps that of ${owner}`)
  }
  return new Map([...refused].map(([resource, last]) => [resource, findingOf(resource, last)]))
}

interface StorageOwners {
  /** Returns the owner of the same storage, of a part of it, or of storage that contains it. */
  readonly register: (storage: Tenant['storage'], owner: string) => string | undefined
  /** The owner as above, except `other`. */
  readonly ownerOf: (storage: Tenant['storage'], other: string) => string | undefined
}

/** Starts with what the service itself owns. */
function openStorageOwners(serviceBucket: string): StorageOwners {
  const owners = new Map<string, string>()
  /** Owners of something inside a folder, in order of registration. */
  const inside = new Map<string, string[]>()
  const foldersOf = (whole: string) => [...foldersAbove(whole), whole]
  const ownerOf = (storage: Tenant['storage'], other: string) => {
    const whole = folderOf(storage)
    const found = [...foldersOf(whole).flatMap((folder) => owners.get(folder) ?? []), ...(inside.get(whole) ?? [])]
    return found.find((owner) => owner !== other)
  }
  const register = (storage: Tenant['storage'], owner: string) => {
    const taken = ownerOf(storage, owner)
    if (taken !== undefined) return taken
    const whole = folderOf(storage)
    owners.set(whole, owner)
    for (const folder of foldersOf(whole)) {
      const owners = inside.get(folder)
      if (owners === undefined) inside.set(folder, [owner])
      else owners.push(owner)
    }
    return undefined
  }
  for (const prefix of SERVICE_PREFIXES) register({ bucket: serviceBucket, prefix }, 'the service')
  return { register, ownerOf }
}

/** As one name: `bucket a/b/`. */
export function folderOf({ bucket, prefix }: Tenant['storage']): string {
  return `${bucket} ${prefix}`
}

/** `bucket a/` contains `bucket a/b/`. */
export function foldersAbove(folder: string): readonly string[] {
  return [...folder.matchAll(/\/(?=.)/g)].map(({ index }) => folder.slice(0, index + 1))
}

export function storageOf({ metadata, spec }: TenantResource, serviceBucket: string): Tenant['storage'] {
  return { bucket: spec.storage?.bucket ?? serviceBucket, prefix: spec.storage?.prefix ?? `${metadata.name}/` }
}

export type TenantsByName = Pick<ReadonlyMap<string, TenantResult>, 'get'>

/**
 * Both sides must agree: the resource names the tenant, and the tenant lists its namespace. A tenant that does not list it is reported as
 * missing, because users of a namespace may not see Tenants.
 */
export function findTenant(
  { metadata, spec }: TemplateResource | ApiKeyResource,
  tenants: TenantsByName,
): { readonly tenant: Tenant } | { readonly refusal: Finding } {
  const { name } = spec.tenantRef
  const outcome = tenants.get(name)
  const refuse = (reason: Finding['reason'], message: string) => ({ refusal: fails('Accepted', reason, message) })
  if (outcome === undefined || !listsNamespaceOf(outcome, { metadata }))
    return refuse('TenantNotFound', `there is no Tenant ${name} that lists ${metadata.namespace} in spec.namespaces`)
  if (outcome.settings === undefined) return refuse('TenantNotReady', `Tenant ${name} is not ready: see its conditions`)
  return { tenant: outcome.settings }
}

/** Then templates and keys in this namespace may name the tenant. */
export function listsNamespaceOf(
  { resource }: TenantResult,
  { metadata }: Pick<TemplateResource | ApiKeyResource, 'metadata'>,
): boolean {
  return resource.spec.namespaces?.includes(metadata.namespace) === true
}

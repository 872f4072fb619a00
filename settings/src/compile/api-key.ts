import { apiKeySpecDefaults } from '@platen/contract/domain/crd/api-key.ts'
import type { ApiKeyResource, TemplateResource, Uid } from '@platen/contract/domain/resource.ts'
import { ENVIRONMENT_VALUES } from '@platen/contract/domain/resource-value.ts'
import { API_KEYS_MAX, type ApiKey, type KeyHash, TEMPLATES_MAX, type Tenant } from '@platen/contract/domain/tenant.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { CompileResult, InForce } from './compile-result.ts'
import { conditionsOf, type Finding, fails, holds, labelOf } from './condition.ts'
import {
  findTenant,
  listsNamespaceOf,
  type SecretRefusalReason,
  type TenantResult,
  type TenantsByName,
} from './tenant.ts'

/** The current key first, then the replaced one while its overlap lasts. */
export type ApiKeyResult = CompileResult<ApiKeyResource, readonly ApiKey[]>

/** The result of looking for the key behind `secretName`. */
export type FoundKey =
  | KeysInForce
  | {
      /** Why there is no key, and what to do. */
      readonly fault: string
      /** Absent = its Secret is missing, or does not contain it. */
      readonly reason?: SecretRefusalReason
      /** Keys that stay in force meanwhile, if known from elsewhere; absent = the published ones. */
      readonly kept?: KeysInForce
    }

export interface KeysInForce {
  readonly hash: KeyHash
  readonly replaced?: ReplacedKey
}

interface ReplacedKey {
  readonly hash: KeyHash
  /** End of the overlap. */
  readonly until: Instant
}

/** By the ApiKey's uid. An ApiKey that is missing here keeps its keys. */
export type FoundKeys = ReadonlyMap<Uid, FoundKey>

interface ApiKeyInput {
  /** The oldest first. */
  readonly apiKeys: readonly ApiKeyResource[]
  readonly tenants: TenantsByName
  /** Whether the ApiKey is among the `withinLimit` of its tenant. */
  readonly isWithinLimit: (resource: ApiKeyResource) => boolean
  readonly foundKeys: FoundKeys
  readonly now: Instant
  readonly previous: Pick<InForce<readonly ApiKey[]>, 'get'>
}

/**
 * The ApiKeys or templates within the limit of their tenant: the oldest from its namespaces, whether or not they compile. So creating more
 * never displaces a working one.
 */
export function withinLimit(
  tenant: TenantResult,
  kind: 'ApiKey' | 'Template',
  oldestFirst: Iterable<ApiKeyResource | TemplateResource>,
): ReadonlySet<Uid> {
  const allowed = new Set<Uid>()
  const max = kind === 'Template' ? TEMPLATES_MAX : apiKeysMaxOf(tenant.settings)
  for (const resource of oldestFirst) {
    if (allowed.size === max) break
    if (listsNamespaceOf(tenant, resource)) allowed.add(resource.metadata.uid)
  }
  return allowed
}

function apiKeysMaxOf(tenant: Tenant | undefined): number {
  return tenant?.limits.apiKeysMax ?? API_KEYS_MAX
}

/**
 * The keys in force. A key whose secret is gone keeps its published hash, because losing a file must not lock a tenant out. A key opens
 * nothing if its tenant does not list its namespace or has enough keys, or if an older key has the same hash.
 */
export function compileApiKeys(input: ApiKeyInput): readonly ApiKeyResult[] {
  const hashOwners = new Map<KeyHash, ApiKeyResource>()
  return input.apiKeys.map((resource) => {
    const found = findTenant(resource, input.tenants)
    if ('refusal' in found) return { resource, conditions: conditionsOf(resource, { needed: [found.refusal] }) }
    if (!input.isWithinLimit(resource))
      return { resource, conditions: conditionsOf(resource, { needed: [tooManyKeys(found.tenant)] }) }
    const key = resolveKey(resource, input)
    const unique = requireUniqueHash(resource, key.hash, hashOwners)
    // A published key that loses here is unknown the next time. The conditions already say what they will say then.
    const accepted = key.isPublished ? ACCEPTED : unique
    const conditions = conditionsOf(resource, { needed: [accepted, ...key.findings] })
    if (key.hash === undefined || !unique.isTrue) return { resource, conditions }
    const current = settingsOf(resource, { hash: key.hash, tenant: found.tenant })
    const last = key.replaced && { ...current, hash: key.replaced.hash, expiresAt: overlapEnd(current, key.replaced) }
    const isLeft =
      last !== undefined && input.now < last.expiresAt && requireUniqueHash(resource, last.hash, hashOwners).isTrue
    return { resource, conditions, settings: isLeft ? [current, last] : [current] }
  })
}

function tooManyKeys(tenant: Tenant): Finding {
  const message = `Tenant ${tenant.id} has ${apiKeysMaxOf(tenant)} older ApiKeys, as many as apiKeysMax allows: remove one of them`
  return fails('Accepted', 'TooManyApiKeys', message)
}

interface ResolvedKey {
  /** Absent if nothing was ever known of its Secret. */
  readonly hash?: KeyHash
  readonly replaced?: ReplacedKey
  /** Whether the key is known only from the published settings. */
  readonly isPublished?: boolean
  readonly findings: readonly Finding[]
}

function resolveKey({ metadata, spec }: ApiKeyResource, { foundKeys, previous, now }: ApiKeyInput): ResolvedKey {
  if (spec.sha256 !== undefined) return { hash: declaredHash(spec.sha256), findings: [] }
  const found = foundKeys.get(metadata.uid)
  if (found !== undefined && 'hash' in found) return { ...withoutExpired(found, now), findings: [] }
  const kept = found?.kept ?? publishedKeys(previous.get(metadata.uid)?.settings)
  return {
    isPublished: found?.kept === undefined,
    ...(kept !== undefined && withoutExpired(kept, now)),
    findings: [
      fails(
        'Ready',
        found?.reason ?? 'SecretMissing',
        found?.fault ?? `the key in secret ${metadata.namespace}/${spec.secretName} cannot be read`,
      ),
    ],
  }
}

export function requestedHashes({ metadata, spec }: ApiKeyResource, foundKeys: FoundKeys): readonly KeyHash[] {
  if (spec.sha256 !== undefined) return [declaredHash(spec.sha256)]
  const found = foundKeys.get(metadata.uid)
  const known = found !== undefined && 'fault' in found ? found.kept : found
  return known === undefined ? [] : [known.hash, ...(known.replaced ? [known.replaced.hash] : [])]
}

/** The schema has checked the form. */
function declaredHash(sha256: string): KeyHash {
  return sha256.slice('sha256:'.length) as KeyHash
}

function withoutExpired({ hash, replaced }: KeysInForce, now: Instant): KeysInForce {
  return { hash, ...(replaced !== undefined && now < replaced.until && { replaced }) }
}

function publishedKeys([current, last]: readonly ApiKey[] = []): KeysInForce | undefined {
  if (current === undefined) return undefined
  const until = last?.expiresAt
  return { hash: current.hash, ...(last && until !== undefined && { replaced: { hash: last.hash, until } }) }
}

function requireUniqueHash(
  resource: ApiKeyResource,
  hash: KeyHash | undefined,
  owners: Map<KeyHash, ApiKeyResource>,
): Finding {
  const owner = hash === undefined ? undefined : owners.get(hash)
  // The owner may belong to another tenant, so it is not named.
  if (owner !== undefined)
    return fails(
      'Accepted',
      'KeyTaken',
      `an older ApiKey has the key of ${labelOf(resource)}: bring or generate another`,
    )
  if (hash !== undefined) owners.set(hash, resource)
  return ACCEPTED
}

const ACCEPTED = holds('Accepted', 'Accepted')

function overlapEnd({ expiresAt = Number.POSITIVE_INFINITY }: ApiKey, { until }: ReplacedKey): Instant {
  return Math.min(until, expiresAt)
}

function settingsOf({ spec }: ApiKeyResource, { hash, tenant }: { hash: KeyHash; tenant: Tenant }): ApiKey {
  return {
    hash,
    tenant: tenant.id,
    environment: ENVIRONMENT_VALUES[spec.environment ?? apiKeySpecDefaults.environment],
    suspended: spec.suspend ?? apiKeySpecDefaults.suspend,
    ...(spec.expiresAt !== undefined && { expiresAt: Date.parse(spec.expiresAt) }),
  }
}

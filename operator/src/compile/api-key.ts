/** ApiKeys in, the keys that open the door out. */
import type { ApiKeyResource, Uid } from '@platen/contract/resource.ts'
import type { ApiKey, KeyHash, Tenant } from '@platen/contract/tenant.ts'
import { conditionsOf, type Finding, fails, holds, labelOf } from './condition.ts'
import type { InForce, Outcome } from './outcome.ts'
import { findTenant, type TenantsByName } from './tenant.ts'

export type ApiKeyOutcome = Outcome<ApiKeyResource, ApiKey>

/** The hashes of the keys that stand behind `secretName`, by the ApiKey's uid. */
export type KeyHashes = ReadonlyMap<Uid, KeyHash>

interface ApiKeyInput {
  /** The oldest first. */
  readonly apiKeys: readonly ApiKeyResource[]
  readonly tenants: TenantsByName
  readonly keyHashes: KeyHashes
  readonly previous: InForce<ApiKey>
}

/**
 * The keys in force. A key whose secret has gone keeps its published hash: losing a file must not lock a tenant out. A key whose
 * tenant does not know it, or whose hash an older one has, opens nothing.
 */
export function compileApiKeys({ apiKeys, tenants, keyHashes, previous }: ApiKeyInput): readonly ApiKeyOutcome[] {
  const claims = new Map<KeyHash, ApiKeyResource>()
  return apiKeys.map((resource) => {
    const found = findTenant(resource, tenants)
    if ('refusal' in found) return { resource, conditions: conditionsOf(resource, { needed: [found.refusal] }) }
    const known = hashOf(resource, keyHashes)
    const hash = known ?? previous.get(resource.metadata.uid)?.settings?.hash
    const accepted = claimHash(resource, hash, claims)
    const secret = known === undefined ? [secretMissing(resource)] : []
    const conditions = conditionsOf(resource, { needed: [accepted, ...secret] })
    if (hash === undefined || !accepted.isTrue) return { resource, conditions }
    return { resource, conditions, settings: settingsOf(resource, { hash, tenant: found.tenant }) }
  })
}

function hashOf({ metadata, spec }: ApiKeyResource, keyHashes: KeyHashes): KeyHash | undefined {
  // The schema has seen to its form.
  return spec.sha256 === undefined ? keyHashes.get(metadata.uid) : (spec.sha256.slice('sha256:'.length) as KeyHash)
}

function claimHash(resource: ApiKeyResource, hash: KeyHash | undefined, claims: Map<KeyHash, ApiKeyResource>): Finding {
  const owner = hash === undefined ? undefined : claims.get(hash)
  // Whose it is stays unsaid: the owner may be another tenant's.
  if (owner !== undefined)
    return fails(
      'Accepted',
      'KeyTaken',
      `an older ApiKey has the key of ${labelOf(resource)}: bring or generate another`,
    )
  if (hash !== undefined) claims.set(hash, resource)
  return holds('Accepted', 'Accepted')
}

function secretMissing({ metadata, spec }: ApiKeyResource): Finding {
  return fails('Ready', 'SecretMissing', `the key in secret ${metadata.namespace}/${spec.secretName} cannot be read`)
}

function settingsOf({ spec }: ApiKeyResource, { hash, tenant }: { hash: KeyHash; tenant: Tenant }): ApiKey {
  return {
    hash,
    tenant: tenant.id,
    environment: spec.environment ?? 'live',
    suspended: spec.suspended ?? false,
    ...(spec.expiresAt !== undefined && { expiresAt: Date.parse(spec.expiresAt) }),
  }
}

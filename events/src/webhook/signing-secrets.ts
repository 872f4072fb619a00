import type { Tenant } from '@platen/contract/domain/tenant.ts'
import { openWebhookSecret, type SigningSecrets, signingSecretsOf } from '@platen/contract/domain/webhook-secret.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { DeferralReason } from '@platen/contract/port/webhook-meter.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Log } from '@platen/lib/log.ts'
import type { SealKeys } from '@platen/lib/seal.ts'

export function obstacleOf({ webhookSecrets = [] }: Tenant): Exclude<DeferralReason, 'no_room'> {
  return webhookSecrets.length > 0 ? 'secret_unreadable' : 'secret_missing'
}

/**
 * The returned function opens the secrets of a tenant once, and keeps them until the next overlap ends or the seal keys change, because
 * opening costs more than signing. It logs a tenant without signing secrets once, until its settings change.
 */
export function openSigningSecrets(
  sealKeys: () => SealKeys,
  log: Log,
): (tenant: Tenant, now: Instant) => SigningSecrets | undefined {
  const opened = new WeakMap<Tenant, Opened>()
  return (tenant, now) => {
    const keys = sealKeys()
    const known = opened.get(tenant)
    if (known !== undefined && now < known.until && known.keys === keys) return known.secrets
    const secrets = signingSecretsOf(tenant, keys, now)
    const ends = (tenant.webhookSecrets ?? []).flatMap(({ until = now }) => (until > now ? [until] : []))
    opened.set(tenant, { secrets, until: Math.min(...ends), keys })
    if (secrets === undefined) log.error({ tenant: tenant.id, reason: obstacleOf(tenant) }, 'webhooks cannot be signed')
    return secrets
  }
}

interface Opened {
  readonly secrets: SigningSecrets | undefined
  readonly until: Instant
  readonly keys: SealKeys
}

/** Tenants whose secrets are tried before the keys count as wrong. A single damaged secret is not the fault of a key. */
const TENANTS_TRIED_MAX = 16

/**
 * The returned function returns false when some tenants have secrets and the seal keys open none. Then the process has other keys than the
 * publisher of the settings, and can sign nothing.
 */
export function sealKeyCheck(
  sealKeys: () => SealKeys,
  { directory, clock }: { readonly directory: Directory; readonly clock: Clock },
): () => boolean {
  return () => {
    const sealed = directory
      .current()
      .tenants.values()
      .filter(({ webhookSecrets = [] }) => webhookSecrets.length > 0)
      .take(TENANTS_TRIED_MAX)
      .toArray()
    return (
      sealed.length === 0 || sealed.some((tenant) => signingSecretsOf(tenant, sealKeys(), clock.now()) !== undefined)
    )
  }
}

/** The number of webhook secrets by the key that sealed them: the first, one of the others, or none of this process. */
export interface SealCounts {
  readonly first: number
  readonly older: number
  readonly unknown: number
}

export function sealCounter(sealKeys: () => SealKeys, directory: Directory): () => SealCounts {
  let counted = { keys: sealKeys(), of: new WeakMap<Tenant, SealCounts>() }
  return () => {
    const keys = sealKeys()
    if (keys !== counted.keys) counted = { keys, of: new WeakMap() }
    const total = { first: 0, older: 0, unknown: 0 }
    for (const tenant of directory.current().tenants.values()) {
      const counts = counted.of.get(tenant) ?? sealsOf(tenant, keys)
      counted.of.set(tenant, counts)
      for (const key of ['first', 'older', 'unknown'] as const) total[key] += counts[key]
    }
    return total
  }
}

function sealsOf({ account, webhookSecrets = [] }: Tenant, keys: SealKeys): SealCounts {
  const counts = { first: 0, older: 0, unknown: 0 }
  for (const { sealed } of webhookSecrets) {
    const opensWith = (tried: SealKeys) => openWebhookSecret(sealed, { account, keys: tried }) !== undefined
    if (opensWith([keys[0]])) counts.first++
    else if (opensWith(keys)) counts.older++
    else counts.unknown++
  }
  return counts
}

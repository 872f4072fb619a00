/** The secrets that sign the webhooks of tenants, and what is wrong when there are none. */
import type { Instant } from '@platen/contract/brand.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Directory } from '@platen/contract/port/directory.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { DeferralReason } from '@platen/contract/port/webhook-meter.ts'
import type { SealKey } from '@platen/contract/seal.ts'
import type { Tenant } from '@platen/contract/tenant.ts'
import { type SigningSecrets, signingSecretsOf } from '@platen/contract/webhook-secret.ts'

/** Why the webhooks of a tenant without signing secrets cannot be signed. */
export function obstacleOf({ webhookSecrets = [] }: Tenant): Exclude<DeferralReason, 'no_room'> {
  return webhookSecrets.length > 0 ? 'secret_unreadable' : 'secret_missing'
}

/**
 * Returns a function that returns the signing secrets of a tenant. It opens them once and keeps them until the next overlap ends, because
 * opening costs more than signing. Logs a tenant without signing secrets once, until its settings change.
 */
export function openSigningSecrets(
  sealKey: SealKey,
  log: Log,
): (tenant: Tenant, now: Instant) => SigningSecrets | undefined {
  const opened = new WeakMap<Tenant, { readonly secrets: SigningSecrets | undefined; readonly until: Instant }>()
  return (tenant, now) => {
    const known = opened.get(tenant)
    if (known !== undefined && now < known.until) return known.secrets
    const secrets = signingSecretsOf(tenant, sealKey, now)
    const ends = (tenant.webhookSecrets ?? []).flatMap(({ until = now }) => (until > now ? [until] : []))
    opened.set(tenant, { secrets, until: Math.min(...ends) })
    if (secrets === undefined) log.error({ tenant: tenant.id, reason: obstacleOf(tenant) }, 'webhooks cannot be signed')
    return secrets
  }
}

/** Tenants whose secrets are tried before the key counts as wrong. A single damaged secret is no fault of the key. */
const TENANTS_TRIED_MAX = 16

/**
 * Returns a function that returns false when the seal key opens the secrets of no tenant, though some have secrets. Then the process has
 * another key than the publisher of the settings, and can sign nothing.
 */
export function sealKeyCheck(
  sealKey: SealKey,
  { directory, clock }: { readonly directory: Directory; readonly clock: Clock },
): () => boolean {
  return () => {
    const sealed = directory
      .current()
      .tenants.values()
      .filter(({ webhookSecrets = [] }) => webhookSecrets.length > 0)
      .take(TENANTS_TRIED_MAX)
      .toArray()
    return sealed.length === 0 || sealed.some((tenant) => signingSecretsOf(tenant, sealKey, clock.now()) !== undefined)
  }
}

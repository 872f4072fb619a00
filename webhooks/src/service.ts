/** The webhooks of one process: one dispatcher, from when the settings have been read until the service closes. */
import type { Instant } from '@platen/contract/brand.ts'
import type { SealKey } from '@platen/contract/seal.ts'
import type { Tenant } from '@platen/contract/tenant.ts'
import { type SigningSecrets, secretsOf } from '@platen/contract/webhook-secret.ts'
import { type DispatcherPorts, type DispatcherSettings, runDispatcher } from './dispatcher.ts'

export interface WebhooksOptions {
  readonly ports: DispatcherPorts
  readonly settings: Omit<DispatcherSettings, 'secretsOf'>
  /** Opens the tenants' webhook secrets. */
  readonly sealKey: SealKey
}

/** Closing it lets the calls in hand end. */
export interface Webhooks extends AsyncDisposable {
  /** Delivers from now on. Called when the settings that deliveries are signed by have been read. */
  begin(): void
  /** False when the dispatcher has ended by a defect. */
  isAlive(): boolean
}

/** Opens nothing. Deliveries wait until `begin`. */
export function openWebhooks({ ports, settings, sealKey }: WebhooksOptions): Webhooks {
  const stopping = new AbortController()
  let ended = Promise.resolve()
  let isAlive = true
  return {
    begin() {
      const signing = { ...settings, secretsOf: openedOnce(sealKey) }
      ended = runDispatcher(ports, signing, stopping.signal).catch((err: unknown) => {
        isAlive = false
        ports.log.error({ err }, 'webhooks stopped working')
      })
    },
    isAlive: () => isAlive,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await ended
    },
  }
}

/** What signs a tenant's webhooks. It is opened once until the next overlap ends: that costs more than signing does. */
function openedOnce(sealKey: SealKey): DispatcherSettings['secretsOf'] {
  const opened = new WeakMap<Tenant, { readonly secrets: SigningSecrets | undefined; readonly until: Instant }>()
  return (tenant, now) => {
    const known = opened.get(tenant)
    if (known !== undefined && now < known.until) return known.secrets
    const secrets = secretsOf(tenant, sealKey, now)
    const ends = (tenant.webhookSecrets ?? []).flatMap(({ until = now }) => (until > now ? [until] : []))
    opened.set(tenant, { secrets, until: Math.min(...ends) })
    return secrets
  }
}

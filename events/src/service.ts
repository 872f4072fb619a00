/** What a process does with the events of renders, from when it is told to begin until it is closed: a dispatcher, retention, and a projection. */
import type { Instant } from '@platen/contract/brand.ts'
import type { Log } from '@platen/contract/port/log.ts'
import type { SealKey } from '@platen/contract/seal.ts'
import type { Tenant } from '@platen/contract/tenant.ts'
import { type SigningSecrets, signingSecretsOf } from '@platen/contract/webhook-secret.ts'
import { type ProjectionPorts, runProjection } from './charge/projection.ts'
import { type RetentionPorts, runRetention } from './retention/retention.ts'
import { type DispatcherPorts, type DispatcherSettings, runDispatcher } from './webhook/dispatcher.ts'

export interface WebhooksOptions {
  readonly ports: DispatcherPorts
  readonly settings: Omit<DispatcherSettings, 'signingSecretsOf'>
  /** Opens the tenants' webhook secrets. */
  readonly sealKey: SealKey
}

/** Closing it lets the calls in hand end. */
export interface Webhooks extends Running {
  /** Delivers from now on. Called when the settings that deliveries are signed by have been read. */
  begin(): void
}

/** Opens nothing. Deliveries wait until `begin`. */
export function openWebhooks({ ports, settings, sealKey }: WebhooksOptions): Webhooks {
  const signing = { ...settings, signingSecretsOf: cachedSecrets(sealKey) }
  let running: Running | undefined
  return {
    begin() {
      running = inBackground((signal) => runDispatcher(ports, signing, signal), ports.log, 'dispatcher failed')
    },
    isAlive: () => running?.isAlive() ?? true,
    [Symbol.asyncDispose]: async () => await running?.[Symbol.asyncDispose](),
  }
}

/** Removes what is past its time in a cluster, from now on. Closing it lets the step in hand end. */
export function openRetention(ports: RetentionPorts): Running {
  return inBackground((signal) => runRetention(ports, signal), ports.log, 'retention failed')
}

/** Makes the views in Redis from the event log, from now on. Closing it leaves the rest to the next. */
export function openProjection(ports: ProjectionPorts): Running {
  return inBackground((signal) => runProjection(ports, signal), ports.log, 'projection failed')
}

/** What runs until it is closed. */
export interface Running extends AsyncDisposable {
  /** False when it has ended by a defect. */
  isAlive(): boolean
}

function inBackground(run: (signal: AbortSignal) => Promise<void>, log: Log, endMessage: string): Running {
  const stopping = new AbortController()
  let isAlive = true
  const ended = run(stopping.signal).catch((err: unknown) => {
    isAlive = false
    log.error({ err }, endMessage)
  })
  return {
    isAlive: () => isAlive,
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await ended
    },
  }
}

/** What signs a tenant's webhooks. It is opened once until the next overlap ends: that costs more than signing does. */
function cachedSecrets(sealKey: SealKey): DispatcherSettings['signingSecretsOf'] {
  const opened = new WeakMap<Tenant, { readonly secrets: SigningSecrets | undefined; readonly until: Instant }>()
  return (tenant, now) => {
    const known = opened.get(tenant)
    if (known !== undefined && now < known.until) return known.secrets
    const secrets = signingSecretsOf(tenant, sealKey, now)
    const ends = (tenant.webhookSecrets ?? []).flatMap(({ until = now }) => (until > now ? [until] : []))
    opened.set(tenant, { secrets, until: Math.min(...ends) })
    return secrets
  }
}

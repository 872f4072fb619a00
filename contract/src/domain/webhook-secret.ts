/**
 * The secrets that sign a tenant's webhooks, across rotations. A replaced secret keeps signing for an overlap, so that receivers need not
 * switch at the same moment as the sender. `X-Service-Signature` has one signature, by the secret that receivers have known longest;
 * `webhook-signature` has one by each secret. Pure.
 */
import type { Instant } from '@platen/lib/brand.ts'
import type { Ids } from '@platen/lib/ids.ts'
import { randomSecret } from '@platen/lib/random-secret.ts'
import { reseal, type Seal, type SealKeys, seal, unseal } from '@platen/lib/seal.ts'
import { WEBHOOK_SECRET_OVERLAP_MS, WEBHOOK_SECRETS_MAX } from './limit.ts'
import type { TenantSpec } from './resource-spec.ts'
import type { Tenant, WebhookSecret } from './tenant.ts'

/** Shorter secrets could be guessed, and longer ones add nothing to an HMAC of 256 bits. */
const WEBHOOK_SECRET_CHARS_MIN = 24
const WEBHOOK_SECRET_CHARS_MAX = 512

/** Of a secret that a tenant brings, for error messages. */
export const WEBHOOK_SECRET_FORMAT = `${WEBHOOK_SECRET_CHARS_MIN} to ${WEBHOOK_SECRET_CHARS_MAX} printable ASCII characters without spaces or line ends`

/** Checks `WEBHOOK_SECRET_FORMAT`. Tools disagree on how to spell anything else. */
export function isWebhookSecret(text: string): boolean {
  const isLongEnough = text.length >= WEBHOOK_SECRET_CHARS_MIN && text.length <= WEBHOOK_SECRET_CHARS_MAX
  return isLongEnough && /^[!-~]+$/.test(text)
}

/** Has no prefix `whsec_`, after which libraries of Standard Webhooks expect base64. */
export function newWebhookSecret(brand: string, ids: Ids): string {
  return `${brand}_webhook_${randomSecret(ids)}`
}

export type WebhookSecretReference = NonNullable<TenantSpec['webhookSecretRef']>

export type ReferencedSecret = { readonly secret: string } | { readonly fault: string }

/** As in manifests and clusters. */
interface SecretValues {
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>
  /** Plain text. Takes precedence over `data` of the same key. */
  readonly stringData?: Readonly<Record<string, string>>
}

/** The webhook secret that a reference names in the given Secret, or why there is none and what to do. */
export function referencedSecret(
  { namespace, name, key }: WebhookSecretReference,
  secret: SecretValues | undefined,
): ReferencedSecret {
  const fault = (message: string) => ({
    fault: `webhookSecretRef names ${namespace}/${name}/${key}, but ${message}`,
  })
  if (secret === undefined) return fault('there is no such Secret: declare it')
  const text = ownValue(secret.stringData, key)
  const encoded = ownValue(secret.data, key)
  if (text === undefined && encoded === undefined) return fault('the Secret has no such key: add it')
  const value = text ?? decoded(encoded ?? '')
  if (value === undefined) return fault('its data is not base64: encode it, or use stringData')
  return isWebhookSecret(value) ? { secret: value } : fault(`its value is not ${WEBHOOK_SECRET_FORMAT}: change it`)
}

interface WebhookSeal {
  /** A sealed secret does not open for another account. */
  readonly account: string
  readonly keys: SealKeys
}

export function sealWebhookSecret(secret: string, whose: WebhookSeal): string {
  return seal(secret, sealOf(whose))
}

/** Undefined if the sealed text does not open. */
export function openWebhookSecret(sealed: string, whose: WebhookSeal): string | undefined {
  return unseal(sealed, sealOf(whose))
}

/** Seals the same secret with the first key. Returns the text itself if that key sealed it already, or if no key opens it. */
export function resealWebhookSecret(sealed: string, whose: WebhookSeal): string {
  return reseal(sealed, sealOf(whose))
}

/**
 * The secrets in force after `sealed` becomes the current one, in the order of `Tenant.webhookSecrets`; the entries of `before` if it was
 * current already. A replaced secret gets an overlap. A secret that returns within its overlap keeps its position. Undefined if
 * `WEBHOOK_SECRETS_MAX` are in force: the new one must wait until an overlap ends.
 */
export function withCurrentSecret(
  before: readonly WebhookSecret[],
  sealed: string,
  now: Instant,
): readonly WebhookSecret[] | undefined {
  const secrets = inForce(before, now).map((secret): WebhookSecret => {
    if (secret.sealed === sealed) return { sealed }
    return { sealed: secret.sealed, until: secret.until ?? now + WEBHOOK_SECRET_OVERLAP_MS }
  })
  if (secrets.some((secret) => secret.sealed === sealed)) return secrets
  return secrets.length < WEBHOOK_SECRETS_MAX ? [...secrets, { sealed }] : undefined
}

/** The current secret, and those whose overlap has not ended. */
export function inForce(secrets: readonly WebhookSecret[], now: Instant): readonly WebhookSecret[] {
  return secrets.filter(({ until }) => until === undefined || now < until)
}

/** In plain text, at one moment. */
export interface SigningSecrets {
  /** Known longest by receivers. Signs `X-Service-Signature`. */
  readonly oldest: string
  /** The current one first, in the order of `webhook-signature`. */
  readonly all: readonly string[]
}

/** Undefined if the tenant has no secret that opens with these keys. */
export function signingSecretsOf(
  { account, webhookSecrets = [] }: Pick<Tenant, 'account' | 'webhookSecrets'>,
  keys: SealKeys,
  now: Instant,
): SigningSecrets | undefined {
  const opened = inForce(webhookSecrets, now).flatMap(({ sealed, until }) => {
    const secret = openWebhookSecret(sealed, { account, keys })
    return secret === undefined ? [] : [{ secret, isCurrent: until === undefined }]
  })
  const [oldest] = opened
  if (oldest === undefined) return undefined
  const currentFirst = opened.toReversed().sort((one, other) => Number(other.isCurrent) - Number(one.isCurrent))
  return { oldest: oldest.secret, all: currentFirst.map(({ secret }) => secret) }
}

function sealOf({ account, keys }: WebhookSeal): Seal {
  return { name: `webhook secret of ${account}`, keys }
}

/** A key may have the name of an inherited property. */
function ownValue(values: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return values !== undefined && Object.hasOwn(values, key) ? values[key] : undefined
}

/** May have line ends anywhere, as in a cluster. */
function decoded(base64: string): string | undefined {
  const text = base64.replace(/[\r\n]/g, '')
  const isBase64 = /^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)
  return isBase64 ? Buffer.from(text, 'base64').toString('utf8') : undefined
}

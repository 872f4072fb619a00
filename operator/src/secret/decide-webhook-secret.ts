/**
 * What becomes of the webhook secret of a Tenant without `webhookSecretRef`: given its Secret, its status, what is asked for and the
 * time, what to write and what to sign with. The Secret alone holds it: one that is edited by hand counts from then on, and one that is
 * gone is not made again before somebody asks for it, as receivers know it. Pure.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { parseInstant } from '@platen/contract/instant.ts'
import { type TenantResource } from '@platen/contract/resource.ts'
import { ROTATE_ANNOTATION } from '@platen/contract/schema/resource.ts'
import { WEBHOOK_SECRET_OVERLAP_MS } from '@platen/contract/webhook-limit.ts'
import { isWebhookSecret, WEBHOOK_SECRET_FORMAT } from '@platen/contract/webhook-secret.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { SecretFault } from '@platen/settings/compile/tenant.ts'
import {
  differencesBetween,
  type HeldSecret,
  labelsOf,
  type SecretPlace,
  standingOf,
  type WantedSecret,
} from './held-secret.ts'
import {
  type Asked,
  echoOf,
  overlapEndIn,
  PREVIOUS_UNTIL_ANNOTATION,
  rotationAnnotations,
  servedBy,
  withServed,
} from './rotation.ts'

/** What the status of a Tenant says of its webhook secret. */
export interface WebhookSecretStatus {
  /** Where it stands. */
  readonly webhookSecret?: SecretPlace
  /** The last rotation served, as it was asked for. */
  readonly rotation?: string
}

export interface WebhookSecretLook {
  readonly resource: TenantResource
  readonly place: SecretPlace
  /** What stands at the place. */
  readonly secret: HeldSecret | undefined
  readonly status: WebhookSecretStatus
  readonly asked: Asked | undefined
  readonly now: Instant
  readonly makeSecret: () => string
}

export interface WebhookSecretVerdict {
  readonly found: PlainSecret
  /** To be written when the secret is published. */
  readonly status: WebhookSecretStatus
  /** What the Secret is to be before anything is published; absent where it is so, or not ours to write. */
  readonly write?: WantedSecret
  /** Does the write bring a new secret? */
  readonly isNew: boolean
  /** The fields of the Secret that somebody else has changed, and that the write puts right. */
  readonly repaired: readonly string[]
  /** When to look again: an overlap ends. */
  readonly again?: Instant
}

/** As `FoundSecret`, and not sealed. */
export type PlainSecret =
  | { readonly current: string; readonly replaced?: string }
  | { readonly fault: string; readonly reason?: SecretFault }

export function decideWebhookSecret(look: WebhookSecretLook): WebhookSecretVerdict {
  const { resource, secret, status, asked, place } = look
  const standing = secret && standingOf(secret, ownerOf(resource))
  const wasMade = isSamePlace(status.webhookSecret, place)
  const isOwn = standing === 'own' || (standing === 'orphan' && wasMade)
  const own = isOwn ? secret : undefined
  const label = `Secret ${place.namespace}/${place.name}`
  if (secret !== undefined && !isOwn && standing !== 'predecessor')
    return refuse(look, { fault: `${label} is not of ${labelOf(resource)}: remove it`, reason: 'SecretTaken' })
  const isAsked = asked !== undefined && !servedOf(look, own).includes(asked.at)
  if (isAsked || (own === undefined && !wasMade)) {
    if (secret?.isImmutable === true)
      return refuse(look, { fault: `${label} is immutable, so that no new secret can be written: remove it` })
    return renew(look, own)
  }
  if (own === undefined) {
    const what = secret === undefined ? 'is gone' : 'is that of a Tenant which had the name before'
    return refuse(look, { fault: missingFault(look, `${label} ${what}`) })
  }
  return uphold(look, own)
}

/** A new secret; the one before it is kept, so that settings made from nothing else know of it as well. */
function renew(look: WebhookSecretLook, own: HeldSecret | undefined): WebhookSecretVerdict {
  const { asked, now, makeSecret } = look
  const last = own?.data['secret']
  const next = {
    secret: makeSecret(),
    served: withServed(servedOf(look, own), asked?.at),
    ...(last !== undefined &&
      isWebhookSecret(last) && { previous: { secret: last, until: now + WEBHOOK_SECRET_OVERLAP_MS } }),
  }
  return { ...verdictOf(look, next), found: foundOf(next), write: wantedOf(look, next), isNew: true, repaired: [] }
}

/** The secret stays; what else its Secret says is put right. */
function uphold(look: WebhookSecretLook, own: HeldSecret): WebhookSecretVerdict {
  const { place, now } = look
  const { secret } = own.data
  const end = overlapEndIn(own.annotations)
  const isOver = end !== undefined && end <= now
  const next = { secret, served: servedOf(look, own), previous: isOver ? undefined : previousIn(own, end) }
  const wanted = wantedOf(look, next)
  const differing = own.isImmutable ? [] : differencesBetween(own, wanted)
  const verdict = {
    ...verdictOf(look, next),
    ...(differing.length > 0 && { write: wanted }),
    isNew: false,
    repaired: differing.filter((field) => !(isOver && OVERLAP_FIELDS.includes(field))),
  }
  if (secret !== undefined && isWebhookSecret(secret)) return { ...verdict, found: foundOf({ ...next, secret }) }
  const what = `Secret ${place.namespace}/${place.name} has not ${WEBHOOK_SECRET_FORMAT} in its key secret`
  return { ...verdict, found: { fault: missingFault(look, what) } }
}

const OVERLAP_FIELDS = ['data.previousSecret', `annotations.${PREVIOUS_UNTIL_ANNOTATION}`]

interface Previous {
  readonly secret: string
  readonly until: Instant
}

function previousIn({ data }: HeldSecret, until: Instant | undefined): Previous | undefined {
  const { previousSecret: secret } = data
  return secret === undefined || until === undefined || !isWebhookSecret(secret) ? undefined : { secret, until }
}

/** Nothing is written. */
function refuse(
  look: WebhookSecretLook,
  refusal: Extract<PlainSecret, { readonly fault: string }>,
): WebhookSecretVerdict {
  return { found: refusal, status: look.status, isNew: false, repaired: [] }
}

function servedOf({ status }: WebhookSecretLook, own: HeldSecret | undefined): readonly Instant[] {
  return withServed(own === undefined ? [] : servedBy(own.annotations), parseInstant(status.rotation ?? ''))
}

interface Secrets {
  readonly secret: string | undefined
  readonly previous?: Previous | undefined
  readonly served: readonly Instant[]
}

function verdictOf(
  { place, status, asked }: WebhookSecretLook,
  { previous, served }: Secrets,
): Pick<WebhookSecretVerdict, 'status' | 'again'> {
  const rotation = echoOf(served, [asked?.text, status.rotation])
  return {
    status: { webhookSecret: place, ...(rotation !== undefined && { rotation }) },
    ...(previous !== undefined && { again: previous.until }),
  }
}

function foundOf({ secret, previous }: Secrets & { readonly secret: string }): PlainSecret {
  return { current: secret, ...(previous !== undefined && { replaced: previous.secret }) }
}

function wantedOf({ resource }: WebhookSecretLook, { secret, previous, served }: Secrets): WantedSecret {
  const { name } = resource.metadata
  return {
    owner: ownerOf(resource),
    data: { ...(secret !== undefined && { secret }), tenant: name, previousSecret: previous?.secret },
    annotations: rotationAnnotations(served, previous?.until),
    labels: labelsOf(name),
  }
}

function ownerOf({ metadata }: TenantResource) {
  return { kind: 'Tenant', name: metadata.name, uid: metadata.uid } as const
}

function isSamePlace(one: SecretPlace | undefined, other: SecretPlace): boolean {
  return one?.namespace === other.namespace && one.name === other.name
}

/** What happens meanwhile, `compile` adds: it depends on what was published. */
function missingFault({ resource }: WebhookSecretLook, what: string): string {
  return `${what}: restore it, or have a new one made by the annotation ${ROTATE_ANNOTATION} of ${labelOf(resource)}`
}

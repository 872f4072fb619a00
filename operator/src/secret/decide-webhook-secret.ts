/**
 * Decides about the webhook secret of a Tenant without `webhookSecretRef`. From its Secret, its status, the requested rotation and the
 * time, computes what to write and what to sign with. Only the Secret holds the value, so an edit by hand counts from then on. A lost
 * value is not replaced before somebody asks for a rotation, because receivers know the old one. Pure.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { parseInstant } from '@platen/contract/instant.ts'
import { WEBHOOK_SECRET_OVERLAP_MS } from '@platen/contract/limit.ts'
import { type TenantResource } from '@platen/contract/resource.ts'
import { ROTATE_ANNOTATION, type TenantStatus } from '@platen/contract/schema/resource.ts'
import { isWebhookSecret, WEBHOOK_SECRET_FORMAT } from '@platen/contract/webhook-secret.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { SecretRefusalReason } from '@platen/settings/compile/tenant.ts'
import {
  type ClusterSecret,
  labelsOf,
  ownershipOf,
  repairOf,
  type SecretDecision,
  type SecretLocation,
  type WantedSecret,
} from './cluster-secret.ts'
import {
  overlapEndIn,
  PREVIOUS_UNTIL_ANNOTATION,
  type RotationRequest,
  rotationAnnotations,
  servedRotations,
  servedRotationText,
  withServed,
} from './rotation.ts'

/** The webhook fields in the status of a Tenant. */
export type WebhookSecretStatus = Pick<TenantStatus, 'webhookSecret' | 'rotation'>

export interface WebhookSecretDecisionInput {
  readonly resource: TenantResource
  readonly place: SecretLocation
  /** The Secret at `place`. */
  readonly secret: ClusterSecret | undefined
  readonly status: WebhookSecretStatus
  readonly asked: RotationRequest | undefined
  readonly now: Instant
  readonly makeSecret: () => string
}

export type WebhookSecretDecision = SecretDecision<PlainSecret, WebhookSecretStatus>

/** A `FoundSecret` that is not sealed. */
export type PlainSecret =
  | { readonly current: string; readonly replaced?: string }
  | { readonly fault: string; readonly reason?: SecretRefusalReason }

export function decideWebhookSecret(input: WebhookSecretDecisionInput): WebhookSecretDecision {
  const { resource, secret, status, asked, place } = input
  const ownership = secret && ownershipOf(secret, ownerOf(resource))
  const wasMade = isSameLocation(status.webhookSecret, place)
  const isOwn = ownership === 'own' || (ownership === 'orphan' && wasMade)
  const own = isOwn ? secret : undefined
  const label = `Secret ${place.namespace}/${place.name}`
  if (secret !== undefined && !isOwn && ownership !== 'predecessor')
    return keepWithFault(input, {
      fault: `${label} does not belong to ${labelOf(resource)}: remove it`,
      reason: 'SecretTaken',
    })
  const isAsked = asked !== undefined && !servedOf(input, own).includes(asked.at)
  if (isAsked || (own === undefined && !wasMade)) {
    if (secret?.isImmutable === true)
      return keepWithFault(input, { fault: `${label} is immutable, so no new secret can be written to it: remove it` })
    return replaceSecret(input, own)
  }
  if (own === undefined) {
    const what = secret === undefined ? 'is gone' : 'belongs to an earlier Tenant of the same name'
    return keepWithFault(input, { fault: missingFault(input, `${label} ${what}`) })
  }
  return keepAndRepair(input, own)
}

/** Makes a new secret. The Secret keeps the one before, so that settings rebuilt from the Secret alone contain it too. */
function replaceSecret(input: WebhookSecretDecisionInput, own: ClusterSecret | undefined): WebhookSecretDecision {
  const { asked, now, makeSecret } = input
  const last = own?.data['secret']
  const next = {
    secret: makeSecret(),
    served: withServed(servedOf(input, own), asked?.at),
    ...(last !== undefined &&
      isWebhookSecret(last) && { previous: { secret: last, until: now + WEBHOOK_SECRET_OVERLAP_MS } }),
  }
  return { ...decisionOf(input, next), found: foundOf(next), write: wantedOf(input, next), isNew: true, repaired: [] }
}

/** Keeps the secret, and repairs the rest of its Secret. */
function keepAndRepair(input: WebhookSecretDecisionInput, own: ClusterSecret): WebhookSecretDecision {
  const { place, now } = input
  const { secret } = own.data
  const end = overlapEndIn(own.annotations)
  const isOver = end !== undefined && end <= now
  const next = { secret, served: servedOf(input, own), previous: isOver ? undefined : previousIn(own, end) }
  const decision = {
    ...decisionOf(input, next),
    ...repairOf(own, wantedOf(input, next), isOver ? OVERLAP_FIELDS : []),
  }
  if (secret !== undefined && isWebhookSecret(secret)) return { ...decision, found: foundOf({ ...next, secret }) }
  const what = `Secret ${place.namespace}/${place.name} does not have ${WEBHOOK_SECRET_FORMAT} in its key secret`
  return { ...decision, found: { fault: missingFault(input, what) } }
}

const OVERLAP_FIELDS = ['data.previousSecret', `annotations.${PREVIOUS_UNTIL_ANNOTATION}`]

interface Previous {
  readonly secret: string
  readonly until: Instant
}

function previousIn({ data }: ClusterSecret, until: Instant | undefined): Previous | undefined {
  const { previousSecret: secret } = data
  return secret === undefined || until === undefined || !isWebhookSecret(secret) ? undefined : { secret, until }
}

/** Writes nothing. */
function keepWithFault(
  input: WebhookSecretDecisionInput,
  refusal: Extract<PlainSecret, { readonly fault: string }>,
): WebhookSecretDecision {
  return { found: refusal, status: input.status, isNew: false, repaired: [] }
}

function servedOf({ status }: WebhookSecretDecisionInput, own: ClusterSecret | undefined): readonly Instant[] {
  return withServed(own === undefined ? [] : servedRotations(own.annotations), parseInstant(status.rotation ?? ''))
}

interface Secrets {
  readonly secret: string | undefined
  readonly previous?: Previous | undefined
  readonly served: readonly Instant[]
}

function decisionOf(
  { place, status, asked }: WebhookSecretDecisionInput,
  { previous, served }: Secrets,
): Pick<WebhookSecretDecision, 'status' | 'retryAt'> {
  const rotation = servedRotationText(served, [asked?.text, status.rotation])
  return {
    status: { webhookSecret: place, ...(rotation !== undefined && { rotation }) },
    ...(previous !== undefined && { retryAt: previous.until }),
  }
}

function foundOf({ secret, previous }: Secrets & { readonly secret: string }): PlainSecret {
  return { current: secret, ...(previous !== undefined && { replaced: previous.secret }) }
}

function wantedOf({ resource }: WebhookSecretDecisionInput, { secret, previous, served }: Secrets): WantedSecret {
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

function isSameLocation(one: SecretLocation | undefined, other: SecretLocation): boolean {
  return one?.namespace === other.namespace && one.name === other.name
}

/** `compile` adds what happens meanwhile: it depends on what was published. */
function missingFault({ resource }: WebhookSecretDecisionInput, what: string): string {
  return `${what}: restore it, or request a new one with the annotation ${ROTATE_ANNOTATION} on ${labelOf(resource)}`
}

/**
 * Station of a Tenant on its way to be published: the secret that its webhooks are signed with, read where `webhookSecretRef`
 * leads, or made and rotated in a Secret of the operator's namespace. What holds of `settle-key.ts` holds here; what is answered is sealed.
 */
import { type TenantResource, type Uid } from '@platen/contract/resource.ts'
import { ROTATE_ANNOTATION } from '@platen/contract/schema/resource.ts'
import type { SealKey } from '@platen/contract/seal.ts'
import {
  newWebhookSecret,
  referencedSecret,
  sealWebhookSecret,
  type WebhookSecretReference,
} from '@platen/contract/webhook-secret.ts'
import type { FoundSecret } from '@platen/settings/compile/tenant.ts'
import type { KubeObject } from '../cluster/object.ts'
import {
  decideWebhookSecret,
  type PlainSecret,
  type WebhookSecretStatus,
  type WebhookSecretVerdict,
} from './decide-webhook-secret.ts'
import { SECRETS_GRANT_RETRY_MS } from './limit.ts'
import { type Annotations, type Asked, readAsked } from './rotation.ts'
import type { SecretPorts } from './settle-key.ts'
import { readSecret, SecretsNotGranted, type SeenSecret, seenOf, settleSecret } from './write-secret.ts'

export interface WebhookSecretPorts extends SecretPorts {
  readonly sealKey: SealKey
}

export interface WebhookSecretQuestion {
  readonly resource: TenantResource
  /** Those of the resource. */
  readonly annotations: Annotations
  /** As it was written last. */
  readonly status: WebhookSecretStatus
}

export interface SettledWebhookSecret extends Omit<WebhookSecretVerdict, 'write' | 'found'> {
  readonly found: FoundSecret
  /** Why what the annotation says is no rotation, where there is one. */
  readonly ignored?: string
  /** For the audit. */
  readonly seen: SeenSecret
}

/** Finds the webhook secret of a Tenant, and makes one where that is due. Throws what the client throws. */
export async function settleWebhookSecret(
  question: WebhookSecretQuestion,
  ports: WebhookSecretPorts,
  signal: AbortSignal,
): Promise<SettledWebhookSecret> {
  const { resource, annotations } = question
  const { asked, ignored } = readAsked(annotations, ROTATE_ANNOTATION)
  const { webhookSecretRef } = resource.spec
  const settling =
    webhookSecretRef === undefined
      ? settleGenerated({ ...question, asked }, ports, signal)
      : settleReferenced({ ...question, asked, reference: webhookSecretRef }, ports, signal)
  const settled = await settling.catch((error: unknown) => notGranted(error, question, ports))
  const found = sealed(settled.found, resource.metadata.uid, ports.sealKey)
  return { ...settled, found, ...(ignored !== undefined && { ignored }) }
}

/** What was published stays, and so does what the status says. */
function notGranted(
  error: unknown,
  { status }: WebhookSecretQuestion,
  { clock, namespace }: WebhookSecretPorts,
): Settled {
  if (!(error instanceof SecretsNotGranted)) throw error
  return {
    found: error.refusal(namespace),
    status,
    isNew: false,
    repaired: [],
    again: clock.now() + SECRETS_GRANT_RETRY_MS,
    seen: { place: error.place },
  }
}

type Settled = Omit<SettledWebhookSecret, 'found'> & { readonly found: PlainSecret }

interface Asking extends WebhookSecretQuestion {
  readonly asked: Asked | undefined
}

async function settleGenerated(
  { resource, status, asked }: Asking,
  { client, clock, ids, brand, namespace }: WebhookSecretPorts,
  signal: AbortSignal,
): Promise<Settled> {
  const place = { namespace, name: `${resource.metadata.name}-webhook` }
  const makeSecret = () => newWebhookSecret(brand, ids)
  const { verdict, seen } = await settleSecret(
    { place, client },
    (secret) => decideWebhookSecret({ resource, place, secret, status, asked, now: clock.now(), makeSecret }),
    signal,
  )
  const { write: _written, ...answer } = verdict
  return { ...answer, seen }
}

/** It rotates with what it leads to: that a rotation was asked for is remembered, and nothing else. */
async function settleReferenced(
  { status, asked, reference }: Asking & { readonly reference: WebhookSecretReference },
  { client }: WebhookSecretPorts,
  signal: AbortSignal,
): Promise<Settled> {
  const place = { namespace: reference.namespace, name: reference.name }
  const stored = await readSecret(client, place, signal)
  const value = referencedSecret(reference, stored && { data: encodedIn(stored) })
  const rotation = asked?.text ?? status.rotation
  return {
    found: 'fault' in value ? value : { current: value.secret },
    status: { webhookSecret: place, ...(rotation !== undefined && { rotation }) },
    isNew: false,
    repaired: [],
    seen: seenOf(place, stored),
  }
}

function encodedIn({ data }: KubeObject): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, String(value)]))
}

function sealed(found: PlainSecret, incarnation: Uid, key: SealKey): FoundSecret {
  if ('fault' in found) return found
  const { current, replaced } = found
  const seal = (secret: string) => sealWebhookSecret(secret, { incarnation, key })
  return { current: seal(current), ...(replaced !== undefined && { replaced: seal(replaced) }) }
}

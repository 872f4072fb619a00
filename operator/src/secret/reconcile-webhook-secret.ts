/**
 * Reconciles the webhook secret of a Tenant. Reads it from the Secret that `webhookSecretRef` names, or creates and rotates it in a Secret
 * of the operator's namespace. Gives the guarantees of `reconcile-key-secret.ts`. The result is sealed.
 */
import type { TenantResource } from '@platen/contract/domain/resource.ts'
import { ROTATE_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import {
  newWebhookSecret,
  referencedSecret,
  sealWebhookSecret,
  type WebhookSecretReference,
} from '@platen/contract/domain/webhook-secret.ts'
import type { SealKeys } from '@platen/lib/seal.ts'
import type { FoundSecret } from '@platen/settings/compile/tenant.ts'
import type { KubeObject } from '../cluster/object.ts'
import { decideWebhookSecret, type PlainSecret, type WebhookSecretStatus } from './decide-webhook-secret.ts'
import { SECRETS_GRANT_RETRY_MS } from './limit.ts'
import type { SecretPorts } from './reconcile-key-secret.ts'
import { type RotationRequest, readRotationRequest } from './rotation.ts'
import { observedSecret, type ReconciledSecret, readSecret, SecretsNotGranted, updateSecret } from './update-secret.ts'

export interface WebhookSecretPorts extends SecretPorts {
  readonly sealKeys: () => SealKeys
}

interface WebhookSecretInput {
  readonly resource: TenantResource
  /** The text of its rotation annotation. */
  readonly rotation: string | undefined
  /** The last status written. */
  readonly status: WebhookSecretStatus
}

export type ReconciledWebhookSecret = ReconciledSecret<FoundSecret, WebhookSecretStatus>

/** Creates or rotates the webhook secret if that is due. Throws what the client throws. */
export async function reconcileWebhookSecret(
  input: WebhookSecretInput,
  ports: WebhookSecretPorts,
  signal: AbortSignal,
): Promise<ReconciledWebhookSecret> {
  const { resource, rotation } = input
  const { asked, ignored } = readRotationRequest(rotation, ROTATE_ANNOTATION)
  const { webhookSecretRef } = resource.spec
  const reconciling =
    webhookSecretRef === undefined
      ? reconcileGenerated({ ...input, asked }, ports, signal)
      : readReferenced({ ...input, asked, reference: webhookSecretRef }, ports, signal)
  const reconciled = await reconciling.catch((error: unknown) => resultIfNotGranted(error, input, ports))
  const found = sealed(reconciled.found, resource.metadata.account, ports.sealKeys())
  return { ...reconciled, found, ...(ignored !== undefined && { ignored }) }
}

/** Keeps what was published, and what the status says. */
function resultIfNotGranted(
  error: unknown,
  { status }: WebhookSecretInput,
  { clock, namespace }: WebhookSecretPorts,
): PlainReconciled {
  if (!(error instanceof SecretsNotGranted)) throw error
  return {
    found: error.refusal(namespace),
    status,
    isNew: false,
    repaired: [],
    retryAt: clock.now() + SECRETS_GRANT_RETRY_MS,
    observed: { place: error.place },
  }
}

type PlainReconciled = ReconciledSecret<PlainSecret, WebhookSecretStatus>

interface RotatedInput extends WebhookSecretInput {
  readonly asked: RotationRequest | undefined
}

async function reconcileGenerated(
  { resource, status, asked }: RotatedInput,
  { client, clock, ids, brand, namespace }: WebhookSecretPorts,
  signal: AbortSignal,
): Promise<PlainReconciled> {
  const place = { namespace, name: `${resource.metadata.name}-webhook` }
  const makeSecret = () => newWebhookSecret(brand, ids)
  const { verdict, observed } = await updateSecret(
    { place, client },
    (secret) => decideWebhookSecret({ resource, place, secret, status, asked, now: clock.now(), makeSecret }),
    signal,
  )
  const { write: _written, ...answer } = verdict
  return { ...answer, observed }
}

/** The owner of the referenced Secret rotates it. So this only records that a rotation was requested. */
async function readReferenced(
  { status, asked, reference }: RotatedInput & { readonly reference: WebhookSecretReference },
  { client }: WebhookSecretPorts,
  signal: AbortSignal,
): Promise<PlainReconciled> {
  const place = { namespace: reference.namespace, name: reference.name }
  const stored = await readSecret(client, place, signal)
  const value = referencedSecret(reference, stored && { data: encodedIn(stored) })
  const rotation = asked?.text ?? status.rotation
  return {
    found: 'fault' in value ? value : { current: value.secret },
    status: { webhookSecret: place, ...(rotation !== undefined && { rotation }) },
    isNew: false,
    repaired: [],
    observed: observedSecret(place, stored),
  }
}

function encodedIn({ data }: KubeObject): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, String(value)]))
}

function sealed(found: PlainSecret, account: string, keys: SealKeys): FoundSecret {
  if ('fault' in found) return found
  const { current, replaced } = found
  const seal = (secret: string) => sealWebhookSecret(secret, { account, keys })
  return { current: seal(current), ...(replaced !== undefined && { replaced: seal(replaced) }) }
}

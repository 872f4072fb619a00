/**
 * Station of an ApiKey with `secretName` on its way to be published: its key, made, rotated and read in its Secret. Can be run
 * twice with the same result, by two processes at once as well: each write is to the state of the Secret it was decided on, and says what
 * it has served. The key itself stands in that Secret and nowhere else; what is answered holds its hash.
 */
import assert from 'node:assert/strict'
import { newApiKey } from '@platen/contract/api-key.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import { type ApiKeyResource } from '@platen/contract/resource.ts'
import { ROTATE_KEY_ANNOTATION } from '@platen/contract/schema/resource.ts'
import { decideKey, type KeyDecision, type KeyStatus, keepKey } from './decide-key.ts'
import { SECRETS_GRANT_RETRY_MS } from './limit.ts'
import { type Annotations, readRotationRequest } from './rotation.ts'
import { type ObservedSecret, type SecretClient, SecretsNotGranted, updateSecret } from './update-secret.ts'

export interface SecretPorts {
  readonly client: SecretClient
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Ids
  readonly brand: string
  /** The operator's own, where generated webhook secrets stand. */
  readonly namespace: string
}

export interface KeySecretInput {
  /** One with `secretName`. */
  readonly resource: ApiKeyResource
  /** Those of the resource. */
  readonly annotations: Annotations
  /** As it was written last: with an older one, a Secret that is gone may be answered with an older key. */
  readonly status: KeyStatus
}

export interface ReconciledKeySecret extends Omit<KeyDecision, 'write'> {
  /** Why what the annotation says is no rotation, where there is one. */
  readonly ignored?: string
  /** For the audit. */
  readonly observed: ObservedSecret
}

/** Finds the key of an ApiKey, and makes one where that is due. Throws what the client throws. */
export async function reconcileKeySecret(
  { resource, annotations, status }: KeySecretInput,
  { client, clock, ids, brand, namespace }: SecretPorts,
  signal: AbortSignal,
): Promise<ReconciledKeySecret> {
  const { environment = 'live', secretName } = resource.spec
  assert(secretName !== undefined, 'a key that was brought along has no Secret')
  const { asked, ignored } = readRotationRequest(annotations, ROTATE_KEY_ANNOTATION)
  const makeKey = () => newApiKey(brand, environment, ids)
  const place = { namespace: resource.metadata.namespace, name: secretName }
  const decisionInput = () => ({ resource, status, asked, now: clock.now(), brand, makeKey })
  const { verdict, observed } = await updateSecret(
    { place, client },
    (secret) => decideKey({ ...decisionInput(), secret }),
    signal,
  ).catch((error: unknown) => {
    if (!(error instanceof SecretsNotGranted)) throw error
    const kept = keepKey(decisionInput(), error.refusal(namespace))
    return { verdict: { ...kept, retryAt: clock.now() + SECRETS_GRANT_RETRY_MS }, observed: { place } }
  })
  const { write: _written, ...answer } = verdict
  return { ...answer, ...(ignored !== undefined && { ignored }), observed }
}

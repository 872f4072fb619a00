/**
 * Reconciles the Secret of an ApiKey with `secretName`: creates, rotates and reads its key. Running it twice, even in two processes at
 * once, has the same result: each write applies only to the state it was decided on, and records the rotations served. The key itself is
 * only in that Secret; the result contains its hash.
 */

import assert from 'node:assert/strict'
import { newApiKey } from '@platen/contract/domain/api-key.ts'
import { apiKeySpecDefaults } from '@platen/contract/domain/crd/api-key.ts'
import type { ApiKeyResource } from '@platen/contract/domain/resource.ts'
import { ROTATE_KEY_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import { ENVIRONMENT_VALUES } from '@platen/contract/domain/resource-value.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { FoundKey } from '@platen/settings/compile/api-key.ts'
import { decideKey, type KeyStatus, keepKey } from './decide-key.ts'
import { SECRETS_GRANT_RETRY_MS } from './limit.ts'
import { readRotationRequest } from './rotation.ts'
import { type ReconciledSecret, type SecretClient, SecretsNotGranted, updateSecret } from './update-secret.ts'

export interface SecretPorts {
  readonly client: SecretClient
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Ids
  readonly brand: string
  /** The namespace of the operator, which contains the generated webhook secrets. */
  readonly namespace: string
}

interface KeySecretInput {
  /** With `secretName`. */
  readonly resource: ApiKeyResource
  /** The text of its rotation annotation. */
  readonly rotation: string | undefined
  /** The last status written. With an older status, a missing Secret may lead to an older key. */
  readonly status: KeyStatus
}

export type ReconciledKeySecret = ReconciledSecret<FoundKey, KeyStatus>

/** Creates or rotates the key if that is due. Throws what the client throws. */
export async function reconcileKeySecret(
  { resource, rotation, status }: KeySecretInput,
  { client, clock, ids, brand, namespace }: SecretPorts,
  signal: AbortSignal,
): Promise<ReconciledKeySecret> {
  const { environment = apiKeySpecDefaults.environment, secretName } = resource.spec
  assert(secretName !== undefined, 'an ApiKey with sha256 has no Secret')
  const { asked, ignored } = readRotationRequest(rotation, ROTATE_KEY_ANNOTATION)
  const makeKey = () => newApiKey(brand, ENVIRONMENT_VALUES[environment], ids)
  const place = { namespace: resource.metadata.namespace, name: secretName }
  const decisionInput = () => ({ resource, place, status, asked, now: clock.now(), brand, makeKey })
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

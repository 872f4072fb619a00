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
import { decideKey, type KeyStatus, type KeyVerdict, keepKey } from './decide-key.ts'
import { SECRETS_GRANT_RETRY_MS } from './limit.ts'
import { type Annotations, readAsked } from './rotation.ts'
import { type SecretClient, SecretsNotGranted, type SeenSecret, settleSecret } from './write-secret.ts'

export interface SecretPorts {
  readonly client: SecretClient
  readonly clock: Pick<Clock, 'now'>
  readonly ids: Ids
  readonly brand: string
  /** The operator's own, where generated webhook secrets stand. */
  readonly namespace: string
}

export interface KeyQuestion {
  /** One with `secretName`. */
  readonly resource: ApiKeyResource
  /** Those of the resource. */
  readonly annotations: Annotations
  /** As it was written last: with an older one, a Secret that is gone may be answered with an older key. */
  readonly status: KeyStatus
}

export interface SettledKey extends Omit<KeyVerdict, 'write'> {
  /** Why what the annotation says is no rotation, where there is one. */
  readonly ignored?: string
  /** For the audit. */
  readonly seen: SeenSecret
}

/** Finds the key of an ApiKey, and makes one where that is due. Throws what the client throws. */
export async function settleKey(
  { resource, annotations, status }: KeyQuestion,
  { client, clock, ids, brand, namespace }: SecretPorts,
  signal: AbortSignal,
): Promise<SettledKey> {
  const { environment = 'live', secretName } = resource.spec
  assert(secretName !== undefined, 'a key that was brought along has no Secret')
  const { asked, ignored } = readAsked(annotations, ROTATE_KEY_ANNOTATION)
  const makeKey = () => newApiKey(brand, environment, ids)
  const place = { namespace: resource.metadata.namespace, name: secretName }
  const look = () => ({ resource, status, asked, now: clock.now(), brand, makeKey })
  const { verdict, seen } = await settleSecret(
    { place, client },
    (secret) => decideKey({ ...look(), secret }),
    signal,
  ).catch((error: unknown) => {
    if (!(error instanceof SecretsNotGranted)) throw error
    const kept = keepKey(look(), error.refusal(namespace))
    return { verdict: { ...kept, again: clock.now() + SECRETS_GRANT_RETRY_MS }, seen: { place } }
  })
  const { write: _written, ...answer } = verdict
  return { ...answer, ...(ignored !== undefined && { ignored }), seen }
}

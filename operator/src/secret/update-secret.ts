/** Writes a decision to a Secret, only if the Secret has not changed since it was read. */
import type { ClusterClient } from '../cluster/client.ts'
import { ClusterError, isConflict, isNotFound } from '../cluster/error.ts'
import type { KubeObject } from '../cluster/object.ts'
import {
  type ClusterSecret,
  newBody,
  patchBody,
  readClusterSecret,
  type SecretDecision,
  type SecretLocation,
  type WantedSecret,
} from './cluster-secret.ts'

/** Attempts to read and write a Secret when somebody else is faster. After that the reconcile fails and is retried. */
const SECRET_TRIES_MAX = 3

/** No Secret is ever listed or watched. */
export type SecretClient = Pick<ClusterClient, 'readSecret' | 'createSecret' | 'patchSecret'>

/** A state of a Secret. The audit compares it with the current one. */
export interface ObservedSecret {
  readonly place: SecretLocation
  /** Absent when there was no Secret. */
  readonly resourceVersion?: string
}

export interface ReconciledSecret<Found, Status> extends Omit<SecretDecision<Found, Status>, 'write'> {
  /** Why the rotation annotation is invalid, if it is. */
  readonly ignored?: string
  /** Read by the audit. */
  readonly observed: ObservedSecret
}

/** The operator may not read the Secrets of this namespace. */
export class SecretsNotGranted extends Error {
  override readonly name = 'SecretsNotGranted'
  readonly place: SecretLocation

  constructor(place: SecretLocation, options: ErrorOptions) {
    super(`access to the Secrets of ${place.namespace} is not granted`, options)
    this.place = place
  }

  /** The text for a condition. `operator` is the namespace of the operator's service account. */
  refusal(operator: string): { readonly fault: string; readonly reason: 'SecretsNotGranted' } {
    const { namespace } = this.place
    const command = `kubectl create rolebinding platen-operator-secrets --namespace=${namespace} --clusterrole=platen-operator-secrets --serviceaccount=${operator}:platen-operator`
    return {
      fault: `the operator is not allowed to read the Secrets of ${namespace}; this allows it: ${command}`,
      reason: 'SecretsNotGranted',
    }
  }
}

/** Throws `SecretsNotGranted` when the Secret may not be read. */
export async function readSecret(
  client: Pick<SecretClient, 'readSecret'>,
  place: SecretLocation,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await client.readSecret(place, signal)
  } catch (cause) {
    throw cause instanceof ClusterError && cause.status === 403 ? new SecretsNotGranted(place, { cause }) : cause
  }
}

/**
 * Reads a Secret, decides, and writes the decision, whole or not at all. When somebody else writes at the same moment, starts over: the new
 * state may need another decision. Throws after `SECRET_TRIES_MAX` attempts, and throws `SecretsNotGranted` when it may not read.
 */
export async function updateSecret<Verdict extends { readonly write?: WantedSecret }>(
  { place, client }: { readonly place: SecretLocation; readonly client: SecretClient },
  decide: (held: ClusterSecret | undefined) => Verdict,
  signal: AbortSignal,
): Promise<{ readonly verdict: Verdict; readonly observed: ObservedSecret }> {
  for (let attempt = 1; ; attempt++) {
    const stored = await readSecret(client, place, signal)
    const current = stored && readClusterSecret(stored)
    const verdict = decide(current)
    if (verdict.write === undefined) return { verdict, observed: observedSecret(place, stored) }
    try {
      const written = await write({ place, client, current, wanted: verdict.write }, signal)
      return { verdict, observed: observedSecret(place, written) }
    } catch (cause) {
      const isOutdated = isConflict(cause) || isNotFound(cause)
      if (!isOutdated || attempt === SECRET_TRIES_MAX) throw cause
    }
  }
}

export async function observeSecret(
  client: SecretClient,
  place: SecretLocation,
  signal: AbortSignal,
): Promise<ObservedSecret> {
  return observedSecret(place, await client.readSecret(place, signal))
}

interface SecretWrite {
  readonly place: SecretLocation
  readonly client: SecretClient
  readonly current: ClusterSecret | undefined
  readonly wanted: WantedSecret
}

function write({ place, client, current, wanted }: SecretWrite, signal: AbortSignal): Promise<KubeObject> {
  return current === undefined
    ? client.createSecret(place.namespace, newBody(place, wanted), signal)
    : client.patchSecret(place, patchBody(current, wanted), signal)
}

export function observedSecret(place: SecretLocation, stored: KubeObject | undefined): ObservedSecret {
  return { place, ...(stored !== undefined && { resourceVersion: stored.metadata.resourceVersion }) }
}

/** Brings a Secret to what was decided about it, and only if it is still the one that was looked at. */
import type { ClusterClient } from '../cluster/client.ts'
import { ClusterError } from '../cluster/error.ts'
import type { KubeObject } from '../cluster/object.ts'
import { pathOf } from '../cluster/path.ts'
import {
  type ClusterSecret,
  newBody,
  patchBody,
  readClusterSecret,
  type SecretLocation,
  type WantedSecret,
} from './cluster-secret.ts'
import { SECRET_TRIES_MAX } from './limit.ts'

/** What Secrets need of the cluster. None is ever listed or watched. */
export type SecretClient = Pick<ClusterClient, 'get' | 'create' | 'mergePatch'>

/** A state of a Secret, for the audit to tell whether it has another by now. */
export interface ObservedSecret {
  readonly place: SecretLocation
  /** Absent where there was none. */
  readonly resourceVersion?: string
}

/** Where a Secret is in the API server; without a name, where one is made. */
export function pathOfSecret(place: Partial<SecretLocation>): string {
  return pathOf({ group: '', version: 'v1', plural: 'secrets', ...place })
}

/** The Secrets of a namespace are not granted to the operator. */
export class SecretsNotGranted extends Error {
  override readonly name = 'SecretsNotGranted'
  readonly place: SecretLocation

  constructor(place: SecretLocation, options: ErrorOptions) {
    super(`Secrets of ${place.namespace} are not granted`, options)
    this.place = place
  }

  /** For a condition. `operator` is the namespace of the operator's service account. */
  refusal(operator: string): { readonly fault: string; readonly reason: 'SecretsNotGranted' } {
    const { namespace } = this.place
    const command = `kubectl create rolebinding platen-operator-secrets --namespace=${namespace} --clusterrole=platen-operator-secrets --serviceaccount=${operator}:platen-operator`
    return { fault: `the operator may not read Secrets of ${namespace}: ${command}`, reason: 'SecretsNotGranted' }
  }
}

/** A Secret as it stands. Throws `SecretsNotGranted` where it may not be read. */
export async function readSecret(
  client: Pick<SecretClient, 'get'>,
  place: SecretLocation,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    return await client.get(pathOfSecret(place), signal)
  } catch (cause) {
    throw cause instanceof ClusterError && cause.status === 403 ? new SecretsNotGranted(place, { cause }) : cause
  }
}

/**
 * Looks at a Secret, decides, and writes what was decided, whole or not at all. Where somebody else writes at the same moment
 * all of it is done again, as what stands there now may decide otherwise; after `SECRET_TRIES_MAX` times it throws, and
 * `SecretsNotGranted` where it may not look.
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
      if (!isConflict(cause) || attempt === SECRET_TRIES_MAX) throw cause
    }
  }
}

/** Looks at a Secret, for the audit. */
export async function observeSecret(
  client: SecretClient,
  place: SecretLocation,
  signal: AbortSignal,
): Promise<ObservedSecret> {
  return observedSecret(place, await client.get(pathOfSecret(place), signal))
}

interface SecretWrite {
  readonly place: SecretLocation
  readonly client: SecretClient
  readonly current: ClusterSecret | undefined
  readonly wanted: WantedSecret
}

function write({ place, client, current, wanted }: SecretWrite, signal: AbortSignal): Promise<KubeObject> {
  return current === undefined
    ? client.create(pathOfSecret({ namespace: place.namespace }), newBody(place, wanted), signal)
    : client.mergePatch(pathOfSecret(place), patchBody(current, wanted), signal)
}

/** What is remembered of a Secret that was read. */
export function observedSecret(place: SecretLocation, stored: KubeObject | undefined): ObservedSecret {
  return { place, ...(stored !== undefined && { resourceVersion: stored.metadata.resourceVersion }) }
}

/** Another was made, changed or removed in the meantime. */
function isConflict(cause: unknown): boolean {
  return cause instanceof ClusterError && (cause.status === 409 || cause.status === 404)
}

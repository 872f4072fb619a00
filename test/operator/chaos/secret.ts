/**
 * The Secrets of keys and webhook secrets: what people do to them, and whether each holds what is in force, or its owner
 * says that it does not.
 */
import { hashOfKey } from '@platen/contract/domain/api-key.ts'
import type { Resource } from '@platen/contract/domain/resource.ts'
import { isWebhookSecret } from '@platen/contract/domain/webhook-secret.ts'
import { parseInstant } from '@platen/lib/instant.ts'
import { type KubeObject, keyOf } from '@platen/operator/cluster/object.ts'
import { unpackStatus } from '@platen/operator/reconcile/packed-status.ts'
import type { ResourceView } from '@platen/operator/reconcile/resource-view.ts'
import type { Status } from '@platen/operator/reconcile/status.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { OPERATOR_NAMESPACE } from '../../topology/cluster/kube.ts'
import type { KubeApi } from '../../topology/server/kube.ts'
import { decoded, mergingPatch, pathOfSecret } from '../rig/secret.ts'
import type { Chance } from './declaration.ts'

/** What each holds, decoded, by `namespace/name`. */
export type Secrets = ReadonlyMap<string, Readonly<Record<string, string>>>

export async function readSecrets(kube: KubeApi): Promise<Secrets> {
  const { body } = await kube.request({ path: pathOfSecret({}) })
  // A list has them.
  const items = (body['items'] ?? []) as readonly KubeObject[]
  return new Map(items.map(({ metadata, data }) => [keyOf(metadata), decoded(data)]))
}

/** The place of the Secret of a resource, and its key; undefined where it has none. */
export function secretOf({ kind, metadata, spec }: Resource): SecretPart | undefined {
  if (kind === 'Tenant') return { namespace: OPERATOR_NAMESPACE, name: `${metadata.name}-webhook`, part: 'secret' }
  if (kind !== 'ApiKey' || spec.secretName === undefined) return undefined
  return { namespace: metadata.namespace, name: spec.secretName, part: 'key' }
}

export interface SecretPart {
  readonly namespace: string
  readonly name: string
  readonly part: 'key' | 'secret'
}

/** Edits it by hand, in one way or another, or removes it; `text` is what somebody would rather have in it. */
export async function tamper(
  kube: KubeApi,
  { part, ...place }: SecretPart,
  { chance, text }: { readonly chance: Chance; readonly text: string },
): Promise<void> {
  const edit = chance<Readonly<Record<string, string | null>> | undefined>(
    { [part]: text },
    { [part]: null },
    { tenant: text, keyId: text, sha256: null },
    undefined,
  )
  const path = pathOfSecret(place)
  const call = edit ? { ...mergingPatch(edit), path } : { method: 'DELETE', path }
  const { status, body } = await kube.request(call)
  if (status >= 300 && status !== 404) throw new Error(`${status} ${String(body['message'])}`)
}

/** What the Secret of a resource holds otherwise than its status says, and what has been asked for and is not served. */
export function secretFaults({ resource, rotation, status: text }: ResourceView, secrets: Secrets): readonly string[] {
  const place = secretOf(resource)
  if (place === undefined) return []
  const status = unpackStatus(text)
  const secret = secrets.get(`${place.namespace}/${place.name}`)
  const label = labelOf(resource)
  const isAsked = rotation !== undefined && parseInstant(rotation) !== undefined
  return [
    ...(isAsked && status.rotation !== rotation ? [`${label} has served ${status.rotation} of ${rotation}`] : []),
    ...unreported(resource, { status, isSound: secret !== undefined && isSound(secret, place, status) }),
    ...(secret === undefined ? [] : unlike(resource, { secret, status })),
  ]
}

/** Does it hold what is in force? */
function isSound(secret: Readonly<Record<string, string>>, { part }: SecretPart, { sha256 }: Status): boolean {
  const value = secret[part]
  if (value === undefined) return false
  return part === 'key' ? hashOfKey(value) === sha256 : isWebhookSecret(value)
}

const SECRET_REASONS: readonly string[] = ['SecretMissing', 'SecretTaken']

function unreported(
  resource: Resource,
  { status, isSound: holds }: { readonly status: Status; readonly isSound: boolean },
): readonly string[] {
  const ready = status.conditions?.find(({ type }) => type === 'Ready')
  const label = labelOf(resource)
  if (holds) return SECRET_REASONS.includes(ready?.reason ?? '') ? [`${label} is ${ready?.reason} with a Secret`] : []
  // What else is wrong is told first.
  return ready?.status === 'True' ? [`${label} is ready without a Secret`] : []
}

function unlike(
  resource: Resource,
  { secret, status }: { readonly secret: Readonly<Record<string, string>>; readonly status: Status },
): readonly string[] {
  const { keyId, sha256, previous } = status
  const wanted =
    resource.kind === 'ApiKey'
      ? { tenant: resource.spec.tenantRef.name, keyId, sha256, previousSha256: previous?.sha256 }
      : { tenant: resource.metadata.name }
  return Object.entries(wanted)
    .filter(([name, value]) => secret[name] !== value)
    .map(([name, value]) => `the Secret of ${labelOf(resource)} has ${name} ${secret[name]} instead of ${value}`)
}

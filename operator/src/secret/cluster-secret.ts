/** Secrets in the cluster: who owns one, how it differs from the wanted state, and the requests that change it. Pure. */

import type { Uid } from '@platen/contract/domain/resource.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { KubeObject, OwnerReference } from '../cluster/object.ts'
import type { Annotations } from './rotation.ts'

export interface SecretLocation {
  readonly namespace: string
  readonly name: string
}

export interface ClusterSecret {
  readonly resourceVersion: string
  readonly type: string
  readonly isImmutable: boolean
  /** Decoded to one character per byte, so that binary values survive, too. */
  readonly data: Readonly<Record<string, string>>
  readonly annotations: Annotations
  readonly labels: Readonly<Record<string, string>>
  readonly owners: readonly OwnerReference[]
}

export interface Owner {
  readonly kind: 'ApiKey' | 'Tenant'
  readonly name: string
  readonly uid: Uid
}

/** The fields of a Secret that we control. Undefined means that the entry must not exist. Entries not listed are left alone. */
export interface WantedSecret {
  readonly owner: Owner
  readonly data: Readonly<Record<string, string | undefined>>
  readonly annotations: Readonly<Record<string, string | undefined>>
  readonly labels: Readonly<Record<string, string>>
}

export interface SecretDecision<Found, Status> {
  readonly found: Found
  /** Written after `found` is published. */
  readonly status: Status
  /** The Secret to write before anything is published. Absent when nothing differs, or the Secret is not ours. */
  readonly write?: WantedSecret
  /** Does the write contain a new key or secret? */
  readonly isNew: boolean
  /** Fields of the Secret that somebody else changed and that the write repairs. */
  readonly repaired: readonly string[]
  /** When to decide again, because an overlap ends. */
  readonly retryAt?: Instant
}

const GROUP = 'platen.dev'
const API_VERSION = `${GROUP}/v1alpha1`

/** The Secret type for each kind. It cannot be changed, and distinguishes our Secrets from others. */
const SECRET_TYPES: Readonly<Record<Owner['kind'], string>> = {
  ApiKey: `${GROUP}/api-key`,
  Tenant: `${GROUP}/webhook-secret`,
}

export function labelsOf(tenant: string): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/managed-by': 'platen', [`${GROUP}/tenant`]: tenant }
}

export function readClusterSecret({ metadata, ...fields }: KubeObject): ClusterSecret {
  const { type, immutable, data } = fields
  return {
    resourceVersion: metadata.resourceVersion,
    type: typeof type === 'string' ? type : '',
    isImmutable: immutable === true,
    data: Object.fromEntries(Object.entries(data ?? {}).map(([key, value]) => [key, decode(String(value))])),
    annotations: metadata.annotations ?? {},
    labels: metadata.labels ?? {},
    owners: metadata.ownerReferences ?? [],
  }
}

/**
 * `own`: owned by this resource. `orphan`: by nobody, but we made it; a tool that restored it may have dropped the owner. `predecessor`: by
 * an earlier resource with the same name. `taken`: by somebody else.
 */
type Ownership = 'own' | 'orphan' | 'predecessor' | 'taken'

export function ownershipOf(secret: ClusterSecret, owner: Owner): Ownership {
  const controller = secret.owners.find((reference) => reference.controller === true)
  if (controller === undefined) {
    if (secret.owners.some(({ uid }) => uid === owner.uid)) return 'own'
    return secret.type === SECRET_TYPES[owner.kind] ? 'orphan' : 'taken'
  }
  if (controller.uid === owner.uid) return 'own'
  return isOfName(controller, owner) ? 'predecessor' : 'taken'
}

export function differencesBetween(current: ClusterSecret, wanted: WantedSecret): readonly string[] {
  const differing = (part: 'data' | 'annotations' | 'labels') =>
    Object.entries(wanted[part])
      .filter(([name, value]) => ownValue(current[part], name) !== value)
      .map(([name]) => `${part}.${name}`)
  const { owner } = wanted
  const isOwned =
    current.owners.some(({ uid, controller }) => uid === owner.uid && controller === true) &&
    current.owners.every((reference) => reference.uid === owner.uid || !isOfName(reference, owner))
  return [
    ...differing('data'),
    ...differing('annotations'),
    ...differing('labels'),
    ...(isOwned ? [] : ['ownerReferences']),
  ]
}

/** Repairs what differs from the wanted state. The fields in `expected` were due to change, so nobody else changed them. */
export function repairOf(
  own: ClusterSecret,
  wanted: WantedSecret,
  expected: readonly string[],
): Pick<SecretDecision<never, never>, 'write' | 'isNew' | 'repaired'> {
  const differing = own.isImmutable ? [] : differencesBetween(own, wanted)
  return {
    ...(differing.length > 0 && { write: wanted }),
    isNew: false,
    repaired: differing.filter((field) => !expected.includes(field)),
  }
}

export function newBody({ namespace, name }: SecretLocation, wanted: WantedSecret): object {
  const { owner, annotations, labels, data } = wanted
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name, annotations, labels, ownerReferences: [referenceTo(owner)] },
    type: SECRET_TYPES[owner.kind],
    data: mapValues(data, (text) => (text === undefined ? undefined : encode(text))),
  }
}

/** The merge patch conflicts if somebody changed the Secret since it was read. */
export function patchBody({ resourceVersion, owners }: ClusterSecret, wanted: WantedSecret): object {
  const { owner, annotations, labels, data } = wanted
  const others = owners.filter((reference) => reference.uid !== owner.uid && !isOfName(reference, owner))
  return {
    metadata: {
      resourceVersion,
      annotations: mapValues(annotations, (text) => text ?? null),
      labels,
      ownerReferences: [...others, referenceTo(owner)],
    },
    data: mapValues(data, (text) => (text === undefined ? null : encode(text))),
  }
}

function referenceTo({ kind, name, uid }: Owner): OwnerReference {
  return { apiVersion: API_VERSION, kind, name, uid, controller: true }
}

/** True for the owner, and for an earlier resource with its name. Compares the group without the version, which may change. */
function isOfName({ apiVersion, kind, name }: OwnerReference, owner: Owner): boolean {
  return apiVersion.startsWith(`${GROUP}/`) && kind === owner.kind && name === owner.name
}

/** A key may have the name of a property that every object inherits. */
function ownValue(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}

function mapValues<From, To>(values: Readonly<Record<string, From>>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString('latin1')
}

function encode(text: string): string {
  return Buffer.from(text, 'latin1').toString('base64')
}

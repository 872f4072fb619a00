/** The four kinds as the API server has them: what was declared, and what was last said of it. */
import { type NamespacedMetadata, type Resource, type Uid } from '@platen/contract/resource.ts'
import type { ApiKeySpec, Kind, PlanSpec, TemplateSpec, TenantSpec } from '@platen/contract/schema/resource.ts'
import { ROTATE_ANNOTATION, ROTATE_KEY_ANNOTATION } from '@platen/contract/schema/resource.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { isRecord, type KubeObject } from '../cluster/object.ts'
import { pathOf } from '../cluster/path.ts'
import { type PackedStatus, packStatus } from './packed-status.ts'

const GROUP = 'platen.dev'
const VERSION = 'v1alpha1'

export const API_VERSION = `${GROUP}/${VERSION}`

/** Removed from a Tenant or ApiKey when nothing of it is in force any more. */
export const FINALIZER = 'platen.dev/revoke'

/** What most have: kept once. */
const ONLY_OUR_FINALIZER = [FINALIZER]

export const PLURALS = {
  Plan: 'plans',
  Tenant: 'tenants',
  Template: 'templates',
  ApiKey: 'apikeys',
} as const satisfies Record<Kind, string>

export interface ResourceView {
  readonly resource: Resource
  /** What is to be rotated, as the annotation says it, whatever it says. */
  readonly rotation?: string
  readonly isDeleting: boolean
  /** All there are, others' among them. */
  readonly finalizers: readonly string[]
  readonly status: PackedStatus
  /** The state it was read in. */
  readonly resourceVersion: string
}

/** Reads one object of a kind. Its spec is of its schema: the API server takes nothing else. */
export function readResourceView(kind: Kind, { metadata, spec, status }: KubeObject): ResourceView {
  const { annotations = {}, finalizers = [], deletionTimestamp } = metadata
  const rotation = annotations[kind === 'Tenant' ? ROTATE_ANNOTATION : ROTATE_KEY_ANNOTATION]
  return {
    resource: resourceOf(kind, metadata, spec),
    ...(rotation !== undefined && { rotation }),
    isDeleting: deletionTimestamp !== undefined,
    finalizers: finalizers.length === 1 && finalizers[0] === FINALIZER ? ONLY_OUR_FINALIZER : finalizers,
    status: packStatus(isRecord(status) ? status : {}),
    resourceVersion: metadata.resourceVersion,
  }
}

function resourceOf(kind: Kind, metadata: KubeObject['metadata'], spec: unknown): Resource {
  const { name, namespace = '', uid, generation = 1, creationTimestamp = '' } = metadata
  const own: NamespacedMetadata = {
    name,
    namespace,
    uid: uid as Uid,
    generation,
    createdAt: Date.parse(creationTimestamp) || 0,
  }
  const { namespace: _namespace, ...clusterWide } = own
  switch (kind) {
    case 'Plan':
      return { kind, metadata: clusterWide, spec: spec as PlanSpec }
    case 'Tenant':
      return { kind, metadata: clusterWide, spec: spec as TenantSpec }
    case 'Template':
      return { kind, metadata: own, spec: spec as TemplateSpec }
    case 'ApiKey':
      return { kind, metadata: own, spec: spec as ApiKeySpec }
  }
}

/** What is declared in the same words as before, whoever else has written to the object meanwhile. */
export function hasSameSpec(one: ResourceView, other: ResourceView): boolean {
  const [{ metadata }, { metadata: otherMetadata }] = [one.resource, other.resource]
  return (
    metadata.uid === otherMetadata.uid &&
    metadata.generation === otherMetadata.generation &&
    one.rotation === other.rotation &&
    one.isDeleting === other.isDeleting &&
    one.finalizers.includes(FINALIZER) === other.finalizers.includes(FINALIZER)
  )
}

/** The collection of a kind in all namespaces. */
export function collectionPath(kind: Kind): string {
  return pathOf({ group: GROUP, version: VERSION, plural: PLURALS[kind] })
}

/** Where one resource is, or a part of it. */
export function resourcePath({ kind, metadata }: Resource, subresource?: 'status'): string {
  const namespace = 'namespace' in metadata ? { namespace: metadata.namespace } : {}
  const part = subresource === undefined ? {} : { subresource }
  return pathOf({ group: GROUP, version: VERSION, plural: PLURALS[kind], ...namespace, name: metadata.name, ...part })
}

/** The key by which a resource is looked at: `Template team-acme/invoice`. */
export const keyOfResource = labelOf

export function kindOfKey(key: string): string {
  return key.slice(0, key.indexOf(' '))
}

/** Whose status tells how many such resources there are. */
export function counterKeyOf(resource: Resource): string | undefined {
  switch (resource.kind) {
    case 'Plan':
      return undefined
    case 'Tenant':
      return `Plan ${resource.spec.planRef.name}`
    case 'Template':
    case 'ApiKey':
      return `Tenant ${resource.spec.tenantRef.name}`
  }
}

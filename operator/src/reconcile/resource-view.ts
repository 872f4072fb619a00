/** The four kinds as the API server has them: what was declared, and the last status. */
import type { NamespacedMetadata, Resource, Uid } from '@platen/contract/domain/resource.ts'
import type { ApiKeySpec, Kind, PlanSpec, TemplateSpec, TenantSpec } from '@platen/contract/domain/resource-spec.ts'
import { ROTATE_ANNOTATION, ROTATE_KEY_ANNOTATION } from '@platen/contract/domain/resource-spec.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import type { CustomLocation } from '../cluster/client.ts'
import { isRecord, type KubeObject } from '../cluster/object.ts'
import type { ObjectLocation } from '../cluster/path.ts'
import { type PackedStatus, packStatus } from './packed-status.ts'

const GROUP = 'platen.dev'
const VERSION = 'v1alpha1'

export const API_VERSION = `${GROUP}/${VERSION}`

/** Removed from a Tenant or ApiKey when nothing of it is in force any more. */
export const FINALIZER = 'platen.dev/revoke'

/** Most resources have exactly this list, so it is in memory once. */
const ONLY_OUR_FINALIZER = [FINALIZER]

export const PLURALS = {
  Plan: 'plans',
  Tenant: 'tenants',
  Template: 'templates',
  ApiKey: 'apikeys',
} as const satisfies Record<Kind, string>

export const KINDS = Object.keys(PLURALS) as readonly Kind[]

export interface ResourceView {
  readonly resource: Resource
  /** The value of the rotation annotation, not validated. */
  readonly rotation?: string
  readonly isDeleting: boolean
  /** Includes those of others. */
  readonly finalizers: readonly string[]
  readonly status: PackedStatus
  readonly resourceVersion: string
}

/**
 * The spec matches the schema: the API server accepts nothing else. `before` is the last view of the object. If the generation is the same,
 * the new view uses its resource, which the reconciler keeps, so that it is in memory once.
 */
export function readResourceView(kind: Kind, object: KubeObject, before?: ResourceView): ResourceView {
  const { metadata, spec, status } = object
  const { annotations = {}, finalizers = [], deletionTimestamp, generation } = metadata
  const isSame = before !== undefined && before.resource.metadata.generation === generation
  const rotation = annotations[kind === 'Tenant' ? ROTATE_ANNOTATION : ROTATE_KEY_ANNOTATION]
  return {
    resource: isSame ? before.resource : resourceOf(kind, metadata, spec),
    ...(rotation !== undefined && { rotation }),
    isDeleting: deletionTimestamp !== undefined,
    finalizers: finalizers.length === 1 && finalizers[0] === FINALIZER ? ONLY_OUR_FINALIZER : finalizers,
    status: packStatus(isWritten(status) ? status : {}),
    resourceVersion: metadata.resourceVersion,
  }
}

/** The API server fills in a status with the generation -1 until we write one, so that nobody takes the resource for reconciled. */
function isWritten(status: unknown): status is object {
  return isRecord(status) && status['observedGeneration'] !== -1
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
    case 'Tenant': {
      const declared = spec as TenantSpec
      // The API server lets nobody change the account.
      return { kind, metadata: { ...clusterWide, account: declared.accountId ?? uid }, spec: declared }
    }
    case 'Template':
      return { kind, metadata: own, spec: spec as TemplateSpec }
    case 'ApiKey':
      return { kind, metadata: own, spec: spec as ApiKeySpec }
  }
}

/**
 * Is the declaration the same, whoever else has written to the object meanwhile? A removal of our finalizer is a change. Its addition is
 * none: we add it while a resource is prepared, and reading that back is no reason to prepare it again.
 */
export function hasSameSpec(before: ResourceView, after: ResourceView): boolean {
  const [{ metadata }, { metadata: otherMetadata }] = [before.resource, after.resource]
  return (
    metadata.uid === otherMetadata.uid &&
    metadata.generation === otherMetadata.generation &&
    before.rotation === after.rotation &&
    before.isDeleting === after.isDeleting &&
    (after.finalizers.includes(FINALIZER) || !before.finalizers.includes(FINALIZER))
  )
}

/** In all namespaces. */
export function collectionOf(kind: Kind): ObjectLocation {
  return { group: GROUP, version: VERSION, plural: PLURALS[kind] }
}

export function locationOf({ kind, metadata }: Resource, subresource?: 'status'): CustomLocation {
  const namespace = 'namespace' in metadata ? { namespace: metadata.namespace } : {}
  const part = subresource === undefined ? {} : { subresource }
  return { ...collectionOf(kind), ...namespace, name: metadata.name, ...part }
}

/** The key under which a resource is reconciled, such as `Template team-acme/invoice`. */
export const keyOfResource = labelOf

export function kindOfKey(key: string): string {
  return key.slice(0, key.indexOf(' '))
}

/** The key of the resource whose status counts this one. */
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

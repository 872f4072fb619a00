/** The fields that all objects of the API server have in common. */
export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: Metadata
  readonly [field: string]: unknown
}

interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly uid: string
  /** Identifies a state of the object. Has no other meaning. */
  readonly resourceVersion: string
  readonly generation?: number
  /** RFC 3339. */
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly finalizers?: readonly string[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly labels?: Readonly<Record<string, string>>
  readonly ownerReferences?: readonly OwnerReference[]
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
}

/**
 * Returns the unique key of an object within its kind: `namespace/name`, or `name` for a cluster-scoped object. Uses `join`, since maps
 * keep the key: V8 then makes one string, while it keeps the pieces of a template literal.
 */
export function keyOf({ namespace, name }: Pick<Metadata, 'name' | 'namespace'>): string {
  return namespace === undefined ? name : [namespace, name].join('/')
}

export function parseKey(key: string): Pick<Metadata, 'name' | 'namespace'> {
  const slash = key.indexOf('/')
  return slash === -1 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) }
}

export function isKubeObject(value: unknown): value is KubeObject {
  return (
    isRecord(value) &&
    isRecord(value['metadata']) &&
    typeof value['metadata']['name'] === 'string' &&
    typeof value['metadata']['resourceVersion'] === 'string'
  )
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export interface ObjectLocation {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  /** Absent for cluster-scoped objects, and for all namespaces together. */
  readonly namespace?: string
  /** Absent for the whole collection. */
  readonly name?: string
  readonly subresource?: string
}

export function pathOf({ group, version, plural, namespace, name, subresource }: ObjectLocation): string {
  const root = group === '' ? ['api'] : ['apis', group]
  const home = namespace === undefined ? [] : ['namespaces', namespace]
  const one = [name, subresource].filter((part) => part !== undefined)
  return ['', ...root, version, ...home, plural, ...one].map(encodeURIComponent).join('/')
}

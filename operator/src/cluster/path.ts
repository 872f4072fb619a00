/** Where things are in the API server. */
export interface ObjectLocation {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  readonly plural: string
  /** Absent for what is in no namespace, and for all namespaces at once. */
  readonly namespace?: string
  /** Absent for all of them. */
  readonly name?: string
  readonly subresource?: string
}

/** The path of one object, or of a collection. */
export function pathOf({ group, version, plural, namespace, name, subresource }: ObjectLocation): string {
  const root = group === '' ? ['api'] : ['apis', group]
  const home = namespace === undefined ? [] : ['namespaces', namespace]
  const one = [name, subresource].filter((part) => part !== undefined)
  return ['', ...root, version, ...home, plural, ...one].map(encodeURIComponent).join('/')
}

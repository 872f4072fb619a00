import type { Condition, Resource, Uid } from '@platen/contract/domain/resource.ts'

export interface CompileResult<Kind extends Resource, Settings> {
  readonly resource: Kind
  /** Of this generation if it is good, else the last good ones. Absent if there are none. */
  readonly settings?: Settings
  readonly conditions: readonly Condition[]
}

export type CompileResults<Kind extends Resource, Settings> = ReadonlyMap<Uid, CompileResult<Kind, Settings>>

/** The settings in force before. Compiling needs nothing else of the past. */
export type InForce<Settings> = ReadonlyMap<Uid, { readonly settings?: Settings }>

/** Oldest first. Resources of the same age are ordered by name, so that the result never depends on the order of reading. */
export function byAge(one: Resource, other: Resource): number {
  return one.metadata.createdAt - other.metadata.createdAt || (qualifiedName(one) < qualifiedName(other) ? -1 : 1)
}

function qualifiedName({ metadata }: Resource): string {
  return `${'namespace' in metadata ? metadata.namespace : ''}/${metadata.name}`
}

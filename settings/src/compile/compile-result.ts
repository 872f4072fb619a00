/** What compiling one resource came to. */
import type { Condition, Resource, Uid } from '@platen/contract/resource.ts'

export interface CompileResult<Kind extends Resource, Settings> {
  readonly resource: Kind
  /** What is in force for it: of this generation where it is good, else the last good one. Absent where nothing is. */
  readonly settings?: Settings
  readonly conditions: readonly Condition[]
}

export type CompileResults<Kind extends Resource, Settings> = ReadonlyMap<Uid, CompileResult<Kind, Settings>>

/** What was in force, which is all that compiling asks of the past. */
export type InForce<Settings> = ReadonlyMap<Uid, { readonly settings?: Settings }>

export function resultsByUid<Kind extends Resource, Settings>(
  results: readonly CompileResult<Kind, Settings>[],
): CompileResults<Kind, Settings> {
  return new Map(results.map((outcome) => [outcome.resource.metadata.uid, outcome]))
}

/** The oldest first; of the same age, in the order of their names, so that the result never depends on the order of reading. */
export function byAge(one: Resource, other: Resource): number {
  return one.metadata.createdAt - other.metadata.createdAt || (qualifiedName(one) < qualifiedName(other) ? -1 : 1)
}

function qualifiedName({ metadata }: Resource): string {
  return `${'namespace' in metadata ? metadata.namespace : ''}/${metadata.name}`
}

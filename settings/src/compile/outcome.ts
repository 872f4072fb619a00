/** What compiling one resource came to. */
import type { Condition, Resource, Uid } from '@platen/contract/resource.ts'

export interface Outcome<Kind extends Resource, Settings> {
  readonly resource: Kind
  /** What is in force for it: of this generation where it is good, else the last good one. Absent where nothing is. */
  readonly settings?: Settings
  readonly conditions: readonly Condition[]
}

export type Outcomes<Kind extends Resource, Settings> = ReadonlyMap<Uid, Outcome<Kind, Settings>>

/** What was in force, which is all that compiling asks of the past. */
export type InForce<Settings> = ReadonlyMap<Uid, { readonly settings?: Settings }>

export function outcomesByUid<Kind extends Resource, Settings>(
  outcomes: readonly Outcome<Kind, Settings>[],
): Outcomes<Kind, Settings> {
  return new Map(outcomes.map((outcome) => [outcome.resource.metadata.uid, outcome]))
}

/** The oldest first; of the same age, in the order of their names, so that the result never depends on the order of reading. */
export function byAge(one: Resource, other: Resource): number {
  return one.metadata.createdAt - other.metadata.createdAt || (placeOf(one) < placeOf(other) ? -1 : 1)
}

function placeOf({ metadata }: Resource): string {
  return `${'namespace' in metadata ? metadata.namespace : ''}/${metadata.name}`
}

/**
 * One line of the tables of manifests: what it is about, the spec, and where it is refused by the real API server and by the reader of
 * embedded mode.
 */
import type { Json, JsonObject } from '@platen/lib/brand.ts'

export interface Row {
  readonly about: string
  readonly spec: JsonObject
  /** The spec that is changed to `spec`; absent = it is created again. */
  readonly before?: JsonObject
  readonly metadata?: { readonly name?: string; readonly annotations?: Readonly<Record<string, string>> }
  /** Absent = it is taken. */
  readonly refused?: Refusal
}

export interface Refusal {
  /** As Kubernetes names it: `spec.assets[1].name`. */
  readonly field: string
  /** Another field that is wrong for the same reason. */
  readonly also?: string
  readonly says: string
  /** The field that our reader names where it is another: one around it, or in it. */
  readonly ours?: string
  /** Why Kubernetes takes what our reader refuses: what a definition has no words for. Then the field and the message are ours. */
  readonly unsaid?: string
}

type More = Pick<Row, 'before' | 'metadata'>

export function taken(about: string, spec: JsonObject, more: More = {}): Row {
  return { about, spec, ...more }
}

export function refused(about: string, spec: JsonObject, more: More & Refusal): Row {
  const { before, metadata, ...refusal } = more
  return { about, spec, refused: refusal, ...(before && { before }), ...(metadata && { metadata }) }
}

/** A field below `spec` that is wrong, as Kubernetes names it, what the first part of it is, what is said, and the field that ours names. */
type Fault = readonly [about: string, field: string, given: Json, says: string, ours?: string]

/** A spec that is accepted, each with one other field. */
export function refusedFor(spec: JsonObject, faults: readonly Fault[]): readonly Row[] {
  return faults.map(([about, field, given, says, ours]) => {
    const refusal = { field: `spec.${field}`, says, ...(ours !== undefined && { ours: `spec.${ours}` }) }
    return refused(about, { ...spec, [field.replace(/[.[].*/, '')]: given }, refusal)
  })
}

export function many<Item>(count: number, item: (at: number) => Item): Item[] {
  return Array.from({ length: count }, (_, at) => item(at))
}

export const CONSTANT = 'cannot be changed: declare another resource and remove this one'

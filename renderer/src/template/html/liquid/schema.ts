/**
 * Answers what values a part of `variablesSchema` allows. What it excludes is certain: whatever the reader does not understand, or has no
 * steps left for, allows everything. So no template is refused because of an unknown keyword.
 */

import { referencedPart } from '@platen/contract/schema/variable/reference.ts'
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { VALUE_KINDS, type ValueKind } from '../filter/value-kind.ts'

export type Schema = JsonObject | boolean

export interface SchemaReader {
  /** All kinds if nothing is known. */
  kinds(schema: Schema): ReadonlySet<ValueKind>
  /** False if no object of this schema can have the field. */
  property(schema: Schema, name: string): Schema
  items(schema: Schema): Schema
  /** All allowed values, if they are listed. The list may contain others. */
  values(schema: Schema): readonly Json[] | undefined
  names(schema: Schema): readonly string[]
}

/** Schemas read for one source. A template with a hundred paths reads a few thousand. Branching references would never end. */
const STEPS_MAX = 50_000
/** Nested schemas. Every recursion ends here. */
const DEPTH_MAX = 100

export function openSchemaReader(root: JsonObject): SchemaReader {
  const flatten = openFlattener(root)
  const steps: Steps = { left: STEPS_MAX, depth: 0 }
  const partsOf = (schema: JsonObject): readonly JsonObject[] => {
    const parts = flatten(schema)
    steps.left -= parts.length
    return parts
  }
  const kindsOf = remembering<ReadonlySet<ValueKind>>(steps, ALL_KINDS, (schema) => kindsIn(schema, search))
  const propertyOf = remembering<Schema>(steps, true, (schema, name) => propertyIn(schema, name, search))
  const itemsOf = remembering<Schema>(steps, true, (schema) => itemsIn(schema, search))
  const valuesOf = remembering<readonly Json[] | null>(steps, null, (schema) => valuesIn(schema, search))
  const reader: SchemaReader = {
    kinds: (schema) => (isJsonObject(schema) ? kindsOf(schema) : schema ? ALL_KINDS : new Set()),
    property: (schema, name) => (isJsonObject(schema) ? propertyOf(schema, name) : schema),
    items: (schema) => (isJsonObject(schema) ? itemsOf(schema) : schema),
    values: (schema) => (isJsonObject(schema) ? (valuesOf(schema) ?? undefined) : undefined),
    names: (schema) => (isJsonObject(schema) ? namesIn(schema, search) : []),
  }
  const search: Search = { reader, partsOf, steps }
  return reader
}

interface Steps {
  left: number
  depth: number
}

interface Search {
  readonly reader: SchemaReader
  /** All schemas that apply at the same place. */
  readonly partsOf: (schema: JsonObject) => readonly JsonObject[]
  readonly steps: Steps
}

/** Caches answers. Answers `unknown` if no steps are left, and while the same question is being answered. */
function remembering<Answer>(steps: Steps, unknown: Answer, answer: (schema: JsonObject, name: string) => Answer) {
  const known = new WeakMap<JsonObject, Map<string, Answer>>()
  return (schema: JsonObject, name = ''): Answer => {
    const own = known.get(schema) ?? new Map<string, Answer>()
    known.set(schema, own)
    const before = own.get(name)
    if (before !== undefined) return before
    if (steps.left <= 0 || steps.depth >= DEPTH_MAX) return unknown
    // A recursive schema asks again before there is an answer.
    own.set(name, unknown)
    steps.depth += 1
    const found = answer(schema, name)
    steps.depth -= 1
    own.set(name, found)
    return found
  }
}

const ALL_KINDS: ReadonlySet<ValueKind> = new Set(VALUE_KINDS)

function kindsIn(schema: JsonObject, { reader, partsOf }: Search): ReadonlySet<ValueKind> {
  let kinds = ALL_KINDS
  for (const part of partsOf(schema)) {
    kinds = kinds.intersection(typesOf(part) ?? ALL_KINDS)
    const listed = listedIn(part)
    if (listed !== undefined) kinds = kinds.intersection(new Set(listed.map(kindOf)))
    for (const branches of branchesOf(part))
      kinds = kinds.intersection(new Set(branches.flatMap((branch) => [...reader.kinds(branch)])))
  }
  return kinds
}

function propertyIn(schema: JsonObject, name: string, search: Search): Schema {
  const { reader, partsOf } = search
  const found: Schema[] = []
  for (const part of partsOf(schema)) {
    if (part['unevaluatedProperties'] === false && !mayDeclare(part, name, search)) return false
    found.push(ownProperty(part, name))
    for (const branches of branchesOf(part)) {
      const objects = branches.filter((branch) => reader.kinds(branch).has('object'))
      found.push(anyOf(objects.map((branch) => reader.property(branch, name))))
    }
  }
  return allOf(found)
}

function mayDeclare(schema: JsonObject, name: string, search: Search): boolean {
  const declares = (part: JsonObject) => isOpen(part) || Object.hasOwn(objectOf(part['properties']), name)
  return search.steps.left <= 0 || nested(schema, search).some(declares)
}

/** The schemas whose fields JSON Schema counts as evaluated here. */
function nested(schema: JsonObject, { partsOf, steps }: Search): readonly JsonObject[] {
  const found = new Set<JsonObject>()
  const rest: Json[] = [schema]
  for (let part = rest.pop(); part !== undefined && steps.left > 0; part = rest.pop()) {
    if (!isJsonObject(part) || found.has(part)) continue
    for (const each of partsOf(part)) {
      found.add(each)
      const { if: condition = true, then: yes = true, else: no = true } = each
      const dependent = Object.values(objectOf(each['dependentSchemas']))
      rest.push(...branchesOf(each).flat(), condition, yes, no, ...dependent)
    }
  }
  return [...found]
}

function namesIn(schema: JsonObject, search: Search): readonly string[] {
  return [...new Set(nested(schema, search).flatMap((part) => Object.keys(objectOf(part['properties']))))]
}

function itemsIn(schema: JsonObject, { reader, partsOf }: Search): Schema {
  const found = partsOf(schema).flatMap((part) => [
    ownItems(part),
    ...branchesOf(part).map((branches) => {
      const lists = branches.filter((branch) => reader.kinds(branch).has('array'))
      return anyOf(lists.map((branch) => reader.items(branch)))
    }),
  ])
  return allOf(found)
}

function valuesIn(schema: JsonObject, { reader, partsOf }: Search): readonly Json[] | null {
  for (const part of partsOf(schema)) {
    const listed = listedIn(part)
    if (listed !== undefined) return listed
    for (const branches of branchesOf(part)) {
      const lists = branches.map((branch) => reader.values(branch))
      if (lists.every((list) => list !== undefined)) return lists.flat()
    }
  }
  return null
}

/** Finds all schemas that apply at the same place: the schema itself, its references, and `allOf`. `false` allows nothing. */
function openFlattener(root: JsonObject): (schema: JsonObject) => readonly JsonObject[] {
  // An `$id` changes the meaning of references below it.
  const hasBases = JSON.stringify(root).includes('"$id":')
  const targets = new Map<string, Json>()
  const known = new WeakMap<JsonObject, readonly JsonObject[]>()
  const follow = (reference: string): Json => {
    const target = targets.get(reference) ?? targetOf(root, reference) ?? true
    targets.set(reference, target)
    return target
  }
  return (schema) => {
    const before = known.get(schema)
    if (before !== undefined) return before
    const found = new Set<JsonObject>()
    const rest: Json[] = [schema]
    for (let part = rest.pop(); part !== undefined; part = rest.pop()) {
      const node = part === false ? NOTHING : part
      if (!isJsonObject(node) || found.has(node)) continue
      found.add(node)
      const { $ref: reference, allOf: every } = node
      if (Array.isArray(every)) rest.push(...every)
      if (typeof reference === 'string' && !hasBases) rest.push(follow(reference))
    }
    const parts = [...found]
    known.set(schema, parts)
    return parts
  }
}

const NOTHING: JsonObject = { enum: [] }

/** Undefined for a reference out of the schema. */
function targetOf(root: JsonObject, reference: string): Json | undefined {
  return /^#(?:\/|$)/.test(reference) ? referencedPart(root, reference) : undefined
}

function typesOf({ type, nullable }: JsonObject): ReadonlySet<ValueKind> | undefined {
  if (type === undefined) return undefined
  const types = [...(Array.isArray(type) ? type : [type]), ...(nullable === true ? ['null'] : [])]
  return new Set(VALUE_KINDS.filter((kind) => types.includes(kind) || (kind === 'number' && types.includes('integer'))))
}

function listedIn({ const: constant, enum: values }: JsonObject): readonly Json[] | undefined {
  if (constant !== undefined) return [constant]
  return Array.isArray(values) ? values : undefined
}

/** One branch of each list must apply. */
function branchesOf({ anyOf: any, oneOf: one }: JsonObject): readonly (readonly Schema[])[] {
  return [any, one].flatMap((branches) => (Array.isArray(branches) ? [branches.filter(isSchema)] : []))
}

function isSchema(value: Json): value is Schema {
  return typeof value === 'boolean' || isJsonObject(value)
}

/** The schema's own keywords only. True if they say nothing about the field. */
function ownProperty(schema: JsonObject, name: string): Schema {
  const { patternProperties = {}, additionalProperties = true } = schema
  const properties = objectOf(schema['properties'])
  const own = Object.hasOwn(properties, name) ? properties[name] : undefined
  if (own !== undefined) return isSchema(own) ? own : true
  const isNamed = Object.keys(objectOf(patternProperties)).length > 0
  return isNamed || !isSchema(additionalProperties) ? true : additionalProperties
}

/** The schema declares fields without naming them. */
function isOpen({ patternProperties, additionalProperties, unevaluatedProperties, $dynamicRef }: JsonObject): boolean {
  const declaring = [patternProperties, $dynamicRef].some((keyword) => keyword !== undefined)
  return (
    declaring || [additionalProperties, unevaluatedProperties].some((value) => value !== undefined && value !== false)
  )
}

function ownItems({ prefixItems, items = true }: JsonObject): Schema {
  const first = Array.isArray(prefixItems) ? prefixItems.filter(isSchema) : []
  return anyOf([...first, isSchema(items) ? items : true])
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

export function anyOf(schemas: readonly Schema[]): Schema {
  const some = [...new Set(schemas)].filter((schema) => schema !== false)
  if (some.length === 0) return false
  if (some.includes(true)) return true
  return some.length === 1 ? (some[0] ?? true) : { anyOf: some }
}

function allOf(schemas: readonly Schema[]): Schema {
  const some = [...new Set(schemas)].filter((schema) => schema !== true)
  if (some.includes(false)) return false
  return some.length <= 1 ? (some[0] ?? true) : { allOf: some }
}

function kindOf(value: Json): ValueKind {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return VALUE_KINDS.find((kind) => kind === typeof value) ?? 'object'
}

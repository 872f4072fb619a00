/** Values that a JSON Schema of ours describes, and now and then one beside it. */
import type { Json, JsonObject } from '@platen/lib/brand.ts'
import * as fc from 'fast-check'
import { json, number, text } from './json.ts'

/** One value in so many is any other. */
const ODD = 30

interface Described {
  readonly type?: string | readonly string[]
  readonly enum?: readonly Json[]
  readonly const?: Json
  readonly properties?: Readonly<Record<string, Described>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Described
  readonly items?: Described
  readonly anyOf?: readonly Described[]
  readonly oneOf?: readonly Described[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
}

export function conforming(
  schema: Described,
  own: Readonly<Record<string, fc.Arbitrary<Json>>> = {},
): fc.Arbitrary<Json> {
  return fc.oneof({ arbitrary: valueOf(schema, own), weight: ODD }, { arbitrary: json, weight: 1 })
}

function valueOf(schema: Described, own: Readonly<Record<string, fc.Arbitrary<Json>>>): fc.Arbitrary<Json> {
  const [branch, ...others] = schema.anyOf ?? schema.oneOf ?? []
  if (branch !== undefined) return fc.oneof(...[branch, ...others].map((each) => conforming(each, own)))
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  const [type = 'any'] = [schema.type ?? []].flat()
  switch (type) {
    case 'object':
      return objectOf(schema, own)
    case 'array':
      return fc.array(conforming(schema.items ?? {}, own), { maxLength: Math.min(schema.maxItems ?? 3, 3) })
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.oneof(fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 100_000 }), number)
    case 'number':
      return number
    case 'string':
      return schema.pattern === undefined ? text : fc.oneof(matching(schema.pattern), text)
    default:
      return json
  }
}

function objectOf(
  { properties = {}, required = [], additionalProperties }: Described,
  own: Readonly<Record<string, fc.Arbitrary<Json>>>,
): fc.Arbitrary<JsonObject> {
  const fields = Object.fromEntries(
    Object.entries(properties).map(([field, schema]) => [field, own[field] ?? conforming(schema, own)]),
  )
  const known = fc.record(fields, { requiredKeys: [...required] })
  if (typeof additionalProperties !== 'object') return known
  const others = fc.dictionary(
    fc.oneof(fc.constantFrom('a', 'b.tsx', 'constructor'), text),
    conforming(additionalProperties, own),
    { maxKeys: 3 },
  )
  return fc.tuple(known, others).map(([one, other]) => ({ ...other, ...one }))
}

function matching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern, 'u'), { maxLength: 20 })
  } catch {
    // Not all there is in patterns has a generator.
    return text
  }
}

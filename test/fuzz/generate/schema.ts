/** JSON Schemas, most of them good ones. */
import type { Json, JsonObject } from '@platen/lib/brand.ts'
import * as fc from 'fast-check'
import { json, name, number, object, words } from './json.ts'

const count = fc.integer({ min: 0, max: 4 })
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object')
export const pattern = fc.oneof(
  fc.constantFrom(
    '^a',
    'a|b$',
    '^\\p{L}+$',
    '^.{0,3}$',
    '(a+)+$',
    '^[^a-c\\s]*$',
    '\\d{2}-\\d{2}',
    '^$',
    '(?<n>a)',
    '\\u{1F600}',
    '[\\p{Lu}é]',
  ),
  fc.string({ unit: fc.constantFrom(...'ab^$.*+?()[]{}|\\dpL12,-:=!<>'.split('')), maxLength: 10 }),
)
const format = words('date date-time time email uri uuid ipv6 regex duration byte int32 hostname json-pointer nothing')
const reference = words(
  '# #/$defs/a #/$defs/b #/properties/a #/properties/rows/items #a #/$defs/nothing' +
    ' https://json-schema.org/draft/2020-12/schema other.json toString __proto__ constructor# #toString' +
    ' #/constructor #/__proto__/a #/properties/toString #/$defs/constructor',
)

type Schema = JsonObject | boolean

export const schema: fc.Arbitrary<JsonObject> = fc.letrec<{
  schema: Schema
  keywords: JsonObject
  list: Schema[]
  named: JsonObject
  byPattern: JsonObject
}>((tie) => ({
  list: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
  named: fc.dictionary(name, tie('schema'), { maxKeys: 4 }),
  byPattern: fc.dictionary(pattern, tie('schema'), { maxKeys: 2 }),
  keywords: fc
    .array(fc.oneof({ depthSize: 'small' }, ...plain(), ...nested(tie)), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries)),
  schema: fc.oneof({ depthSize: 'small', withCrossShrink: true, maxDepth: 5 }, fc.boolean(), tie('keywords')),
})).keywords

type Entry = [keyword: string, value: Json]

function entry(keyword: string, value: fc.Arbitrary<Json>): fc.Arbitrary<Entry> {
  return value.map((given): Entry => [keyword, given])
}

function plain(): fc.Arbitrary<Entry>[] {
  const counts = [
    'minLength',
    'maxLength',
    'minItems',
    'maxItems',
    'minProperties',
    'maxProperties',
    'minContains',
    'maxContains',
  ]
  const bounds = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum']
  const names = fc.uniqueArray(name, { maxLength: 3 })
  return [
    entry('type', fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 }))),
    entry('const', json),
    entry('enum', fc.array(json, { minLength: 1, maxLength: 25 })),
    entry('uniqueItems', fc.boolean()),
    entry('required', names),
    entry('pattern', pattern),
    entry('format', format),
    entry('$ref', reference),
    entry('$id', reference),
    entry('$schema', reference),
    entry('$dynamicRef', reference),
    entry('multipleOf', fc.constantFrom(1, 0.01, 3, 1e-300)),
    entry('dependentRequired', fc.dictionary(name, names, { maxKeys: 2 })),
    entry('$anchor', fc.constantFrom('a', 'b')),
    entry('$dynamicAnchor', fc.constantFrom('a', 'b')),
    entry('default', object),
    ...counts.map((keyword) => entry(keyword, count)),
    ...bounds.map((keyword) => entry(keyword, number)),
    fc.tuple(fc.constantFrom('properties', 'items', 'type', '$id', '$schema', '$async', 'nullable', 'anyOf'), json),
  ]
}

type Tie = (key: 'schema' | 'list' | 'named' | 'byPattern') => fc.Arbitrary<unknown>

function nested(tie: Tie): fc.Arbitrary<Entry>[] {
  const of = (keywords: readonly string[], key: Parameters<Tie>[0]) =>
    // What is tied is JSON: the keys name arbitraries of schemas alone.
    keywords.map((keyword) => entry(keyword, tie(key) as fc.Arbitrary<Json>))
  return [
    ...of(
      [
        'items',
        'contains',
        'not',
        'if',
        'then',
        'else',
        'propertyNames',
        'additionalProperties',
        'unevaluatedProperties',
        'unevaluatedItems',
      ],
      'schema',
    ),
    ...of(['allOf', 'anyOf', 'oneOf', 'prefixItems'], 'list'),
    ...of(['properties', 'properties', 'properties', '$defs', 'dependentSchemas'], 'named'),
    ...of(['patternProperties'], 'byPattern'),
  ]
}

/** Schemas that cost much to compile for what they weigh: each grows with a size, up to where it is refused. */
import type { Json, JsonObject } from '@platen/lib/brand.ts'

type Shape = (size: number) => JsonObject

const list = (size: number, at: (index: number) => Json) => Array.from({ length: size }, (_, index) => at(index))
const fields = (size: number, at: (index: number) => Json, name = 'p') =>
  Object.fromEntries(Array.from({ length: size }, (_, index) => [`${name}${index}`, at(index)]))
const TEXT = { type: 'string' }
const every =
  (at: (index: number) => JsonObject): Shape =>
  (size) => ({ properties: fields(size, at) })
const manyOf =
  (keyword: string, at: (index: number) => Json): Shape =>
  (size) => ({ [keyword]: list(size, at) })
const namesOf =
  (keyword: string, at: (index: number) => Json): Shape =>
  (size) => ({ [keyword]: fields(size, at) })

/** Keywords that cost as much wherever they are. */
const KEYWORDS: readonly JsonObject[] = [
  TEXT,
  { type: ['string', 'null', 'number', 'object'] },
  { minimum: 1, maximum: 2, exclusiveMinimum: 0, exclusiveMaximum: 3, multipleOf: 1 },
  { type: 'string', minLength: 1, maxLength: 2, format: 'date-time', pattern: '^a' },
  { minItems: 1, maxItems: 2, uniqueItems: true, contains: TEXT, minContains: 2, maxContains: 3 },
  { contains: true },
  { minProperties: 1, maxProperties: 2, required: ['a', 'b'] },
  { propertyNames: { minLength: 1 } },
  { additionalProperties: TEXT },
  { unevaluatedProperties: TEXT },
  { unevaluatedItems: TEXT },
  { items: TEXT },
  { prefixItems: [TEXT, true] },
  { const: { a: [1] } },
  { enum: ['a', { b: 1 }] },
  { not: TEXT },
  // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
  { if: { minimum: 1 }, then: { minimum: 2 }, else: { maximum: 3 } },
  { anyOf: [TEXT, { type: 'null' }] },
  { oneOf: [TEXT, { minimum: 1 }, { type: 'null' }] },
  { allOf: [TEXT, { minLength: 1 }] },
  { patternProperties: { a: TEXT, b: true }, additionalProperties: false },
  { dependentRequired: { a: ['b', 'c'] }, dependentSchemas: { a: TEXT } },
  { $ref: '#' },
  { $ref: 'https://json-schema.org/draft/2020-12/schema' },
  { $dynamicRef: '#' },
  { type: 'object', required: ['a', 'b'], additionalProperties: false, properties: { a: TEXT, b: { minimum: 0 } } },
]

const chain = (at: (next: string) => JsonObject) => (size: number) => ({
  $defs: fields(size, (index) => (index === 0 ? TEXT : at(`#/$defs/p${index - 1}`))),
  $ref: `#/$defs/p${size - 1}`,
})

export const COSTLY: Readonly<Record<string, Shape>> = {
  ...Object.fromEntries(KEYWORDS.map((keyword) => [JSON.stringify(keyword), every(() => keyword)])),
  ...Object.fromEntries(
    ['anyOf', 'oneOf', 'allOf', 'prefixItems'].flatMap((keyword) => [
      [`${keyword} of many`, manyOf(keyword, (index) => ({ const: index }))],
      [`${keyword} of many that need a field`, manyOf(keyword, (index) => ({ required: [`p${index}`] }))],
      [`${keyword} of many falsehoods`, manyOf(keyword, () => false)],
      [
        `${keyword} of many fields`,
        (size) => ({
          unevaluatedProperties: false,
          [keyword]: list(size, (at) => ({ properties: { [`p${at}`]: {} } })),
        }),
      ],
    ]),
  ),
  'many that are required': manyOf('required', (index) => `p${index}`),
  'many texts': manyOf('enum', (index) => `p${index}`),
  'many dependencies': namesOf('dependentRequired', () => ['a']),
  'one dependency of many': (size) => ({ dependentRequired: { a: list(size, (index) => `p${index}`) } }),
  'many schemas of dependencies': namesOf('dependentSchemas', () => ({ required: ['a'] })),
  'many names by pattern': namesOf('patternProperties', () => TEXT),
  'many names by pattern, and no others': (size) => ({
    patternProperties: fields(size, () => true),
    unevaluatedProperties: false,
  }),
  'many definitions': (size) => ({
    $defs: fields(size, () => TEXT),
    properties: fields(size, (index) => ({ $ref: `#/$defs/p${index}` })),
  }),
  'many anchors': (size) => ({
    $defs: fields(size, (index) => ({ $dynamicAnchor: `a${index}`, ...TEXT })),
    properties: fields(size, (index) => ({ $dynamicRef: `#a${index}` })),
  }),
  'many that are identified': every((index) => ({ $id: `https://a.example/${index}`, ...TEXT })),
  'a chain of references': every((index) => (index === 0 ? TEXT : { $ref: `#/properties/p${index - 1}` })),
  'a chain of fields': chain(($ref) => ({ properties: { a: { $ref } } })),
  'references to an address that is long': (size) => ({
    $id: `https://a.example/${'a/'.repeat(size)}`,
    $defs: { a: {} },
    properties: fields(300, () => ({ $ref: '#/$defs/a' })),
  }),
  'references among many other words': (size) => ({
    ...fields(size, () => 0, 'x'),
    $defs: fields(200, () => true),
    properties: fields(200, (index) => ({ $ref: `#/$defs/p${index}` })),
  }),
  'many texts by name': every(() => TEXT),
  'many patterns': every((index) => ({ pattern: `^a${index}(b|c)*$` })),
  'many patterns of Unicode': every((index) => ({ pattern: `${index}\\p{L}` })),
  'a class of many classes': (size) => ({ pattern: `[${'\\p{L}'.repeat(size)}]` }),
  'a choice of many classes': (size) => ({ pattern: `\\p{L}${'|\\p{L}'.repeat(size)}` }),
  'a choice of many words': (size) => ({ pattern: Array.from({ length: size }, (_, index) => `${index}x`).join('|') }),
  'a pattern written out': (size) => ({ pattern: 'a{1000}'.repeat(size) }),
  'many patterns written out': every((index) => ({ pattern: `${index}.{900}` })),
  'groups within groups': (size) => ({ pattern: `${'(?:a|'.repeat(size)}b${')*'.repeat(size)}` }),
}

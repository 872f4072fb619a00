import type { Json, JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { FORMAT_CHARS_MAX, SCHEMA_BYTES_MAX, SCHEMA_DEPTH_MAX } from '../../domain/limit.ts'
import { compileVariablesSchema } from './variables-schema.ts'

const faultsOf = (schema: JsonObject, value: unknown) =>
  compileVariablesSchema(schema)(value).map(({ path, message }) => `${path} ${message}`)

const OUT_OF_STEPS = [' takes more time to check than a request may take']

describe('data is held against', () => {
  test.for<[JsonObject, fits: unknown, not: unknown, path: string]>([
    [{ properties: { a: { pattern: '^\\p{Lu}{3}$' } } }, { a: 'ŻÓŁ' }, { a: 'eur' }, '/a'],
    [{ patternProperties: { '^x-': { type: 'string' } } }, { 'x-a': '' }, { 'x-a': 1 }, '/x-a'],
    [{ patternProperties: { '^x-': true }, additionalProperties: false }, { 'x-a': '' }, { y: 1 }, '/y'],
    [
      {
        anyOf: [{ required: ['c'], properties: { a: true } }, { required: ['b'] }],
        patternProperties: { b: { type: 'string' } },
      },
      { b: '' },
      { b: 1 },
      '/b',
    ],
    [
      {
        if: { required: ['c'] },
        // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
        then: { properties: { a: true } },
        patternProperties: { b: true },
        unevaluatedProperties: false,
      },
      { b: 1 },
      { a: 1 },
      '/a',
    ],
    [{ propertyNames: { pattern: '^[a-z]+$' } }, { ab: 1 }, { AB: 1 }, '/AB'],
    [{ properties: { a: { format: 'date' } } }, { a: '2026-02-28' }, { a: '2026-02-30' }, '/a'],
    [{ properties: { a: { format: 'email' } } }, { a: 'a@b.example' }, { a: 'a@' }, '/a'],
    [{ properties: { a: { format: 'url' } } }, { a: 'https://a.example/' }, { a: 'a.example' }, '/a'],
    [{ properties: { a: { format: 'byte' } } }, { a: 'QUJD'.repeat(2e6) }, { a: 'QUI' }, '/a'],
    [{ properties: { a: { format: 'int32' } } }, { a: 1 }, { a: 2 ** 31 }, '/a'],
    [{ properties: { a: { format: 'nobody-knows' } } }, { a: '' }, [], ''],
    [
      { properties: { a: { uniqueItems: true } } },
      { a: [{ x: 1, y: 2 }, '1', 1, [1], null] },
      {
        a: [
          { x: 1, y: 2 },
          { y: 2, x: 1 },
        ],
      },
      '/a',
    ],
    [
      { properties: { a: { const: { x: [1, { y: null }] } } } },
      { a: { x: [1, { y: null }] } },
      { a: { x: [1, {}] } },
      '/a',
    ],
    [{ properties: { a: { const: {} } } }, { a: {} }, { a: [] }, '/a'],
    [{ properties: { a: { const: [0] } } }, { a: [0] }, { a: { 0: 0 } }, '/a'],
    [{ properties: { a: { enum: [{}, { b: 1 }] } } }, { a: { b: 1 } }, { a: { toString: 1 } }, '/a'],
    [{ properties: { a: { enum: [{ toString: 1 }] } } }, { a: { toString: 1 } }, { a: { valueOf: 1 } }, '/a'],
    [{ properties: { a: { not: { const: { constructor: 1 } } } } }, { a: {} }, { a: { constructor: 1 } }, '/a'],
    [{ properties: { a: { uniqueItems: false } } }, { a: [1, 1] }, [], ''],
    [{ properties: { next: { $ref: '#' } }, required: ['v'] }, { v: 1, next: { v: 2 } }, { v: 1, next: {} }, '/next/v'],
    [{ anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { b: 1 }, {}, '/a'],
    [{ $ref: 'https://json-schema.org/draft/2020-12/schema' }, { minimum: 1 }, { minimum: '1' }, '/minimum'],
    [{ properties: { a: {} }, unevaluatedProperties: false }, { a: 1 }, { b: 1 }, '/b'],
  ])('%j', ([schema, fits, not, path]) => {
    const validate = compileVariablesSchema({ type: 'object', ...schema })
    expect(validate(fits)).toEqual([])
    expect(validate(not).map((fault) => fault.path)).toContain(path)
    expect(validate(fits)).toEqual([])
  })
})

describe('a schema is refused', () => {
  const nested = (levels: number): JsonObject => (levels === 1 ? { type: 'string' } : { not: nested(levels - 1) })
  const long = (bytes: number): JsonObject => ({ description: 'x'.repeat(bytes - '{"description":""}'.length) })

  test.for<[what: string, JsonObject, reason: string]>([
    ['that is none', { type: 'objekt' }, 'schema is invalid: /type must be one of "array", "boolean"'],
    ['whose properties are a list', { properties: [] }, 'schema is invalid: /properties must be object'],
    ['of another draft', { $schema: 'http://json-schema.org/draft-07/schema#' }, 'no schema with key or ref'],
    [
      'that refers to the web',
      { $ref: 'https://example.com/schema.json' },
      "can't resolve reference https://example.com",
    ],
    ['that refers to a file', { $ref: 'file:///etc/passwd' }, "can't resolve reference file:///etc/passwd"],
    ['that refers to nothing', { $ref: '#/$defs/nothing' }, "/$ref: can't resolve reference #/$defs/nothing"],
    [
      'that refers to nothing in a corner',
      { properties: { 'a/b': { items: { $ref: '#/$defs/c' } } } },
      "/properties/a~1b/items/$ref: can't resolve reference #/$defs/c",
    ],
    [
      'with a bound below nothing',
      { properties: { a: { maxLength: -1 } } },
      'schema is invalid: /properties/a/maxLength must be >= 0',
    ],
    ['that passes for the meta-schema', { $id: 'https://json-schema.org/draft/2020-12/schema' }, 'already exists'],
    ['that is itself', { $ref: '#' }, 'refers to itself endlessly'],
    [
      'that is itself by another name',
      { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
      'refers to itself endlessly',
    ],
    ['that promises', { $async: true }, '$async'],
    ['that promises in a corner', { $defs: { a: { $async: true } }, $ref: '#/$defs/a' }, '$async'],
    [
      'with a pattern that is none',
      { properties: { a: { pattern: '(' } } },
      '/properties/a/pattern: the pattern "(" is not accepted: missing closing )',
    ],
    [
      'that looks around',
      { properties: { a: { pattern: '^(?!x)' } } },
      'the pattern "^(?!x)" is not accepted: look-around',
    ],
    [
      'that looks back by name',
      { patternProperties: { '(?<n>a)\\k<n>': {} } },
      '/patternProperties/(?<n>a)\\k<n>: the pattern',
    ],
    ['one level too deep', nested(SCHEMA_DEPTH_MAX + 1), `more than ${SCHEMA_DEPTH_MAX} levels`],
    ['of one byte too many', long(SCHEMA_BYTES_MAX + 1), `has ${SCHEMA_BYTES_MAX + 1} bytes`],
  ])('%s', ([, schema, reason]) => {
    expect(() => compileVariablesSchema(schema)).toThrow(reason)
  })

  test.for<[what: string, JsonObject]>([
    ['of the deepest', nested(SCHEMA_DEPTH_MAX)],
    ['of the most bytes', long(SCHEMA_BYTES_MAX)],
  ])('but not one %s', ([, schema]) => {
    expect(() => compileVariablesSchema(schema)).not.toThrow()
  })
})

describe('nothing goes on for ever:', () => {
  const branching = {
    anyOf: [
      { required: ['end'] },
      { required: ['a'], properties: { x: { $ref: '#' } } },
      { required: ['b'], properties: { x: { $ref: '#' } } },
    ],
  }
  const nested = (levels: number): Json => (levels === 0 ? {} : { x: nested(levels - 1) })
  // Each level is ten times the size of the one below.
  const laughs = Object.fromEntries(
    Array.from({ length: 12 }, (_, level) => [
      `l${level + 1}`,
      { allOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/l${level}` })) },
    ]),
  )

  test('a pattern that backtracks in other engines', () => {
    const text = `${'a'.repeat(100_000)}!`
    expect(faultsOf({ properties: { a: { pattern: '^(a+)+$' } } }, { a: text })).toEqual([
      '/a does not have the required form',
    ])
  })

  test('a pattern that is tried on every name', () => {
    const names = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`${at}${'a'.repeat(100)}`, 1]))
    expect(faultsOf({ patternProperties: { '(a|aa)+(.{300})+!$': {} } }, names)).toEqual(OUT_OF_STEPS)
  })

  test('a large definition that is referred to in hundreds of places', () => {
    const fields = (prefix: string, count: number, schema: JsonObject) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, schema]))
    const schema = {
      $defs: { large: { properties: fields('q', 300, { minimum: 0 }) } },
      properties: fields('p', 200, { $ref: '#/$defs/large' }),
    }
    expect(faultsOf(schema, { p7: { q8: 1 }, p199: { q299: -1 } })).toEqual(['/p199/q299 must be >= 0'])
  })

  test('a large value that is compared at thousands of places', () => {
    const value = (first: number) => [[first, ...Array.from({ length: 25_000 }, () => 0)]]
    const level = (next: string) => ({ allOf: Array.from({ length: 8 }, () => ({ $ref: next })) })
    const schema = {
      $defs: {
        a: level('#/$defs/b'),
        b: level('#/$defs/c'),
        c: level('#/$defs/d'),
        d: level('#/$defs/e'),
        e: { not: { const: value(1) } },
      },
      properties: { list: { $ref: '#/$defs/a' } },
    }
    expect(faultsOf(schema, { list: value(2) })).toEqual(OUT_OF_STEPS)
    expect(faultsOf({ properties: { list: { not: { const: value(1) } } } }, { list: value(2) })).toEqual([])
  })

  test('a billion laughs of references', () => {
    const schema = { $defs: { l0: { type: 'string' }, ...laughs }, properties: { a: { $ref: '#/$defs/l12' } } } as const
    expect(faultsOf(schema, { a: 'x' })).toEqual(OUT_OF_STEPS)
  })

  test('a reference that branches at every level', () => {
    const validate = compileVariablesSchema(branching)
    expect(validate(nested(60))).toMatchObject([{ path: '' }])
    expect(validate({ end: 1 })).toEqual([])
  })

  test('a reference that stays where it is for some data only', () => {
    // oxlint-disable-next-line no-thenable -- a keyword of JSON Schema
    const schema = { if: { required: ['a'] }, then: { $ref: '#' } }
    expect(faultsOf(schema, { a: 1 })).toEqual(OUT_OF_STEPS)
  })

  test('hundreds of checks of a list of millions', () => {
    const allOf = Array.from({ length: 300 }, () => ({ items: { type: 'number' } }))
    const list = Array.from({ length: 1_000_000 }, () => 1)
    expect(faultsOf({ properties: { a: { allOf } } }, { a: list })).toEqual(OUT_OF_STEPS)
    expect(faultsOf({ properties: { a: { items: { type: 'number' } } } }, { a: list })).toEqual([])
  })

  test('a list of a hundred thousand objects that are all different', () => {
    const list = Array.from({ length: 100_000 }, (_, at) => ({ at }))
    expect(faultsOf({ properties: { a: { uniqueItems: true } } }, { a: list })).toEqual([])
    expect(faultsOf({ properties: { a: { uniqueItems: true } } }, { a: [...list, { at: 7 }] })).toHaveLength(1)
  })

  test.for([
    ['url', 'a URL such as https://example.com/a'],
    ['email', 'an e-mail address such as ann@example.com'],
    ['date-time', 'a time such as 2026-11-21T12:00:00Z'],
    ['hostname', 'a host name such as www.example.com'],
    ['uri-template', 'of the format uri-template'],
    ['regex', 'of the format regex'],
  ] as const)('a format of %s with megabytes', ([format, form]) => {
    const text = `http://${'a:'.repeat(1_000_000)}@`
    expect(faultsOf({ properties: { a: { format } } }, { a: text })).toEqual([`/a must be ${form}`])
  })
})

test('a text longer than any of its format does not fit it', () => {
  const schema = { properties: { a: { format: 'json-pointer' } } }
  expect(faultsOf(schema, { a: `/${'a'.repeat(FORMAT_CHARS_MAX - 1)}` })).toEqual([])
  expect(faultsOf(schema, { a: `/${'a'.repeat(FORMAT_CHARS_MAX)}` })).toHaveLength(1)
})

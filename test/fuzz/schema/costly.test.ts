import { SCHEMA_WEIGHT_MAX } from '@platen/contract/domain/limit.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variable/variables-schema.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { describe, expect, test } from 'vitest'
import { COSTLY } from './costly.ts'

describe('compiling a schema is weighed before it is done:', () => {
  const refused = `it weighs more than ${SCHEMA_WEIGHT_MAX}, where a property weighs 2.5`
  const text = { type: 'string', maxLength: 80 }

  test('properties up to the limit, and no further', () => {
    const schema = (properties: number) => COSTLY['many texts by name']?.(properties) ?? {}
    expect(() => compileVariablesSchema(schema(SCHEMA_WEIGHT_MAX / 2.5 - 5))).not.toThrow()
    expect(() => compileVariablesSchema(schema(SCHEMA_WEIGHT_MAX / 2.5))).toThrow(refused)
  })

  // Each of these took from a quarter of a second to half a minute.
  test.for<[name: string, size: number]>([
    ['many names by pattern', 900],
    ['oneOf of many', 900],
    ['anyOf of many falsehoods', 8000],
    ['one dependency of many', 900],
    ['many dependencies', 3000],
    ['a chain of references', 450],
    ['many anchors', 450],
    ['references to an address that is long', 20_000],
    ['references among many other words', 5000],
    ['many patterns', 900],
    ['many patterns of Unicode', 900],
    ['a class of many classes', 10_000],
    ['a choice of many classes', 5000],
    ['a pattern written out', 1000],
  ])('%s, %i of them', ([name, size]) => {
    expect(() => compileVariablesSchema(COSTLY[name]?.(size) ?? {})).toThrow(refused)
  })

  test.for<[what: string, JsonObject]>([
    ['two hundred properties', Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`p${at}`, text]))],
    [
      'two hundred properties that have fields',
      Object.fromEntries(
        Array.from({ length: 200 }, (_, at) => [
          `p${at}`,
          { type: 'object', required: ['a', 'b'], additionalProperties: false, properties: { a: text, b: {} } },
        ]),
      ),
    ],
    [
      'a list of all countries, twenty times',
      Object.fromEntries(
        Array.from({ length: 20 }, (_, at) => [
          `p${at}`,
          { enum: Array.from({ length: 250 }, (_, country) => country) },
        ]),
      ),
    ],
    [
      'dates by pattern',
      Object.fromEntries(
        Array.from({ length: 100 }, (_, at) => [
          `p${at}`,
          { pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(?:Z|[+-]\\d{2}:\\d{2})$' },
        ]),
      ),
    ],
  ])('%s are taken', ([, properties]) => {
    expect(() => compileVariablesSchema({ type: 'object', additionalProperties: false, properties })).not.toThrow()
  })
})

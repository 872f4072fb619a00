import { describe, expect, test } from 'vitest'
import { SPEC_SCHEMAS } from '../domain/resource-spec.ts'
import { renderEventSchema } from '../stored/render-event.ts'
import { renderRecordSchema } from '../stored/render-record.ts'
import { renderRequestSchema } from './render-request.ts'
import { assertSchema, compileConverter, compileValidator } from './validator.ts'

const OURS = { renderRequestSchema, renderRecordSchema, renderEventSchema, ...SPEC_SCHEMAS }

test.for(Object.entries(OURS))('%s is a schema', ([, schema]) => assertSchema(schema))

test('a schema that is none is refused with what is wrong, and where', () => {
  expect(() => assertSchema({ properties: { a: { type: 'objekt' } } })).toThrow(
    /^schema is invalid: \/properties\/a\/type/,
  )
})

describe('a schema is compiled when the first value comes', () => {
  const unreadable = { $ref: '#/$defs/missing' }

  test('by a validator', () => {
    const faultsOf = compileValidator(unreadable)
    expect(() => faultsOf({})).toThrow("can't resolve reference")
  })

  test('by a converter', () => {
    const convert = compileConverter(unreadable)
    expect(() => convert({})).toThrow("can't resolve reference")
  })
})

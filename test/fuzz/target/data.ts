/** Schemas and data: compiled and checked in the threads of the API, and beside that by ajv as it comes. */
import assert from 'node:assert/strict'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { openBodyChecks } from '@platen/api/body/check/body-checks.ts'
import type { Template, TemplateCode, TemplateDigest, TenantId } from '@platen/contract/domain/tenant.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variable/variables-schema.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import * as fc from 'fast-check'
import { NEVER } from '../../fixture/build.ts'
import { object } from '../generate/json.ts'
import { schema } from '../generate/schema.ts'
import { SECRET, targetOf } from '../target.ts'

const BOUNDED = 'takes more time to check than a request may take'

/** Fits what has a text under `a`, and nothing else. */
const PLAIN = { type: 'object', required: ['a'], properties: { a: { type: 'string' } } }

export const data = targetOf<{ readonly schema: JsonObject; readonly data: readonly JsonObject[] }>({
  name: 'data',
  inputs: fc.record({ schema, data: fc.array(object, { minLength: 1, maxLength: 3 }) }),
  async open() {
    const checks = openBodyChecks(systemClock())
    return {
      async meet(input) {
        if (!isPublished(input.schema)) return
        const fitsPlain = plainCheck(input.schema)
        for (const value of input.data) {
          const faults = await checks.faultsOf(aTemplate(input.schema), { value }, NEVER)
          assert(
            faults.every(({ message }) => !message.includes(SECRET) || JSON.stringify(input.schema).includes(SECRET)),
            'a fault quotes the data',
          )
          const isBounded = faults.some(({ message }) => message === BOUNDED)
          const expected = isBounded ? undefined : fitsPlain(value)
          if (expected !== undefined) assert.equal(faults.length === 0, expected, 'ajv by itself says otherwise')
        }
        assert.deepEqual(await checks.faultsOf(aTemplate(PLAIN), { value: { a: 'b' } }, NEVER), [])
        assert.equal((await checks.faultsOf(aTemplate(PLAIN), { value: {} }, NEVER)).length, 1)
      },
      [Symbol.asyncDispose]: () => checks[Symbol.asyncDispose](),
    }
  },
})

/** Of a schema that is refused all is well: it is said in a message. */
function isPublished(candidate: JsonObject): boolean {
  try {
    compileVariablesSchema(candidate)
    return true
  } catch (error) {
    assert(
      error instanceof Error && error.message !== '' && !isDefect(error),
      error instanceof Error ? error : undefined,
    )
    return false
  }
}

/** What JavaScript throws where code of ours or of ajv's is wrong. */
function isDefect(error: Error): boolean {
  return error instanceof TypeError || error instanceof ReferenceError || error instanceof RangeError
}

/** Does a value fit by ajv as it comes? Undefined where that says nothing: ours has formats and patterns of its own, and ajv calls a `toString` in the data. */
function plainCheck(candidate: JsonObject): (value: JsonObject) => boolean | undefined {
  if (/"(?:format|pattern|patternProperties)"/.test(JSON.stringify(candidate))) return () => undefined
  const validate = compileValidator(candidate)
  return (value) => {
    try {
      return validate(value).length === 0
    } catch {
      return undefined
    }
  }
}

function aTemplate(variablesSchema: JsonObject): Template {
  // Brands are put on by what validates input; fixtures are valid by being written here.
  const ids = { tenant: 'acme' as TenantId, code: 'invoice' as TemplateCode, digest: 'a'.repeat(64) as TemplateDigest }
  return { ...ids, name: 'Invoice', version: 1, engine: 'react_pdf', variablesSchema, engines: ['react_pdf'] }
}

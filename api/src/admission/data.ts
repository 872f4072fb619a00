/** Fourth station: does `data` fit the template's `variables_schema`? */
import { isDeepStrictEqual } from 'node:util'
import type { JsonObject } from '@platen/contract/brand.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { DATA_VALIDATORS_MAX } from '@platen/contract/limit.ts'
import type { Validator } from '@platen/contract/schema/validator.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variables-schema.ts'
import type { Template } from '@platen/contract/tenant.ts'

/** Lets data pass that fits. Throws `VALIDATION_FAILED`, whose details name places in the request body and never a value. */
export type RequireFit = (data: JsonObject, template: Template) => void

/** A check that compiles each template's schema once and keeps the `DATA_VALIDATORS_MAX` last used. */
export function dataCheck(): RequireFit {
  const compiled = new Map<string, { readonly schema: JsonObject; readonly validate: Validator }>()

  const validatorOf = ({ tenant, digest, variablesSchema: schema }: Template): Validator => {
    const name = `${tenant}/${digest}`
    const known = compiled.get(name)
    // The digest is of the sources: a template published anew with another schema alone may keep it.
    const isKnown = known !== undefined && (known.schema === schema || isDeepStrictEqual(known.schema, schema))
    const validate = isKnown ? known.validate : compileVariablesSchema(schema)
    compiled.delete(name)
    compiled.set(name, { schema, validate })
    const [oldest] = compiled.keys()
    if (compiled.size > DATA_VALIDATORS_MAX && oldest !== undefined) compiled.delete(oldest)
    return validate
  }

  return (data, template) => {
    const faults = validatorOf(template)(data)
    if (faults.length === 0) return
    throw new ServiceError('VALIDATION_FAILED', "The data does not fit the template's variables_schema.", {
      details: faults.map(({ path, message }) => ({ path: `/data${path}`, message })),
    })
  }
}

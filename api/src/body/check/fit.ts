/** How data fits the `variables_schema` of a template. What runs in the threads of `body-checks.ts`. */

import { DATA_VALIDATORS_MAX, DATA_VALIDATORS_OF_ONE_TENANT } from '@platen/contract/api-limit.ts'
import type { JsonObject } from '@platen/contract/brand.ts'
import type { ErrorDetail } from '@platen/contract/error.ts'
import type { Validator } from '@platen/contract/schema/validator.ts'
import { compileVariablesSchema } from '@platen/contract/schema/variable/variables-schema.ts'
import type { TenantId } from '@platen/contract/tenant.ts'

export interface FitTask {
  readonly tenant: TenantId
  /** As JSON. */
  readonly schema: string
  /** A JSON object, in UTF-8. */
  readonly data: Uint8Array
}

export type CheckFit = (task: FitTask) => readonly ErrorDetail[]

/**
 * A check that compiles each schema once and keeps those used last: so many of each tenant, so that none crowds out the others, and so
 * many in all. It names places in the data and never a value. Throws an `Error` for what is no schema, which is not published.
 */
export function openFitCheck(): CheckFit {
  /** By the schema, the one used last at the end; the tenant that was here last at the end, too. */
  const tenants = new Map<TenantId, Map<string, Validator>>()
  let count = 0

  const drop = (tenant: TenantId, kept: Map<string, Validator>) => {
    const [oldest] = kept.keys()
    if (oldest === undefined) return
    kept.delete(oldest)
    count -= 1
    if (kept.size === 0) tenants.delete(tenant)
  }

  const validatorOf = (tenant: TenantId, schema: string): Validator => {
    const kept = tenants.get(tenant) ?? new Map<string, Validator>()
    const known = kept.get(schema)
    // It is JSON of an object, as it was published.
    const validate = known ?? compileVariablesSchema(JSON.parse(schema) as JsonObject)
    if (known === undefined) count += 1
    kept.delete(schema)
    kept.set(schema, validate)
    tenants.delete(tenant)
    tenants.set(tenant, kept)
    if (kept.size > DATA_VALIDATORS_OF_ONE_TENANT) drop(tenant, kept)
    const [last] = tenants
    if (count > DATA_VALIDATORS_MAX && last !== undefined) drop(...last)
    return validate
  }

  return ({ tenant, schema, data }) => validatorOf(tenant, schema)(JSON.parse(Buffer.from(data).toString()))
}

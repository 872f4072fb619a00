/** Validates data against the `variables_schema` of a template. Runs in the threads of `body-checks.ts`. */

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
 * Opens a check that compiles each schema once and caches those used last. Each tenant has its own share of the cache, so that none
 * displaces the others, and there is a limit for all. Faults name places in the data and never a value. Throws an `Error` for an invalid
 * schema, which is never published.
 */
export function openFitCheck(): CheckFit {
  /** Schemas by tenant. In both maps, the last used entry is at the end. */
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
    // The published schema is a JSON object.
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

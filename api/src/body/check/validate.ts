/** Validates data against the `variables_schema` of a template. Runs in the threads of `body-checks.ts`. */

import type { ErrorDetail } from '@platen/contract/domain/error.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { Validator } from '@platen/contract/schema/validator.ts'
import { compilePublishedSchema } from '@platen/contract/schema/variable/variables-schema.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { type LruCache, openLruCache } from '@platen/lib/lru-cache.ts'
import { BATCH_FAULTS_MAX } from '../limit.ts'
import { dataIn } from './parse-batch.ts'

/**
 * Compiled `variables_schema`s that each check thread of an API process caches, in all and of one tenant (LRU). Each is about 100 kB of
 * functions.
 */
export const DATA_VALIDATORS_MAX = 500
export const DATA_VALIDATORS_OF_ONE_TENANT = 50

export interface ValidationTask {
  readonly tenant: TenantId
  /** JSON text. */
  readonly schema: string
  /** A JSON object in UTF-8. For a batch, the lines of its items. */
  readonly data: Uint8Array
}

interface DataValidation {
  (task: ValidationTask): readonly ErrorDetail[]
  /** Checks all items of a batch. Paths are relative to the body, and there are at most `BATCH_FAULTS_MAX` faults. */
  readonly ofBatch: (task: ValidationTask) => readonly ErrorDetail[]
}

/**
 * Compiles each schema once and caches the last used ones. Each tenant has its own share of the cache, so that none displaces the others.
 * Above the limit for all, the tenant whose last check is longest ago loses its share. Faults name places in the data and never a value.
 * Throws an `Error` for an invalid schema, which is never published.
 */
export function openDataValidation(): DataValidation {
  const tenants = openLruCache<LruCache<Validator>>(DATA_VALIDATORS_MAX, ({ size }) => size)
  const validatorOf = (tenant: TenantId, schema: string): Validator => {
    const own = tenants.get(tenant) ?? openLruCache<Validator>(DATA_VALIDATORS_OF_ONE_TENANT)
    // The published schema is a JSON object.
    const validate = own.get(schema) ?? own.set(schema, compilePublishedSchema(JSON.parse(schema) as JsonObject))
    // Set again, because its size may have grown.
    tenants.set(tenant, own)
    return validate
  }

  const ofOne = ({ tenant, schema, data }: ValidationTask) =>
    validatorOf(tenant, schema)(JSON.parse(Buffer.from(data).toString()))
  const ofBatch = ({ tenant, schema, data: lines }: ValidationTask) => faultsOfBatch(validatorOf(tenant, schema), lines)
  return Object.assign(ofOne, { ofBatch })
}

function faultsOfBatch(faultsOf: Validator, lines: Uint8Array): readonly ErrorDetail[] {
  const faults: ErrorDetail[] = []
  let at = 0
  for (const data of dataIn(lines)) {
    faults.push(...faultsOf(data).map(({ path, message }) => ({ path: `/items/${at}/data${path}`, message })))
    if (faults.length >= BATCH_FAULTS_MAX) break
    at++
  }
  return faults.slice(0, BATCH_FAULTS_MAX)
}

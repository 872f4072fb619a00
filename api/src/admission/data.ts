/** Step 4 of admission: checks `data` against the template's `variables_schema`. */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Template } from '@platen/contract/domain/tenant.ts'
import type { BodyChecks } from '../body/check/body-checks.ts'
import type { RequestData } from '../body/check/parse-request.ts'

/** Throws `VALIDATION_FAILED`, whose details name places in the request body and never a value. */
export async function requireFit(
  template: Template,
  data: RequestData,
  { checks, signal }: { checks: Pick<BodyChecks, 'faultsOf'>; signal: AbortSignal },
): Promise<void> {
  const faults = await checks.faultsOf(template, data, signal)
  if (faults.length === 0) return
  throw new ServiceError('VALIDATION_FAILED', "The data does not fit the template's variables_schema.", {
    details: faults.map(({ path, message }) => ({ path: `/data${path}`, message })),
  })
}

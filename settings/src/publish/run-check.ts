/** Runs the publish check of one template with a time limit. */

import type { Clock } from '@platen/contract/port/clock.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/template-check.ts'
import { messageOf } from '@platen/contract/thrown.ts'
import { TEMPLATE_CHECK_MS_MAX } from './limit.ts'

/** The renderer's publish check. A rejection is reported as a fault of the template, which may be gone the next time. */
export type PublishCheck = (request: CheckRequest, signal: AbortSignal) => Promise<readonly CheckFault[]>

export interface CheckResult {
  readonly faults: readonly CheckFault[]
  /** Whether the answer is final, so that the check need not be repeated. */
  readonly isFinal: boolean
}

/** The result of the check. Rejects only when `signal` aborts. */
export async function runCheck(
  request: CheckRequest,
  { check, clock }: { readonly check: PublishCheck; readonly clock: Clock },
  signal: AbortSignal,
): Promise<CheckResult> {
  const deadline = clock.timeout(TEMPLATE_CHECK_MS_MAX)
  try {
    return { faults: await check(request, AbortSignal.any([signal, deadline])), isFinal: true }
  } catch (cause) {
    signal.throwIfAborted()
    const reason = deadline.aborted ? TOO_LONG : messageOf(cause)
    return { faults: [checkFailure(request, reason)], isFinal: false }
  }
}

const TOO_LONG = `it or its types take more than ${TEMPLATE_CHECK_MS_MAX / 1000} s`

function checkFailure({ source }: CheckRequest, reason: string): CheckFault {
  return {
    engine: source.reactPdf === undefined ? 'html' : 'react_pdf',
    message: `it could not be checked: ${reason}`,
  }
}

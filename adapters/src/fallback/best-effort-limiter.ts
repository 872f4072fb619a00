/** The limiter of renderers that do not wait for counting. The projection follows the event log and makes up for lost updates. */
import { logFieldsOf } from '@platen/contract/domain/log-fields.ts'
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { Log } from '@platen/lib/log.ts'
import { ignoreUnavailable } from './ignore-unavailable.ts'

/** Wraps a limiter: `confirm` and `complete` are tried once, and are no error while it is unavailable. */
export function bestEffortLimiter(limiter: Limiter, log: Log): Limiter {
  return {
    ...limiter,
    confirm: (record, signal) =>
      ignoreUnavailable(limiter.confirm(record, signal), { log, fields: logFieldsOf(record) }),
    complete: (end, signal) =>
      ignoreUnavailable(limiter.complete(end, signal), { log, fields: logFieldsOf(end.render) }),
  }
}

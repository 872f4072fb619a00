/** The limiter of renderers that wait for nobody to count: what it could not be told, whoever follows the event log tells it. */
import type { Limiter } from '@platen/contract/port/limiter.ts'
import type { Log } from '@platen/contract/port/log.ts'
import { ignoreUnavailable } from './ignore-unavailable.ts'

/** The limiter, whose `confirm` and `settle` are tried once and are no error while it is away. */
export function bestEffortLimiter(limiter: Limiter, log: Log): Limiter {
  return {
    ...limiter,
    confirm: (record, signal) => ignoreUnavailable(limiter.confirm(record, signal), { log, render: record.id }),
    complete: (manifest, signal) =>
      ignoreUnavailable(limiter.complete(manifest, signal), { log, render: manifest.render.id }),
  }
}

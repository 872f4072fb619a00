import type { Log } from '@platen/lib/log.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'

interface LogContext {
  readonly log: Log
  readonly fields: object
}

/** Resolves when the call succeeded or threw `Unavailable`: the projection makes up for it. Rejects with every other error. */
export async function ignoreUnavailable(call: Promise<void>, { log, fields }: LogContext): Promise<void> {
  try {
    await call
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err
    log.debug({ ...fields, err }, 'update left to the projection')
  }
}

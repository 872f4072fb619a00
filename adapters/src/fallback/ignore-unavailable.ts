/** What is tried once and left to others where it cannot be done now. */
import type { Log } from '@platen/contract/port/log.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { RenderId } from '@platen/contract/render-id.ts'

interface LogContext {
  readonly log: Log
  readonly render: RenderId
}

/** Resolves when something was told, or could not be for now. Rejects as it does for every other reason. */
export async function ignoreUnavailable(call: Promise<void>, { log, render }: LogContext): Promise<void> {
  try {
    await call
  } catch (err) {
    if (!(err instanceof Unavailable)) throw err
    log.debug({ render, err }, 'update left to the projection')
  }
}

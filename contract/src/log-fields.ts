/** What every line of the log about a render or a request names it by, so that a search for one of these finds all lines about it. */
import type { Log } from './port/log.ts'
import type { RenderId } from './render-id.ts'
import type { TenantId } from './tenant.ts'
import { spanIdOf, type TraceContext } from './trace.ts'

/** A render, or something that was made from its record: a manifest's render, or a delivery. */
interface Described {
  readonly tenant: TenantId
  readonly requestId?: string
  readonly trace?: TraceContext
}

/** Fields without a value are not written. */
export interface RenderFields {
  readonly render: RenderId
  readonly tenant: TenantId
  readonly requestId: string | undefined
  readonly traceId: string | undefined
}

/** The fields of a line about a render. */
export function logFieldsOf({ id, tenant, requestId, trace }: Described & { readonly id: RenderId }): RenderFields {
  return { render: id, tenant, requestId, traceId: traceIdOf(trace) }
}

/** The id of the trace, as the log names it. */
export function traceIdOf(trace: TraceContext | undefined): string | undefined {
  return trace && spanIdOf(trace).traceId
}

/** A log that adds these fields to each of its lines. */
export function logWith(log: Log, added: object): Log {
  const at = (level: keyof Log) => (fields: object, message: string) => log[level]({ ...added, ...fields }, message)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

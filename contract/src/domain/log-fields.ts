/** Fields that every log line about a render or request has, so that a search for one of them finds all such lines. */
import type { Log } from '@platen/lib/log.ts'
import { spanIdOf, type TraceContext } from '@platen/lib/trace.ts'
import type { Lane, Mode } from './render.ts'
import type { RenderId } from './render-id.ts'
import type { Engine } from './render-options.ts'
import type { Environment, TemplateCode, TenantId } from './tenant.ts'

/** A render, a manifest's render, or a delivery. */
interface Described {
  readonly id: RenderId
  readonly tenant?: TenantId
  readonly environment?: Environment
  readonly engine?: Engine
  readonly template?: { readonly code: TemplateCode }
  readonly mode?: Mode
  readonly lane?: Lane
  readonly requestId?: string
  readonly trace?: TraceContext
}

/** Fields without a value are not written. `requestId` finds the API's line about the request. */
export function logFieldsOf(described: Described): object {
  const { id, tenant, environment, engine, template, mode, lane, requestId, trace } = described
  return {
    render: id,
    tenant,
    environment,
    engine,
    template: template?.code,
    mode,
    lane,
    requestId,
    traceId: traceIdOf(trace),
  }
}

export function traceIdOf(trace: TraceContext | undefined): string | undefined {
  return trace && spanIdOf(trace).traceId
}

export function logWith(log: Log, added: object): Log {
  const at = (level: keyof Log) => (fields: object, message: string) => log[level]({ ...added, ...fields }, message)
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

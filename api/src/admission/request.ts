/** Second station: the shape of a request, as its schema says and beyond what a schema can say. */
import { cidrsOf } from '@platen/contract/address.ts'
import type { Mode } from '@platen/contract/render.ts'
import type { RenderRequest } from '@platen/contract/schema/render-request.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import type { Tenant } from '@platen/contract/tenant.ts'
import { type WebhookPolicy, webhookUrlFault } from '@platen/contract/webhook-url.ts'
import type { FastifySchemaCompiler } from 'fastify'
import { malformed } from '../problem.ts'

/**
 * The schemas of routes as Fastify runs them: nothing is coerced, except that in a query, where everything is text, what looks
 * like a whole number is taken for one. A fault is `INVALID_PAYLOAD`.
 */
export const compileRequestSchema: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  // A body was held against its schema when it was parsed.
  if (httpPart === 'body') return () => true
  const validate = compileValidator(schema)
  return (raw: unknown) => {
    const value = httpPart === 'querystring' ? withNumbers(raw) : raw
    const details = validate(value)
    return details.length === 0 ? { value } : { error: malformed(details) }
  }
}

function withNumbers(query: unknown): unknown {
  const entries = Object.entries(query ?? {}).map(([name, value]) => {
    const isNumber = typeof value === 'string' && /^\d{1,15}$/.test(value)
    return [name, isNumber ? Number(value) : value]
  })
  return Object.fromEntries(entries)
}

/** The mode asked for; sync where nothing is said. Throws `INVALID_PAYLOAD` where `mode` and `async` contradict each other. */
export function modeOf({ mode, async }: Omit<RenderRequest, 'data'>): Mode {
  const meant = async === undefined ? undefined : async ? 'async' : 'sync'
  if (mode !== undefined && meant !== undefined && mode !== meant) {
    throw malformed([{ path: '/async', message: `contradicts mode ${mode}` }])
  }
  return mode ?? meant ?? 'sync'
}

/** Whom a webhook is for, and what the installation says of all. */
interface WebhookTerms {
  readonly tenant: Tenant
  readonly policy: WebhookPolicy
}

/** The webhook target, where one is named. Throws `INVALID_PAYLOAD`. Where the name leads is looked at when it is called. */
export function webhookUrlOf(
  { webhook_url }: Omit<RenderRequest, 'data'>,
  { tenant, policy }: WebhookTerms,
): string | undefined {
  if (webhook_url === undefined) return undefined
  const allowCidrs = [...policy.allowCidrs, ...cidrsOf(tenant.webhookAllowCidrs ?? [])]
  const fault = webhookUrlFault(webhook_url, { ...policy, allowCidrs })
  if (fault !== undefined) throw malformed([{ path: '/webhook_url', message: fault }])
  return webhook_url
}

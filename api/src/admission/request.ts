/** Step 2 of admission: checks the form of a request, by its schema and by rules that a schema cannot express. */

import type { ErrorDetail, REQUEST_PARTS } from '@platen/contract/domain/error.ts'
import type { Mode } from '@platen/contract/domain/render.ts'
import type { Tenant } from '@platen/contract/domain/tenant.ts'
import { type WebhookPolicy, webhookUrlFault } from '@platen/contract/domain/webhook-url.ts'
import type { RenderRequest } from '@platen/contract/schema/render-request.ts'
import { compileValidator } from '@platen/contract/schema/validator.ts'
import { cidrsOf } from '@platen/lib/address.ts'
import type { FastifySchemaCompiler } from 'fastify'
import { malformed } from '../problem.ts'

/**
 * Compiles the schemas of routes for Fastify. Values are not coerced, except that digits in a query become a number if the schema wants
 * one. Throws `INVALID_PAYLOAD`.
 */
export const compileRequestSchema: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  // The body was validated when it was parsed.
  const part = PARTS[httpPart ?? ''] ?? 'body'
  if (part === 'body') return () => true
  const validate = compileValidator(part === 'query' ? { additionalProperties: false, ...schema } : schema)
  return (raw: unknown) => {
    const value = part === 'query' ? withNumbers(raw, schema) : raw
    const faults = validate(value)
    if (faults.length === 0) return { value }
    // Parameters and headers are not nested, so the pointer is a name.
    const hinted = part === 'query' ? faults.map((fault) => withHint(fault, schema)) : faults
    return { error: malformed(hinted.map(({ path, message }) => ({ in: part, path: path.slice(1), message }))) }
  }
}

/** Callers confuse the parameters of the two styles of lists, and a plus sign in a query is a blank. */
function withHint({ path, message }: ErrorDetail, { properties = {} }: QuerySchema): ErrorDetail {
  if (message.includes('a time such as')) return { path, message: `${message}; a + in it is written as %2B` }
  if (message !== 'is not a known field') return { path, message }
  const known = Object.keys(properties).join(', ')
  return { path, message: known === '' ? 'is not known: this request takes none' : `is not known: there are ${known}` }
}

/** From Fastify's names to those of OpenAPI. */
const PARTS: Readonly<Record<string, (typeof REQUEST_PARTS)[number]>> = {
  querystring: 'query',
  headers: 'header',
  params: 'path',
}

function withNumbers(query: unknown, { properties = {} }: QuerySchema): unknown {
  const entries = Object.entries(query ?? {}).map(([name, value]) => {
    const isNumber =
      properties[name]?.type === 'integer' && typeof value === 'string' && /^(\d{1,15}|-[1-9]\d{0,14})$/.test(value)
    return [name, isNumber ? Number(value) : value]
  })
  return Object.fromEntries(entries)
}

interface QuerySchema {
  readonly properties?: Readonly<Record<string, { readonly type?: string } | undefined>>
}

/** Sync by default. Throws `INVALID_PAYLOAD` if `mode` and `async` contradict each other. */
export function modeOf({ mode, async }: Omit<RenderRequest, 'data'>): Mode {
  const meant = async === undefined ? undefined : async ? 'async' : 'sync'
  if (mode !== undefined && meant !== undefined && mode !== meant) {
    throw malformed([{ path: '/async', message: `contradicts mode ${mode}` }])
  }
  return mode ?? meant ?? 'sync'
}

interface WebhookTerms {
  readonly tenant: Tenant
  readonly policy: WebhookPolicy
}

/** Throws `INVALID_PAYLOAD`. The address behind the host name is checked at the call. */
export function webhookUrlOf({ webhook_url }: Omit<RenderRequest, 'data'>, terms: WebhookTerms): string | undefined {
  if (webhook_url !== undefined) requireCallable(webhook_url, terms, '/webhook_url')
  return webhook_url
}

/** `path` is the place of the URL in the body. Throws `INVALID_PAYLOAD` if receivers may not have this URL. */
export function requireCallable(url: string, { tenant, policy }: WebhookTerms, path: string): void {
  const allowCidrs = [...policy.allowCidrs, ...cidrsOf(tenant.webhookAllowCidrs ?? [])]
  const fault = webhookUrlFault(url, { ...policy, allowCidrs })
  if (fault !== undefined) throw malformed([{ path, message: fault }])
}

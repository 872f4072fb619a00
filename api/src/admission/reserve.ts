/** Step 7 of admission: checks the rates, the quota, and the tenant's share of the async lane. One call decides. */
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Lane } from '@platen/contract/domain/render.ts'
import type { Decision, QuotaState, RateState, Reservation } from '@platen/contract/port/limiter.ts'
import { PORT_CALL_MS_MAX } from '../limit.ts'
import type { ApiPorts } from '../ports.ts'
import type { Caller } from './authenticate.ts'

type Reserved = Omit<Reservation, 'key' | 'limits' | 'revision'>

/**
 * Reserves quota and rates for a render or a batch. A refusal changes nothing, and an admission lapses unless it is confirmed. Throws
 * `Unavailable`.
 */
export async function reserve(record: Reserved, caller: Caller, ports: ApiPorts): Promise<Decision> {
  const { id, others, account, environment, mode, engine, units, period } = record
  const render = { id, account, environment, mode, engine, units, period }
  const { tenant, key, revision } = caller
  const request = { ...render, ...(others && { others }), key: key.hash, limits: tenant.limits, revision }
  return await ports.limiter.reserve(request, ports.clock.timeout(PORT_CALL_MS_MAX))
}

/** Throws `RATE_LIMITED`, `HTML_RATE_LIMIT_EXCEEDED` or `PAYMENT_REQUIRED`. */
export function requireAdmitted(decision: Decision): Lane {
  if (decision.kind === 'admitted') return decision.lane
  switch (decision.reason) {
    case 'rate':
      throw rateLimited('RATE_LIMITED', 'Too many requests', decision)
    case 'html_rate':
      throw rateLimited('HTML_RATE_LIMIT_EXCEEDED', 'Too many html renders', decision)
    case 'quota': {
      const { limit, usage } = decision
      const used = `${usage.charged} of ${limit} units are used and ${usage.reserved} are reserved`
      throw new ServiceError('PAYMENT_REQUIRED', `The monthly quota is exhausted: ${used}.`, {
        reason: 'quota_exhausted',
      })
    }
  }
}

type RateRefusal = Exclude<Extract<Decision, { kind: 'refused' }>, { reason: 'quota' }>

function rateLimited(
  code: 'RATE_LIMITED' | 'HTML_RATE_LIMIT_EXCEEDED',
  what: string,
  { rate, retryAfterMs }: RateRefusal,
): ServiceError {
  const seconds = Math.ceil(retryAfterMs / 1000)
  return new ServiceError(code, `${what}: ${rate.limit} a minute are allowed; try again in ${seconds} s.`, {
    headers: { 'retry-after': `${seconds}` },
  })
}

/** Undefined if there is no limit. */
export function quotaLeft({ limit, usage }: QuotaState): { limit: number; remaining: number } | undefined {
  return limit === undefined ? undefined : { limit, remaining: Math.max(limit - usage.charged - usage.reserved, 0) }
}

/** The state of the tightest bucket. Every answer after the limiter has these headers. */
export function rateHeaders({ limit, remaining, resetAt }: RateState): Readonly<Record<string, string>> {
  return {
    'x-ratelimit-limit': `${limit}`,
    'x-ratelimit-remaining': `${remaining}`,
    'x-ratelimit-reset': `${Math.ceil(resetAt / 1000)}`,
  }
}

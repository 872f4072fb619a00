/**
 * GET /usage: what the tenant has used of its month, and what is left of each rate now. The sandbox is free, so its keys see no units, only
 * their own rates.
 */

import { monthOf } from '@platen/contract/domain/render.ts'
import type { ChargeCount, LimitReport, NamedRate, QuotaState } from '@platen/contract/port/limiter.ts'
import { RATES } from '@platen/contract/port/limiter-state.ts'
import type { UsageBody } from '@platen/contract/schema/usage.ts'
import type { FastifyInstance } from 'fastify'
import { type Caller, callerOf } from '../../admission/authenticate.ts'
import { quotaLeft } from '../../admission/reserve.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import type { ApiPorts } from '../../ports.ts'
import { timeOf } from '../get-render.ts'
import { getUsageSchema } from './get-usage.schema.ts'

export function getUsageRoute(app: FastifyInstance, { limiter, clock }: ApiPorts): void {
  app.get('/usage', { schema: getUsageSchema() }, async (request, reply) => {
    const { tenant, key, revision } = callerOf(request)
    const period = monthOf(clock.now())
    const query = { account: tenant.account, environment: key.environment, key: key.hash, period, revision }
    const report = await limiter.report({ ...query, limits: tenant.limits }, clock.timeout(PORT_CALL_MS_MAX))
    return await reply.send(bodyOf(report, period, callerOf(request)))
  })
}

function bodyOf({ rates, ...report }: LimitReport, month: string, { tenant, key }: Caller): UsageBody {
  const { limit, usage, templates, days } = key.environment === 'live' ? report : NOTHING
  const left = quotaLeft({ usage, ...(limit !== undefined && { limit }) })
  // A plan without html still has an html rate.
  const shown = rates.filter(({ name }) => tenant.limits.htmlEngineEnabled || RATES[name].of !== 'html')
  return {
    month,
    resets_at: timeOf(endOf(month)),
    ...(left !== undefined && { limit: left.limit, remaining: left.remaining }),
    used: usage.charged,
    reserved: usage.reserved,
    rates: shown.map(rateOf),
    templates: templates
      .toSorted((a, b) => b.units - a.units)
      .map(({ name, ...count }) => ({ template: name, ...count })),
    days: days.map(({ name: day, ...count }) => ({ date: `${month}-${day}`, ...count })),
  }
}

const NO_COUNTS: readonly ChargeCount[] = []

const NOTHING: QuotaState & Pick<LimitReport, 'templates' | 'days'> = {
  usage: { charged: 0, reserved: 0 },
  templates: NO_COUNTS,
  days: NO_COUNTS,
}

function rateOf({ name, limit, remaining, resetAt }: NamedRate): UsageBody['rates'][number] {
  const { of, per } = RATES[name]
  return { renders: of, per, limit, remaining, resets_at: timeOf(resetAt) }
}

/** The first moment after a month such as `2026-11`. */
function endOf(month: string): number {
  const [year, number] = month.split('-').map(Number)
  return Date.UTC(year ?? 0, number ?? 0)
}

/**
 * GET /usage: what the tenant has used of its month, and what is left of each rate now. The sandbox is free, so a key of it sees no units,
 * only its own rates.
 */
import { RATES } from '@platen/contract/limiter-state.ts'
import type { ChargeCount, LimitReport, NamedRate, QuotaState } from '@platen/contract/port/limiter.ts'
import { monthOf } from '@platen/contract/render.ts'
import { type UsageBody, usageSchema } from '@platen/contract/schema/usage.ts'
import type { FastifyInstance } from 'fastify'
import { type Caller, callerOf } from '../../admission/authenticate.ts'
import { quotaLeft } from '../../admission/reserve.ts'
import { PORT_CALL_MS_MAX } from '../../limit.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'
import type { ApiPorts } from '../../ports.ts'
import { timeOf } from '../get-render.ts'

export function getUsageRoute(app: FastifyInstance, { limiter, clock }: ApiPorts): void {
  app.get('/usage', { schema: description() }, async (request, reply) => {
    const { tenant, key, revision } = callerOf(request)
    const period = monthOf(clock.now())
    const query = { account: tenant.incarnation, environment: key.environment, key: key.hash, period, revision }
    const report = await limiter.report({ ...query, limits: tenant.limits }, clock.timeout(PORT_CALL_MS_MAX))
    return await reply.send(bodyOf(report, period, callerOf(request)))
  })
}

function bodyOf({ rates, ...report }: LimitReport, month: string, { tenant, key }: Caller): UsageBody {
  const { limit, usage, templates, days } = key.environment === 'live' ? report : NOTHING
  const left = quotaLeft({ usage, ...(limit !== undefined && { limit }) })
  // A plan without html has a rate of it all the same.
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

function description(): object {
  return {
    operationId: 'getUsage',
    tags: ['usage'],
    summary: 'Get what is used and what is left',
    description:
      'Units of this calendar month (UTC) and rates of this minute. Reading costs nothing. A key of the sandbox sees no units, because the sandbox is free.',
    security: KEY_REQUIRED,
    response: {
      200: {
        description: 'The units of the tenant, and the rates that renders with this key count in.',
        headers: COMMON_HEADERS,
        ...usageSchema,
        examples: [EXAMPLE],
      },
      ...refusals('getUsage'),
    },
  }
}

const EXAMPLE: UsageBody = {
  month: '2026-11',
  resets_at: '2026-12-01T00:00:00.000Z',
  limit: 10_000,
  remaining: 9923,
  used: 76,
  reserved: 1,
  rates: [
    { renders: 'sync', per: 'key', limit: 60, remaining: 59, resets_at: '2026-11-21T12:01:01.000Z' },
    { renders: 'sync', per: 'tenant', limit: 240, remaining: 239, resets_at: '2026-11-21T12:01:01.000Z' },
  ],
  templates: [
    { template: 'invoice', renders: 51, units: 51 },
    { template: 'report', renders: 1, units: 25 },
  ],
  days: [
    { date: '2026-11-20', renders: 50, units: 50 },
    { date: '2026-11-21', renders: 2, units: 26 },
  ],
}

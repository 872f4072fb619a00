import { type UsageBody, usageSchema } from '@platen/contract/schema/usage.ts'
import { COMMON_HEADERS, KEY_REQUIRED, refusals } from '../../openapi.ts'

export function getUsageSchema(): object {
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

/** Plans that are taken, and Plans that are refused. */
import { type Row, refused, taken } from './row.ts'

export const PLAN_ROWS: readonly Row[] = [
  taken('that says nothing', {}),
  taken('with every limit', {
    displayName: 'Business',
    htmlEngineEnabled: true,
    htmlEngineRenderMultiplier: 5,
    htmlRateLimitPerMinute: 60,
    rateLimitPerMinute: 0,
    syncRateLimitPerMinute: 1_000_000,
    asyncRateLimitPerMinute: 1,
    tenantSyncRateLimitPerMinute: 1_000_000,
    tenantAsyncRateLimitPerMinute: 0,
    apiKeysMax: 1000,
    renderLimitMonthly: 1_000_000_000_000,
    renderTimeoutSeconds: 120,
    retentionDays: 3650,
    asyncFairShare: 10_000,
    javascriptEnabled: true,
  }),
  taken('with an html rate of nothing and no html', { htmlRateLimitPerMinute: 0 }),
  refused(
    'with an html rate and no html',
    { htmlRateLimitPerMinute: 1 },
    { field: 'spec.htmlRateLimitPerMinute', says: 'needs htmlEngineEnabled: true' },
  ),
  refused(
    'with an html rate and html switched off',
    { htmlEngineEnabled: false, htmlRateLimitPerMinute: 1 },
    { field: 'spec.htmlRateLimitPerMinute', says: 'needs htmlEngineEnabled: true' },
  ),
  refused(
    'with a misspelt limit',
    { htmlEngineEnable: true },
    { field: 'spec.htmlEngineEnable', says: 'unknown field' },
  ),
  refused(
    'with a limit in quotes',
    { retentionDays: '30' },
    { field: 'spec.retentionDays', says: 'must be of type integer' },
  ),
  refused('with half a day', { retentionDays: 0.5 }, { field: 'spec.retentionDays', says: 'must be of type integer' }),
  refused(
    'with a limit of null',
    { retentionDays: null },
    { field: 'spec.retentionDays', says: 'must be integer', unsaid: 'it takes null for nothing said' },
  ),
  refused(
    'with no retention',
    { retentionDays: 0 },
    { field: 'spec.retentionDays', says: 'greater than or equal to 1' },
  ),
  refused(
    'with too long a retention',
    { retentionDays: 3651 },
    { field: 'spec.retentionDays', says: 'less than or equal to 3650' },
  ),
  refused(
    'with a negative rate',
    { rateLimitPerMinute: -1 },
    { field: 'spec.rateLimitPerMinute', says: 'greater than or equal to 0' },
  ),
  refused(
    'with a rate over a million',
    { syncRateLimitPerMinute: 1_000_001 },
    { field: 'spec.syncRateLimitPerMinute', says: 'less than or equal to 1000000' },
  ),
  refused(
    'with an async rate over a million',
    { asyncRateLimitPerMinute: 1_000_001 },
    { field: 'spec.asyncRateLimitPerMinute', says: 'less than or equal to 1000000' },
  ),
  refused(
    'with a rate of the tenant over a million',
    { tenantSyncRateLimitPerMinute: 1_000_001 },
    { field: 'spec.tenantSyncRateLimitPerMinute', says: 'less than or equal to 1000000' },
  ),
  refused(
    'with a negative async rate of the tenant',
    { tenantAsyncRateLimitPerMinute: -1 },
    { field: 'spec.tenantAsyncRateLimitPerMinute', says: 'greater than or equal to 0' },
  ),
  refused('with no keys', { apiKeysMax: 0 }, { field: 'spec.apiKeysMax', says: 'greater than or equal to 1' }),
  refused('with too many keys', { apiKeysMax: 1001 }, { field: 'spec.apiKeysMax', says: 'less than or equal to 1000' }),
  refused(
    'with free html',
    { htmlEngineRenderMultiplier: 0 },
    { field: 'spec.htmlEngineRenderMultiplier', says: 'greater than or equal to 1' },
  ),
  refused(
    'with html too dear',
    { htmlEngineRenderMultiplier: 1001 },
    { field: 'spec.htmlEngineRenderMultiplier', says: 'less than or equal to 1000' },
  ),
  refused(
    'with a negative quota',
    { renderLimitMonthly: -1 },
    { field: 'spec.renderLimitMonthly', says: 'greater than or equal to 0' },
  ),
  refused(
    'with too long a deadline',
    { renderTimeoutSeconds: 121 },
    { field: 'spec.renderTimeoutSeconds', says: 'less than or equal to 120' },
  ),
  refused(
    'with no fair share',
    { asyncFairShare: 0 },
    { field: 'spec.asyncFairShare', says: 'greater than or equal to 1' },
  ),
  refused(
    'with html for yes',
    { htmlEngineEnabled: 'yes' },
    { field: 'spec.htmlEngineEnabled', says: 'must be of type boolean' },
  ),
  refused('with too long a display name', { displayName: 'a'.repeat(501) }, { field: 'spec.displayName', says: '500' }),
  refused('with a name that is none', {}, { field: 'metadata.name', says: 'RFC 1123', metadata: { name: 'A_b' } }),
]

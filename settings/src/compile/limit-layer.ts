import type { PlanSpec } from '@platen/contract/domain/resource-spec.ts'
import type { LimitLayer, Limits } from '@platen/contract/domain/tenant.ts'

/** The contradiction is in words for the owner of the limits. */
type MergedLimits = { readonly limits: Limits } | { readonly contradiction: string }

export function limitLayerOf({ displayName: _displayName, ...layer }: PlanSpec): LimitLayer {
  return layer
}

/**
 * Refuses only contradictions within `layer`. A plan with an html rate fits a tenant that has html switched off; an html rate for a tenant
 * without html does not.
 */
export function overlay(base: Limits, layer: LimitLayer): MergedLimits {
  const limits: Limits = { ...base, ...layer }
  if (!limits.htmlEngineEnabled && (layer.htmlRateLimitPerMinute ?? 0) > 0)
    return { contradiction: 'htmlRateLimitPerMinute needs htmlEngineEnabled: true' }
  if (!limits.htmlEngineEnabled && layer.javascriptEnabled === true)
    return { contradiction: 'javascriptEnabled needs htmlEngineEnabled: true' }
  if (neverAffordsHtml(limits))
    return {
      contradiction:
        'htmlEngineRenderMultiplier is greater than renderLimitMonthly: the quota would never allow an html render',
    }
  return { limits }
}

/** A quota of 0 means "nothing at all" and is no mistake. */
function neverAffordsHtml({ htmlEngineEnabled, htmlEngineRenderMultiplier, renderLimitMonthly = 0 }: Limits): boolean {
  return htmlEngineEnabled && renderLimitMonthly > 0 && htmlEngineRenderMultiplier > renderLimitMonthly
}

/** The limits of a tenant: its plan overlaid with its overrides. */
import type { PlanSpec, TenantSpec } from '@platen/contract/schema/resource.ts'
import type { Limits } from '@platen/contract/tenant.ts'

/** Limits as one resource gives them: only those it names. */
export type LimitLayer = NonNullable<TenantSpec['overrides']>

/** The limits, or what contradicts what in them, in words for their owner. */
export type MergedLimits = { readonly limits: Limits } | { readonly contradiction: string }

export function limitLayerOf({ displayName: _displayName, ...layer }: PlanSpec): LimitLayer {
  return layer
}

/**
 * Lays `layer` over `base`. Refused is only what the layer itself says: a plan with an html rate whose tenant has html switched off
 * makes sense, an html rate given to a tenant that has no html does not.
 */
export function overlay(base: Limits, layer: LimitLayer): MergedLimits {
  const limits: Limits = { ...base, ...layer }
  if (!limits.htmlEngineEnabled && (layer.htmlRateLimitPerMinute ?? 0) > 0)
    return { contradiction: 'htmlRateLimitPerMinute needs htmlEngineEnabled: true' }
  if (!limits.htmlEngineEnabled && layer.javascriptEnabled === true)
    return { contradiction: 'javascriptEnabled needs htmlEngineEnabled: true' }
  if (neverAffordsHtml(limits))
    return {
      contradiction: 'htmlEngineRenderMultiplier is over renderLimitMonthly: no html render could ever be paid for',
    }
  return { limits }
}

/** A quota of 0 is a way to say "nothing at all", not a mistake. */
function neverAffordsHtml({ htmlEngineEnabled, htmlEngineRenderMultiplier, renderLimitMonthly = 0 }: Limits): boolean {
  return htmlEngineEnabled && renderLimitMonthly > 0 && htmlEngineRenderMultiplier > renderLimitMonthly
}

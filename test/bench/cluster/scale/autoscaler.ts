/**
 * How many renderers there are, as KEDA and the HorizontalPodAutoscaler decide it by the chart's ScaledObject. The rules are those of
 * Kubernetes' documentation of `autoscaling/v2`: the metric divided by its target, a tolerance of a tenth, what the policies allow within
 * their periods, and on the way down the highest wish of the stabilization window.
 */

/** A step of at most so much within so many seconds. */
export interface ScalingPolicy {
  readonly type: 'Percent' | 'Pods'
  readonly value: number
  readonly periodSeconds: number
}

/** What the chart says; `test/chart` holds it against what Helm renders. */
export interface ScalingRule {
  readonly lagPerReplica: number
  readonly stabilizationSeconds: number
  readonly up: readonly ScalingPolicy[]
  readonly down: readonly ScalingPolicy[]
}

export const CHART_RULE: ScalingRule = {
  lagPerReplica: 8,
  stabilizationSeconds: 180,
  up: [
    { type: 'Percent', value: 100, periodSeconds: 15 },
    { type: 'Pods', value: 4, periodSeconds: 15 },
  ],
  down: [{ type: 'Percent', value: 25, periodSeconds: 60 }],
}

/** How often the autoscaler looks, and by how much the metric may be off before it acts: the defaults of Kubernetes. */
export const LOOKS_EVERY_SECONDS = 15
const TOLERANCE = 0.1

export interface ReplicaRange {
  readonly min: number
  readonly max: number
}

/** Decides by the sum of the lags at one look after the other. */
export interface Autoscaler {
  /** The number of replicas from now on. `atSeconds` grows from call to call. */
  look(atSeconds: number, lag: number): number
}

/** Begins with `min` replicas. Zero is KEDA's alone: with a `min` of 0 the first record activates the first replica. */
export function openAutoscaler(rule: ScalingRule, { min, max }: ReplicaRange): Autoscaler {
  let replicas = min
  const wishes: { readonly at: number; readonly count: number }[] = []
  const changes: { readonly at: number; readonly by: number }[] = []

  const changedSince = (at: number, sign: 1 | -1) =>
    changes.filter((change) => change.at > at && change.by * sign > 0).reduce((sum, { by }) => sum + by, 0)
  /** The furthest that any of the policies allows. */
  const bound = (policies: readonly ScalingPolicy[], at: number, sign: 1 | -1) => {
    const allowed = policies.map(({ type, value, periodSeconds }) => {
      const start = replicas - changedSince(at - periodSeconds, sign)
      if (type === 'Pods') return start + sign * value
      const share = start * (1 + (sign * value) / 100)
      return sign > 0 ? Math.ceil(share) : Math.trunc(share)
    })
    return sign > 0 ? Math.max(...allowed) : Math.min(...allowed)
  }

  return {
    look(at, lag) {
      const isTolerated = replicas > 0 && Math.abs(lag / (rule.lagPerReplica * replicas) - 1) <= TOLERANCE
      const wish = isTolerated ? replicas : Math.ceil(lag / rule.lagPerReplica)
      wishes.push({ at, count: wish })
      while ((wishes[0]?.at ?? at) <= at - rule.stabilizationSeconds) wishes.shift()
      const before = replicas
      if (wish > replicas) replicas = Math.min(wish, Math.max(replicas, bound(rule.up, at, 1)))
      else {
        // Down to no less than was wished for at any time in the window.
        const least = Math.max(...wishes.map(({ count }) => count))
        if (least < replicas) replicas = Math.max(least, bound(rule.down, at, -1))
      }
      replicas = Math.min(max, Math.max(min, replicas))
      if (replicas !== before) changes.push({ at, by: replicas - before })
      return replicas
    },
  }
}

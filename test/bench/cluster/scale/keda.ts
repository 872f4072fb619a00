/**
 * What KEDA 2.21 makes of the offsets in Kafka, as its source has it: the lag of a trigger (`pkg/scalers/kafka_scaler.go`), the
 * composite metric and its fallback (`pkg/scaling/modifiers`, `pkg/fallback`), and the step from and to none
 * (`pkg/scaling/executor`). From one replica on the HorizontalPodAutoscaler decides, see `autoscaler.ts`.
 */

export interface PartitionOffsets {
  /** Undefined where the group has none: never had, or the broker has forgotten it. */
  readonly committed: number | undefined
  /** Of the next record to come. */
  readonly end: number
}

/** A trigger of the type `kafka`, as far as it decides on numbers. */
export interface KafkaTrigger {
  readonly lagThreshold: number
  readonly activationLagThreshold: number
  readonly offsetResetPolicy: 'earliest' | 'latest'
  readonly scaleToZeroOnInvalidOffset: boolean
  readonly allowIdleConsumers: boolean
  readonly limitToPartitionsWithLag: boolean
  readonly ensureEvenDistributionOfPartitions: boolean
}

/** What would decide as well, and is not here. */
const NOT_HERE = ['excludePersistentLag', 'partitionLimitation']

/** Reads the metadata of a trigger, with KEDA's defaults. Throws where something else decides on its numbers. */
export function triggerOf(metadata: Readonly<Record<string, string>>): KafkaTrigger {
  const unknown = NOT_HERE.find((name) => name in metadata)
  if (unknown !== undefined) throw new Error(`${unknown} is not reckoned with`)
  const isOn = (name: string) => metadata[name] === 'true'
  return {
    lagThreshold: Number(metadata['lagThreshold'] ?? 10),
    activationLagThreshold: Number(metadata['activationLagThreshold'] ?? 0),
    offsetResetPolicy: metadata['offsetResetPolicy'] === 'earliest' ? 'earliest' : 'latest',
    scaleToZeroOnInvalidOffset: isOn('scaleToZeroOnInvalidOffset'),
    allowIdleConsumers: isOn('allowIdleConsumers'),
    limitToPartitionsWithLag: isOn('limitToPartitionsWithLag'),
    ensureEvenDistributionOfPartitions: isOn('ensureEvenDistributionOfPartitions'),
  }
}

export function kafkaLag(trigger: KafkaTrigger, partitions: readonly PartitionOffsets[]): number {
  const { lagThreshold: threshold, ensureEvenDistributionOfPartitions: isEven } = trigger
  const lags = partitions.map((partition) => lagOf(trigger, partition))
  const total = sum(lags)
  if (trigger.allowIdleConsumers && !trigger.limitToPartitionsWithLag && !isEven) return total
  const lag = isEven ? threshold * evenConsumers(total, partitions.length, threshold) : total
  const most = trigger.limitToPartitionsWithLag ? lags.filter((each) => each > 0).length : partitions.length
  return Math.trunc(lag / threshold) > most ? most * threshold : lag
}

/** Is there enough to wake the first replica, where no formula says so? */
export function isActive(trigger: KafkaTrigger, partitions: readonly PartitionOffsets[]): boolean {
  return sum(partitions.map((partition) => lagOf(trigger, partition))) > trigger.activationLagThreshold
}

function lagOf(trigger: KafkaTrigger, { committed, end }: PartitionOffsets): number {
  if (committed !== undefined) return end - committed
  if (trigger.scaleToZeroOnInvalidOffset) return 0
  // By `earliest` all there ever was, also what retention has deleted.
  return trigger.offsetResetPolicy === 'latest' ? 1 : end
}

/** The least number of consumers that is enough and divides the partitions. */
function evenConsumers(lag: number, partitions: number, threshold: number): number {
  for (let count = 1; count < partitions; count++)
    if (partitions % count === 0 && count * threshold >= lag) return count
  return partitions
}

/** A ScaledObject whose formula is the sum of its triggers, as far as it decides on numbers. */
export interface ScaledLag {
  readonly triggers: readonly KafkaTrigger[]
  readonly target: number
  readonly activationTarget: number
  readonly min: number
  readonly max: number
  readonly fallback?:
    | {
        readonly failureThreshold: number
        readonly replicas: number
        readonly behavior: 'static' | 'currentReplicasIfHigher'
      }
    | undefined
}

/** What KEDA sees at one look: the partitions of each trigger, or how many looks in a row have failed, this one included. */
export type Look = readonly (readonly PartitionOffsets[])[] | { readonly failures: number }

/** The composite metric; undefined where it tells the autoscaler of an error, by which that does nothing. */
export function composite({ triggers, target, fallback }: ScaledLag, look: Look, replicas: number): number | undefined {
  if ('failures' in look) {
    if (fallback === undefined || look.failures <= fallback.failureThreshold) return undefined
    const { behavior, replicas: least } = fallback
    return target * (behavior === 'static' ? least : Math.max(replicas, least))
  }
  return sum(triggers.map((trigger, at) => kafkaLag(trigger, look[at] ?? [])))
}

/**
 * How many replicas are wanted after a look, once all cooldowns and stabilization windows are over: none, or the first ones, by KEDA;
 * else what the autoscaler divides. An error changes nothing, except where both the fallback and the least number are none: then KEDA
 * takes all away.
 */
export function wished(scaled: ScaledLag, look: Look, replicas: number): number {
  const { min, max, target, activationTarget, fallback } = scaled
  const metric = composite(scaled, look, replicas)
  if (metric === undefined) return fallback?.replicas === 0 && min === 0 ? 0 : replicas
  if (metric <= activationTarget) return min
  const wish = replicas === 0 ? 1 : Math.ceil(metric / target)
  return Math.min(max, Math.max(min, 1, wish))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

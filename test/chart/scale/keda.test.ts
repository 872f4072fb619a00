/** What KEDA makes of the chart's ScaledObjects, by its own formula and whatever the offsets in Kafka are: as many renderers as what waits takes. */
import { KAFKA_OFFSETS_RENEWED_EVERY_MS } from '@platen/adapters/kafka/limit.ts'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  composite,
  isActive,
  kafkaLag,
  type PartitionOffsets,
  type ScaledLag,
  triggerOf,
  wished,
} from '../../bench/cluster/scale/keda.ts'
import { type KubeObject, ofKind, rendered } from '../helm.ts'
import { MATRIX } from '../values.ts'

/** Partitions of which all that is in them waits. */
const unread = (...ends: readonly (readonly [end: number, count: number])[]) =>
  ends.flatMap(([end, count]) => Array.from({ length: count }, () => ({ committed: 0, end })))
const forgotten = (...ends: readonly number[]) => ends.map((end) => ({ committed: undefined, end }))

describe("the formula gives what KEDA's own test of its Kafka scaler sees in a cluster", () => {
  const WOKEN_BY_TWO = { lagThreshold: '1', activationLagThreshold: '1' }
  const EARLIEST = { ...WOKEN_BY_TWO, offsetResetPolicy: 'earliest' }
  const HIDING = { lagThreshold: '1', scaleToZeroOnInvalidOffset: 'true' }
  const WITH_LAG = { ...WOKEN_BY_TWO, limitToPartitionsWithLag: 'true' }
  const EVEN = { ...WOKEN_BY_TWO, ensureEvenDistributionOfPartitions: 'true' }

  test.for<[string, Readonly<Record<string, string>>, readonly PartitionOffsets[], number]>([
    ['earliest, nothing there', EARLIEST, forgotten(0, 0, 0), 0],
    ['earliest, one and no activation', EARLIEST, forgotten(1, 0, 0), 0],
    ['earliest, two', EARLIEST, forgotten(1, 1, 0), 2],
    ['earliest, seven in three partitions', EARLIEST, forgotten(3, 2, 2), 3],
    ['latest, one and no activation', WOKEN_BY_TWO, unread([1, 1], [0, 2]), 0],
    ['latest, two', WOKEN_BY_TWO, unread([1, 2], [0, 1]), 2],
    ['latest, seven in three partitions', WOKEN_BY_TWO, unread([3, 1], [2, 2]), 3],
    ['latest, no offset, hidden', HIDING, forgotten(0), 0],
    ['earliest, no offset, hidden', { ...HIDING, offsetResetPolicy: 'earliest' }, forgotten(5), 0],
    ['latest, no offset', { lagThreshold: '1' }, forgotten(0), 1],
    ['latest, then committed', { lagThreshold: '1' }, unread([0, 1]), 0],
    ['earliest, no offset', { lagThreshold: '1', offsetResetPolicy: 'earliest' }, forgotten(1), 1],
    ['six in one partition of those with lag', WITH_LAG, unread([6, 1], [0, 2]), 1],
    ['eleven in two of those with lag', WITH_LAG, unread([6, 1], [5, 1], [0, 1]), 2],
    ['five of ten, evenly', EVEN, unread([1, 5], [0, 5]), 5],
    ['eight of ten, evenly', EVEN, unread([1, 8], [0, 2]), 10],
  ])('%s', ([, metadata, partitions, replicas]) => {
    const trigger = triggerOf(metadata)
    const wish = Math.ceil(kafkaLag(trigger, partitions) / trigger.lagThreshold)
    expect(isActive(trigger, partitions) ? wish : 0).toBe(replicas)
  })
})

/** A ScaledObject, as far as it decides on numbers, and how many partitions each of its topics has. */
interface Scaled extends ScaledLag {
  readonly lanes: readonly string[]
  readonly partitions: readonly number[]
}

function scaledOf({ spec }: KubeObject): Scaled {
  const { formula, target, activationTarget, metricType = 'AverageValue' } = spec.advanced.scalingModifiers
  const lanes: readonly string[] = spec.triggers.map(({ name }: { name: string }) => name)
  // What `composite` takes for given.
  expect([formula, metricType]).toEqual([lanes.join(' + '), 'AverageValue'])
  return {
    lanes,
    partitions: lanes.map((lane) => (lane === 'sync' ? 12 : 24)),
    triggers: spec.triggers.map(({ metadata }: { metadata: Record<string, string> }) => triggerOf(metadata)),
    target: Number(target),
    activationTarget: Number(activationTarget),
    min: spec.minReplicaCount,
    max: spec.maxReplicaCount,
    fallback: spec.fallback,
  }
}

/** The records of a partition: the first there is, what is read, and the next to come. */
interface Log {
  readonly low: number
  readonly read: number
  readonly end: number
}

const aLog = fc
  .tuple(fc.nat(1e6), fc.nat(1e6), fc.nat(100))
  .map(([low, more, waiting]): Log => ({ low, read: low + more, end: low + more + waiting }))

/** Of each lane, all of its partitions. */
const logsOf = ({ partitions }: Scaled) =>
  fc.tuple(...partitions.map((count) => fc.array(aLog, { minLength: count, maxLength: count })))

type Logs = readonly (readonly Log[])[]

const waitingIn = (logs: Logs) => logs.flat().reduce((sum, { read, end }) => sum + end - read, 0)
const committed = (logs: Logs) => logs.map((lane) => lane.map(({ read, end }) => ({ committed: read, end })))
const allRead = (logs: Logs) => logs.map((lane) => lane.map((log) => ({ ...log, read: log.end })))

describe.for([
  ['renderers of all lanes', {}, 1],
  ['renderers for async alone', MATRIX['renderers of their own for sync renders'] ?? {}, 0],
] as const)('%s', ([, values, min]) => {
  let scaled: Scaled
  beforeAll(async () => {
    const [object] = ofKind(await rendered(values), 'ScaledObject').filter(({ spec }) => spec.minReplicaCount === min)
    scaled = scaledOf(object as KubeObject)
  })
  const aCount = () => fc.integer({ min: 1, max: scaled.max })

  test('are as many as what waits in all lanes together takes, and none too many for the partitions', () => {
    expect(scaled.max).toBeLessThanOrEqual(Math.max(...scaled.partitions))
    fc.assert(
      fc.property(logsOf(scaled), aCount(), (logs, replicas) => {
        const waiting = waitingIn(logs)
        expect(composite(scaled, committed(logs), replicas)).toBe(waiting)
        const enough = Math.min(scaled.max, Math.max(1, Math.ceil(waiting / scaled.target)))
        expect(wished(scaled, committed(logs), replicas)).toBe(waiting === 0 ? scaled.min : enough)
      }),
    )
    // By the largest lane alone it would be one.
    const eachLane = scaled.partitions.map((count) => unread([scaled.target, 1], [0, count - 1]))
    expect(wished(scaled, eachLane, 1)).toBe(scaled.lanes.length)
  })

  test('come for the first render that waits in any partition, and go when none does', () => {
    fc.assert(
      fc.property(logsOf(scaled), fc.nat(), fc.nat(), (logs, lane, partition) => {
        const quiet = committed(allRead(logs))
        const hit = lane % quiet.length
        const woken = quiet.map((each, at) =>
          at === hit ? each.with(partition % each.length, { committed: 0, end: 1 }) : each,
        )
        expect([wished(scaled, quiet, 0), wished(scaled, woken, 0)]).toEqual([scaled.min, 1])
      }),
    )
  })

  test('are never too few where offsets are missing, and exactly enough once the first are committed', () => {
    const aMask = fc.array(fc.boolean(), { minLength: 60, maxLength: 60 })
    fc.assert(
      fc.property(logsOf(scaled), aMask, aCount(), (logs, isMissing, replicas) => {
        // Of a group that never read, all that is there waits.
        const inOrder = (lane: number, at: number) => isMissing[24 * lane + at] === true
        const known = logs.map((lane, index) =>
          lane.map(({ low, read, end }, at) => ({ low, read: inOrder(index, at) ? low : read, end })),
        )
        const seen = known.map((lane, index) =>
          lane.map(({ read, end }, at) => ({ committed: inOrder(index, at) ? undefined : read, end })),
        )
        expect(composite(scaled, seen, replicas)).toBeGreaterThanOrEqual(waitingIn(known))
        expect(composite(scaled, committed(known), replicas)).toBe(waitingIn(known))
      }),
    )
  })

  test('do not come for lines that were quiet for ever so long', () => {
    const forgetAfterMs = 7 * 24 * 3600 * 1000
    const afterQuiet = (logs: Logs, uncommittedMs: number) =>
      committed(allRead(logs)).map((lane) =>
        lane.map((each) => ({ ...each, committed: uncommittedMs < forgetAfterMs ? each.committed : undefined })),
      )
    fc.assert(
      fc.property(logsOf(scaled), fc.nat(90 * 24 * 3600 * 1000), (logs, quietMs) => {
        const uncommittedMs = Math.min(quietMs, KAFKA_OFFSETS_RENEWED_EVERY_MS)
        expect(wished(scaled, afterQuiet(logs, uncommittedMs), scaled.min)).toBe(scaled.min)
      }),
    )
    const [logs = []] = fc.sample(logsOf(scaled), 1)
    expect(composite(scaled, afterQuiet(logs, forgetAfterMs), 1)).toBeGreaterThan(scaled.target)
  })

  test('stay where Kafka is away, as many as there are', () => {
    const { fallback } = scaled
    fc.assert(
      fc.property(
        fc.integer({ min: scaled.min, max: scaled.max }),
        fc.integer({ min: 1, max: 1000 }),
        (replicas, failures) => {
          const after = wished(scaled, { failures }, replicas)
          expect([replicas, fallback?.replicas]).toContain(after)
          expect(after).toBeGreaterThanOrEqual(replicas)
        },
      ),
    )
    if (fallback === undefined) throw new Error('the chart gives one')
    // What a fallback to a fixed number, or to none, would do to five of them.
    const others = [
      { ...fallback, behavior: 'static' as const },
      { ...fallback, replicas: 0 },
    ]
    expect(wished({ ...scaled, fallback: others[0] }, { failures: 100 }, 5)).toBe(1)
    expect(wished({ ...scaled, fallback: others[1] }, { failures: 1 }, 5)).toBe(scaled.min === 0 ? 0 : 5)
  })

  test('would never all go, were each lane rounded so that partitions are shared out evenly', () => {
    const triggers = scaled.triggers.map((trigger) => ({ ...trigger, ensureEvenDistributionOfPartitions: true }))
    const quiet = scaled.partitions.map((count) => unread([0, count]))
    expect(wished({ ...scaled, triggers }, quiet, 1)).toBe(scaled.lanes.length)
  })
})

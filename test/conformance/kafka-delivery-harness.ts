/** Builds a delivery log on Kafka with its own topics. Tests can interrupt it between any two steps. */
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import {
  type DeliveryLogPorts,
  type KafkaDeliveryLog,
  openKafkaDeliveryLog,
} from '@platen/adapters/kafka/delivery/delivery-log.ts'
import type { TopicSettings } from '@platen/adapters/kafka/topic.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect } from 'vitest'
import { aDelivery } from '../fixture/build.ts'
import { OK, take } from './delivery-log.suite.ts'
import type { Harness } from './harness.ts'
import { type KafkaFixture, ONE_PARTITION } from './kafka-harness.ts'

/** A failed attempt is repeated after a second. */
export const NEXT = { status: 'scheduled', waitMs: 1000 } as const

const OPEN_MS_MAX = 60_000
const BUCKET = 'platen'

export interface DeliveryHarness extends Harness<KafkaDeliveryLog> {
  readonly settings: TopicSettings & { readonly bucket: string }
  reopen(): Promise<KafkaDeliveryLog>
  /** Opens the log of another process in the same group. The caller closes it. */
  another(): Promise<KafkaDeliveryLog>
  /** Makes all steps that match fail before they are done: `send webhook.due`, `put delivery/of/…`. Without a pattern, no step fails. */
  fail(pattern?: RegExp): void
  /** Sends all records again, as if nothing had been committed. */
  replay(): Promise<void>
  deadLetters(): number
  readonly connection: KafkaConnection
}

/** The store of deliveries, the clock by which they are due, and the list that shows them. */
export type Made = Pick<DeliveryLogPorts, 'clock' | 'artifacts' | 'list'>

export async function deliveryHarness(
  kafka: KafkaFixture,
  made: Made,
  topics: Partial<TopicSettings> = { partitions: ONE_PARTITION },
): Promise<DeliveryHarness> {
  const settings = { ...(await kafka.topics('webhook', topics)), bucket: BUCKET }
  const connection = await kafka.connect()
  const sent: Parameters<KafkaConnection['send']>[] = []
  let failing: RegExp | undefined
  const check = (step: string) => {
    if (failing?.test(step)) throw new Unavailable(`cut short before: ${step}`)
  }
  const checked: KafkaConnection = {
    ...connection,
    async send(...args) {
      check(`send ${args[0].slice(settings.prefix.length)}`)
      await connection.send(...args)
      sent.push(args)
    },
  }
  const ports = { ...made, artifacts: checkedStore(made.artifacts, check), ids: systemIds() }
  let deadLetters = 0
  const counted = { ...settings, deadLettered: () => void deadLetters++ }
  const openOn = (used: KafkaConnection) =>
    openKafkaDeliveryLog({ ...ports, connection: used }, counted, AbortSignal.timeout(OPEN_MS_MAX))
  let log: KafkaDeliveryLog | undefined
  const open = async () => {
    await log?.[Symbol.asyncDispose]()
    failing = undefined
    log = await openOn(checked)
    return log
  }
  return {
    settings,
    connection,
    open,
    reopen: open,
    another: () => openOn(connection),
    fail(pattern) {
      failing = pattern
    },
    deadLetters: () => deadLetters,
    async replay() {
      for (const args of sent.slice()) await connection.send(...args)
    },
    async [Symbol.asyncDispose]() {
      await log?.[Symbol.asyncDispose]()
      await connection[Symbol.asyncDispose]()
    },
  }
}

function checkedStore(store: ArtifactStore, check: (step: string) => void): ArtifactStore {
  return {
    ...store,
    async put(address, bytes, signal) {
      check(`put ${address.key}`)
      await store.put(address, bytes, signal)
    },
    async create(address, bytes, signal) {
      check(`create ${address.key}`)
      return await store.create(address, bytes, signal)
    },
    async get(address, signal) {
      check(`get ${address.key}`)
      return await store.get(address, signal)
    },
    async delete(address, signal) {
      check(`delete ${address.key}`)
      await store.delete(address, signal)
    },
  }
}

/** Expects that nothing is due: a delivery scheduled now must be the next one, because there is one partition. */
export async function expectNone(log: KafkaDeliveryLog, signal: AbortSignal): Promise<void> {
  const marker = aDelivery()
  await log.schedule([marker], signal)
  const due = await take(log, signal)
  expect(due.delivery.id).toBe(marker.id)
  await due.record(OK, { status: 'delivered' })
}

/** The delivery log on Kafka, in topics of its own, with ways to cut it short between any two steps. */
import type { KafkaConnection } from '@platen/adapters/kafka/connect.ts'
import {
  type DeliveryLogPorts,
  type KafkaDeliveryLog,
  openKafkaDeliveryLog,
} from '@platen/adapters/kafka/delivery/delivery-log.ts'
import type { TopicSettings } from '@platen/adapters/kafka/topic.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import type { Attempt } from '@platen/contract/delivery.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DueDelivery } from '@platen/contract/port/delivery-log.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import { assert, expect } from 'vitest'
import { aDelivery, NOON } from '../fixture/build.ts'
import type { Harness } from './harness.ts'
import { type KafkaFixture, ONE_PARTITION } from './kafka-harness.ts'

/** What an attempt may come to, and that it is made again after a second. */
export const FAILED: Attempt = { startedAt: NOON, durationMs: 12, result: 'status', statusCode: 503 }
export const OK: Attempt = { startedAt: NOON, durationMs: 3, result: 'ok', statusCode: 204 }
export const NEXT = { status: 'scheduled', waitMs: 1000 } as const

const OPEN_MS_MAX = 60_000
const BUCKET = 'platen'

export interface DeliveryHarness extends Harness<KafkaDeliveryLog> {
  readonly settings: TopicSettings & { readonly bucket: string }
  reopen(): Promise<KafkaDeliveryLog>
  /** Another process of the same group. The caller closes it. */
  another(): Promise<KafkaDeliveryLog>
  /** From now on what is named like that fails before it is done: `send webhook.due`, `put delivery/of/…`; nothing does if absent. */
  fail(pattern?: RegExp): void
  /** Sends again all that was ever sent, as when nothing of it had been committed. */
  replay(): Promise<void>
  /** How many reminders were put aside. */
  buried(): number
  readonly connection: KafkaConnection
}

/** Where deliveries are kept, and the time they are due in. */
export type Made = Pick<DeliveryLogPorts, 'clock' | 'artifacts'>

/** The harness of a log; nothing is in it. */
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
  let buried = 0
  const counted = { ...settings, buried: () => void buried++ }
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
    buried: () => buried,
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

/** The next that is due. */
export async function take(log: KafkaDeliveryLog, signal: AbortSignal): Promise<DueDelivery> {
  const [due] = await takeMany(log, 1, signal)
  assert(due !== undefined)
  return due
}

export async function takeMany(log: KafkaDeliveryLog, count: number, signal: AbortSignal): Promise<DueDelivery[]> {
  const taken: DueDelivery[] = []
  for await (const due of log.consume(signal)) if (taken.push(due) === count) break
  return taken
}

/** Nothing is due: what is scheduled now is the next that is given out, as there is one line. */
export async function expectNone(log: KafkaDeliveryLog, signal: AbortSignal): Promise<void> {
  const marker = aDelivery()
  await log.schedule([marker], signal)
  const due = await take(log, signal)
  expect(due.delivery.id).toBe(marker.id)
  await due.record(OK, { status: 'delivered' })
}

/** Lets what is under way go on. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

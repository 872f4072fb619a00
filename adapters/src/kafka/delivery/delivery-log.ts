/**
 * The delivery log of several events processes. The artifact store keeps the deliveries, and Kafka the reminders. Due reminders are in one
 * topic whose partitions are shared among the processes. All reminders of a delivery are in one partition, so they come to one process,
 * which processes one of them at a time; see `delivery-consumer.ts`.
 *
 * The object is written first, then the next reminder is sent, then the current one is done. If a process is killed, its reminder remains.
 * The next process continues from the object: it calls the receiver again only if the attempt was not written.
 *
 * A new delivery needs neither, if the process that schedules it also delivers: see `contract/src/port/first-attempt.ts`.
 *
 * Deliveries stay until `forget` is called when their render is removed.
 */
import type { Delivery } from '@platen/contract/domain/delivery.ts'
import { FIRST_ATTEMPT_MS_MAX, WEBHOOK_DEFER_MS_MAX, WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { DeliveryListView } from '@platen/contract/port/delivery-list.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import { openFirstAttempts } from '@platen/contract/port/first-attempt.ts'
import type { Clock } from '@platen/lib/clock.ts'
import type { Ids } from '@platen/lib/ids.ts'
import type { KafkaConnection } from '../connect.ts'
import { openConsumer } from '../consumer/consumer.ts'
import type { GroupConsumer } from '../consumer/group-consumer.ts'
import type { Lag } from '../partition/partition.ts'
import { type DelayPorts, DelayTopicConsumer, sendReminders } from './delay-topics.ts'
import { DeliveryConsumer, neverAborted } from './delivery-consumer.ts'
import { showScheduled } from './delivery-shown.ts'
import { type AttemptRequest, type DeliveryStore, deliveryStoreIn } from './delivery-store.ts'
import { type Progress, recordOf } from './progress.ts'
import { WEBHOOK_GROUP, WEBHOOK_TOPICS } from './topic.ts'

/** How often to look for a delivery that is announced but not stored, before it counts as absent: its process may have died. */
const ANNOUNCED_LOOKS_MAX = 10

export interface DeliveryLogPorts {
  /** To a Kafka in which `webhookTopics` are prepared. */
  readonly connection: KafkaConnection
  readonly artifacts: ArtifactStore
  /** The clock by which deliveries are due. */
  readonly clock: Clock
  readonly ids: Ids
  /** Absent = this process does not change the list. */
  readonly list?: Pick<DeliveryListView, 'put' | 'add'>
}

interface DeliveryLogSettings {
  /** See `TopicSettings`. */
  readonly prefix: string
  readonly bucket: string
  readonly deadLettered?: (() => void) | undefined
}

/** The operations for the API, which need no membership of the group. */
interface DeliveryReader extends Pick<DeliveryLog, 'schedule' | 'find' | 'listByRender' | 'redeliver'> {
  /**
   * Removes the deliveries of a render, delivered or not. Safe to repeat. The progress of a delivery in hand may be written once more;
   * nobody then finds it by its id, unless it was at its first attempt.
   */
  forget(render: RenderId, signal: AbortSignal): Promise<void>
}

/** Closing it leaves the group; other processes get the deliveries in hand. */
export interface KafkaDeliveryLog extends DeliveryLog, DeliveryReader, AsyncDisposable {
  /** As in `GroupConsumer`. */
  isAlive(): boolean
  lag(): readonly Lag[]
}

export function kafkaDeliveryReader(ports: DeliveryLogPorts, settings: DeliveryLogSettings): DeliveryReader {
  return deliveryReaderOn(deliveryStoreIn(ports.artifacts, settings), ports, settings)
}

function deliveryReaderOn(
  store: DeliveryStore,
  ports: DeliveryLogPorts,
  settings: DeliveryLogSettings,
): DeliveryReader {
  return {
    async schedule(deliveries, signal) {
      signal.throwIfAborted()
      const due = deliveries.map((delivery) => ({ delivery, waitMs: 0 }))
      await storeScheduled(store, { ...ports, ...settings, due }, signal)
    },
    async find(id, signal) {
      const progress = await findStored(store, { ...ports, id }, signal)
      return progress && recordOf(progress)
    },
    async listByRender(render, signal) {
      return (await store.listByRender(render, signal)).map(recordOf)
    },
    redeliver: (id, signal) => requestAttempt(store, { ...ports, ...settings, id }, signal),
    forget: (render, signal) => store.forget(render, signal),
  }
}

/** Waits if the delivery is not stored yet: a receiver may ask for it during its first attempt. */
async function findStored(
  store: DeliveryStore,
  { id, connection: { clock } }: DeliveryLogPorts & { readonly id: string },
  signal: AbortSignal,
): Promise<Progress | undefined> {
  for (let looks = 1; ; looks++) {
    const found = await store.find(id, signal)
    if (found !== 'announced') return found
    if (looks === ANNOUNCED_LOOKS_MAX) return undefined
    await clock.sleep(FIRST_ATTEMPT_MS_MAX, signal)
  }
}

interface StoredSchedule extends DeliveryLogPorts, DeliveryLogSettings {
  readonly due: readonly { readonly delivery: Delivery; readonly waitMs: number }[]
}

/** Stores deliveries without attempts, and sends a reminder of each. Deliveries that are already stored stay as they are. */
async function storeScheduled(
  store: DeliveryStore,
  { due, ...sender }: StoredSchedule,
  signal: AbortSignal,
): Promise<void> {
  const now = sender.clock.now()
  await Promise.all(due.map(({ delivery }) => store.create(delivery, now, signal)))
  // Also for existing objects: the process that wrote one may have died before it sent the reminder.
  const reminders = due.map(({ delivery: { id, render }, waitMs }) => ({ id, render, waitMs, step: 0 }))
  await sendReminders(sender, reminders, signal)
  // A delivery that the list misses now is shown with its first attempt.
  await Promise.all(due.map(({ delivery }) => showScheduled(delivery, sender.list, signal)))
}

/** Joins the group of events processes. One per process. Throws `Unavailable`, or rejects with the signal's reason. */
export async function openKafkaDeliveryLog(
  ports: DeliveryLogPorts,
  settings: DeliveryLogSettings,
  signal: AbortSignal,
): Promise<KafkaDeliveryLog> {
  const { connection, clock } = ports
  const { prefix } = settings
  const store = deliveryStoreIn(ports.artifacts, settings)
  const delayPorts: DelayPorts = { ...settings, connection, clock }
  let consumer: GroupConsumer | undefined
  const poll: GroupConsumer['poll'] = (topic) => consumer?.poll(topic)
  const delayConsumer = new DelayTopicConsumer(delayPorts, poll)
  const dueConsumer = new DeliveryConsumer({ ...delayPorts, store, list: ports.list }, poll)
  const onRecords = () => {
    delayConsumer.onRecords()
    dueConsumer.onRecords()
  }
  const topics = WEBHOOK_TOPICS.map((topic) => prefix + topic)
  const joined = await openConsumer(connection, { group: prefix + WEBHOOK_GROUP, topics, onRecords }, signal)
  consumer = joined
  onRecords()
  const closing = new AbortController()
  const attempts = openFirstAttempts()
  let hasFailed = false
  const ended = delayConsumer.run(closing.signal).catch((err: unknown) => {
    if (closing.signal.aborted) return
    hasFailed = true
    connection.log.error({ err }, 'webhook scheduler stopped')
  })
  return {
    ...deliveryReaderOn(store, ports, settings),
    async schedule(deliveries, scheduling) {
      scheduling.throwIfAborted()
      // Continues while stopping: a call that is under way must not be made again.
      const due: StoredSchedule['due'][number][] = []
      await attempts(deliveries, async (delivery) => {
        const waitMs = await dueConsumer.attemptFirst(delivery)
        if (waitMs !== undefined) due.push({ delivery, waitMs })
      })
      await storeScheduled(store, { ...ports, ...settings, due }, neverAborted())
    },
    consume: (consuming) => dueConsumer.consume(consuming),
    isAlive: () => !hasFailed && joined.isAlive(),
    lag: () => joined.lag(),
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the delivery log was closed'))
      await ended
      await joined[Symbol.asyncDispose]()
    },
  }
}

interface AttemptRequestContext extends DeliveryLogPorts, DeliveryLogSettings {
  readonly id: string
}

const NONCE_BYTES = 16

async function requestAttempt(
  store: DeliveryStore,
  asking: AttemptRequestContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { id, clock, ids } = asking
  signal.throwIfAborted()
  const progress = await findStored(store, asking, signal)
  if (progress === undefined) return false
  const { render } = progress.delivery
  const now = clock.now()
  const nonce = Buffer.from(ids.random(NONCE_BYTES)).toString('hex')
  const fresh: AttemptRequest = { nonce, step: 0, dueAt: now }
  const number = await store.requestAttempt(id, fresh, signal)
  if (number === undefined) {
    await remindOverdueRequests(store, { ...asking, render }, signal)
    return false
  }
  await sendReminders(asking, [{ id, render, waitMs: 0, step: 0, ask: { number, nonce } }], signal)
  return true
}

/**
 * Sends a reminder of each request that is long overdue: its reminder was never sent, or nothing is being processed. Raises the step by
 * two, since a reminder that is one step behind makes its consumer send the later one again.
 */
async function remindOverdueRequests(
  store: DeliveryStore,
  asking: AttemptRequestContext & { render: RenderId },
  signal: AbortSignal,
): Promise<void> {
  const { id, render, clock } = asking
  const now = clock.now()
  for (let number = 0; number < WEBHOOK_REDELIVERIES_MAX; number++) {
    const known = await store.readRequest(id, number, signal)
    if (known === undefined || known.dueAt + WEBHOOK_DEFER_MS_MAX > now) continue
    const { nonce } = known
    const again: AttemptRequest = { nonce, step: known.step + 2, dueAt: now }
    await store.writeRequest(id, number, { ask: again, signal })
    await sendReminders(asking, [{ id, render, waitMs: 0, step: again.step, ask: { number, nonce } }], signal)
  }
}

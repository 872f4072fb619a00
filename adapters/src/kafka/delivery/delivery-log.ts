/**
 * Deliveries of several events processes. The artifact store remembers them and Kafka reminds of them: what is due stands in one
 * topic, of which each process is given its partitions, and a delivery is always in the same one. So whatever reminds of it, and
 * however often, it comes to one process, and that has it in one hand; see `delivery-consumer.ts`.
 *
 * First the object is written, then the reminder is sent, and then the one before is done with. A process that is killed leaves that
 * one behind, and whoever is given it goes on from what the object says: calls again only where the attempt was not written.
 *
 * Deliveries stay until they are forgotten, by whoever removes the render they tell of.
 */
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { DeliveryLog } from '@platen/contract/port/delivery-log.ts'
import type { Ids } from '@platen/contract/port/ids.ts'
import type { RenderId } from '@platen/contract/render-id.ts'
import { WEBHOOK_DEFER_MS_MAX, WEBHOOK_REDELIVERIES_MAX } from '@platen/contract/webhook-limit.ts'
import type { KafkaConnection } from '../connect.ts'
import { type GroupConsumer, openConsumer } from '../consumer/consumer.ts'
import type { Lag } from '../partition/partition.ts'
import { type DelayPorts, DelayTopicConsumer, sendReminders } from './delay-topics.ts'
import { DeliveryConsumer } from './delivery-consumer.ts'
import { type AttemptRequest, type DeliveryStore, deliveryStoreIn } from './delivery-store.ts'
import { recordOf } from './progress.ts'
import { VERSION } from './reminder.ts'
import { WEBHOOK_GROUP, WEBHOOK_TOPICS } from './topic.ts'

export interface DeliveryLogPorts {
  /** To a Kafka in which `webhookTopics` are prepared. */
  readonly connection: KafkaConnection
  readonly artifacts: ArtifactStore
  /** In whose time deliveries are due. */
  readonly clock: Clock
  readonly ids: Ids
}

export interface DeliveryLogSettings {
  /** Before the names of topics and groups; see `TopicSettings`. */
  readonly prefix: string
  /** The service's own. */
  readonly bucket: string
  /** Told of each reminder that was buried as nobody can work with it, for a counter. */
  readonly buried?: (() => void) | undefined
}

/** What can be done without being of the group: by the API. */
export interface DeliveryReader extends Pick<DeliveryLog, 'find' | 'listByRender' | 'redeliver'> {
  /**
   * Forgets the deliveries of a render, those that are not delivered too; again and again is fine. Of one that is in a hand just now
   * the progress may be written once more, where nobody finds it by its id.
   */
  forget(render: RenderId, signal: AbortSignal): Promise<void>
}

/** Closing it leaves the group: what is in hand is given out to others. */
export interface KafkaDeliveryLog extends DeliveryLog, DeliveryReader, AsyncDisposable {
  /** False when nothing was heard of it for so long that only a new process helps. */
  isAlive(): boolean
  /** What the partitions read here still have to do. */
  lag(): readonly Lag[]
}

/** The log for who only looks at deliveries and asks for attempts. */
export function kafkaDeliveryReader(ports: DeliveryLogPorts, settings: DeliveryLogSettings): DeliveryReader {
  return deliveryReaderOn(deliveryStoreIn(ports.artifacts, settings.bucket), ports, settings)
}

function deliveryReaderOn(
  store: DeliveryStore,
  ports: DeliveryLogPorts,
  settings: DeliveryLogSettings,
): DeliveryReader {
  return {
    async find(id, signal) {
      const progress = await store.find(id, signal)
      return progress && recordOf(progress)
    },
    async listByRender(render, signal) {
      return (await store.listByRender(render, signal)).map(recordOf)
    },
    redeliver: (id, signal) => requestAttempt(store, { ...ports, ...settings, id }, signal),
    forget: (render, signal) => store.forget(render, signal),
  }
}

/** Joins the group of events processes. One a process. Throws `Unavailable`, or rejects with the signal's reason. */
export async function openKafkaDeliveryLog(
  ports: DeliveryLogPorts,
  settings: DeliveryLogSettings,
  signal: AbortSignal,
): Promise<KafkaDeliveryLog> {
  const { connection, clock } = ports
  const { prefix, bucket, buried } = settings
  const store = deliveryStoreIn(ports.artifacts, bucket)
  const delayPorts: DelayPorts = { connection, clock, prefix, buried }
  let consumer: GroupConsumer | undefined
  const poll: GroupConsumer['poll'] = (topic) => consumer?.poll(topic)
  const delayConsumer = new DelayTopicConsumer(delayPorts, poll)
  const dueConsumer = new DeliveryConsumer({ ...delayPorts, store }, poll)
  const onRecords = () => {
    delayConsumer.onRecords()
    dueConsumer.onRecords()
  }
  const topics = WEBHOOK_TOPICS.map((topic) => prefix + topic)
  const joined = await openConsumer(connection, { group: prefix + WEBHOOK_GROUP, topics, onRecords }, signal)
  consumer = joined
  onRecords()
  const closing = new AbortController()
  let hasFailed = false
  const ended = delayConsumer.run(closing.signal).catch((err: unknown) => {
    if (closing.signal.aborted) return
    hasFailed = true
    connection.log.error({ err }, 'delivery reminders stopped')
  })
  return {
    ...deliveryReaderOn(store, ports, settings),
    consume: (consuming) => dueConsumer.consume(consuming),
    async schedule(deliveries, scheduling) {
      scheduling.throwIfAborted()
      const now = clock.now()
      await Promise.all(deliveries.map((delivery) => store.create(delivery, now, scheduling)))
      // Also of those that were there: whoever wrote the object may have died before this.
      const reminders = deliveries.map(({ id, render }) => ({ id, render, waitMs: 0, step: 0 }))
      await sendReminders(delayPorts, reminders, scheduling)
    },
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

/** Takes a number and sends a reminder of it. */
async function requestAttempt(
  store: DeliveryStore,
  asking: AttemptRequestContext,
  signal: AbortSignal,
): Promise<boolean> {
  const { id, clock, ids } = asking
  signal.throwIfAborted()
  const progress = await store.find(id, signal)
  if (progress === undefined) return false
  const { render } = progress.delivery
  const now = clock.now()
  const nonce = Buffer.from(ids.random(NONCE_BYTES)).toString('hex')
  const fresh: AttemptRequest = { version: VERSION, nonce, step: 0, dueAt: now }
  const number = await store.requestAttempt(id, fresh, signal)
  if (number === undefined) {
    await remindOverdueRequests(store, { ...asking, render }, signal)
    return false
  }
  await sendReminders(asking, [{ id, render, waitMs: 0, step: 0, ask: { number, nonce } }], signal)
  return true
}

/**
 * Of what was asked for and is long overdue the reminder was never sent, or everything stands still. It is put two steps on, as of
 * two reminders that are one apart the earlier has the later sent once more.
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
    const again: AttemptRequest = { version: VERSION, nonce, step: known.step + 2, dueAt: now }
    await store.writeRequest(id, number, { ask: again, signal })
    await sendReminders(asking, [{ id, render, waitMs: 0, step: again.step, ask: { number, nonce } }], signal)
  }
}

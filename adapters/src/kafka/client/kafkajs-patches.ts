/** Faults of kafkajs that are mended from outside, for all of a process. */
import type { Clock } from '@platen/contract/port/clock.ts'
import kafkajs from 'kafkajs'
import Cluster from 'kafkajs/src/cluster/index.js'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'

/** Mends them; again and again is fine. */
export function patchKafkajs(clock: Pick<Clock, 'now'>): void {
  patchRequestTimers()
  patchCoordinatorLookup()
  patchHeartbeatClock(clock)
  commitRealOffsets()
}

/**
 * After every answer kafkajs sets a timer to look for requests that wait, also where none does: one of a negative length, of which
 * Node warns, a thousand times a second on each connection. Those that do wait are looked at after the next answer as well.
 */
function patchRequestTimers(): void {
  const prototype: Pick<RequestQueue, 'scheduleCheckPendingRequests' | 'pending'> = RequestQueue.prototype
  const { scheduleCheckPendingRequests: schedule } = prototype
  if (schedule.name === 'scheduleWherePending') return
  prototype.scheduleCheckPendingRequests = function scheduleWherePending(this: RequestQueue) {
    if (this.pending.length > 0) schedule.call(this)
  }
}

/**
 * Where no broker answers who coordinates a group, as while the one there is shuts down in good order, kafkajs takes that for something
 * no retry mends: the consumer stops for good. It is tried again here, as all that a broker is away for.
 */
function patchCoordinatorLookup(): void {
  const prototype: Pick<Cluster, 'findGroupCoordinatorMetadata'> = Cluster.prototype
  const { findGroupCoordinatorMetadata: find } = prototype
  if (find.name === 'findRetriably') return
  prototype.findGroupCoordinatorMetadata = async function findRetriably(this: Cluster, request) {
    try {
      return await find.call(this, request)
    } catch (cause) {
      const isUnknown = cause instanceof Error && cause.name === 'KafkaJSGroupCoordinatorNotFound'
      throw isUnknown ? new kafkajs.KafkaJSError(cause, { retriable: true }) : cause
    }
  }
}

/**
 * A consumer is heard of when its last heartbeat was long enough ago by the clock of the machine: of one that was set back by an hour
 * nothing would be heard for that hour, and its partitions would go to others.
 */
function patchHeartbeatClock(clock: Pick<Clock, 'now'>): void {
  const prototype: Pick<ConsumerGroup, 'heartbeat' | 'lastRequest'> = ConsumerGroup.prototype
  const { heartbeat } = prototype
  if (heartbeat.name === 'heartbeatByClock') return
  prototype.heartbeat = function heartbeatByClock(this: ConsumerGroup, options) {
    this.lastRequest = Math.min(this.lastRequest, clock.now())
    return heartbeat.call(this, options)
  }
}

/**
 * Where retention has deleted what is next, kafkajs commits the number that stands for "the first" in its requests: -2. It finds its way
 * by that; others take the lag from it, and KEDA comes to more than there ever was. Here the offset itself is committed.
 */
function commitRealOffsets(): void {
  const prototype: Pick<OffsetManager, 'setDefaultOffset'> = OffsetManager.prototype
  if (prototype.setDefaultOffset.name === 'setFirstOffset') return
  prototype.setDefaultOffset = async function setFirstOffset(this: OffsetManager, { topic, partition }) {
    const asked = { topic, partitions: [{ partition }], ...this.topicConfigurations[topic] }
    const [found] = await this.cluster.fetchTopicsOffset([asked])
    const offset = found?.partitions[0]?.offset
    if (offset === undefined) throw new kafkajs.KafkaJSError(`no offset of ${topic}`, { retriable: true })
    await this.commitOffsets({ topics: [{ topic, partitions: [{ partition, offset }] }] })
    this.clearOffsets({ topic, partition })
  }
}

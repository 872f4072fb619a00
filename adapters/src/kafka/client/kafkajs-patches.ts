/** Patches for defects of kafkajs, applied to the whole process. */
import type { Clock } from '@platen/contract/port/clock.ts'
import kafkajs from 'kafkajs'
import SaslAuthenticator from 'kafkajs/src/broker/saslAuthenticator/index.js'
import Cluster from 'kafkajs/src/cluster/index.js'
import ConsumerGroup from 'kafkajs/src/consumer/consumerGroup.js'
import OffsetManager from 'kafkajs/src/consumer/offsetManager/index.js'
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js'
import { KAFKA_PAUSED_FETCH_WAIT_MS } from '../limit.ts'

/** Applies the patches. Safe to call several times. */
export function patchKafkajs(clock: Pick<Clock, 'now'>): void {
  patchRequestTimers()
  closeUnauthenticated()
  patchCoordinatorLookup()
  patchMetadataLookup()
  patchHeartbeatClock(clock)
  keepCommittedOffsets()
  shortenFetchesWhilePaused()
}

/**
 * After every response kafkajs sets a timer to check for waiting requests, even if there are none. Its delay is then negative, and
 * Node warns about that a thousand times a second on each connection. Waiting requests are also checked after the next response.
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
 * When authentication fails, for example because the broker answers late, kafkajs begins it again on the same connection. The broker
 * refuses that (ILLEGAL_SASL_STATE), which kafkajs does not retry: a process does not start, and a consumer stops for good. Here the
 * connection is closed, so that the next attempt has one of its own.
 *
 * While kafkajs closes a connection, it waits for the answers that are due, and takes the connection for one to authenticate. A request
 * that comes then would begin a second authentication, too. It fails here as on a connection that is closed already.
 */
function closeUnauthenticated(): void {
  const prototype: Pick<SaslAuthenticator, 'authenticate' | 'connection'> = SaslAuthenticator.prototype
  const { authenticate } = prototype
  if (authenticate.name === 'authenticateOrClose') return
  prototype.authenticate = async function authenticateOrClose(this: SaslAuthenticator) {
    const { connection } = this
    // Meanwhile somebody else may connect again, and that socket is not to be closed.
    const { socket } = connection
    if (connection.connectionStatus === 'disconnecting') {
      const broker = `${connection.host}:${connection.port}`
      throw new kafkajs.KafkaJSConnectionError('The connection is being closed', { broker })
    }
    try {
      await authenticate.call(this)
    } catch (cause) {
      await connection.disconnect()
      // The rest of this socket, such as the late answer, must not reach its successor.
      socket.destroy()
      throw cause
    }
  }
}

/**
 * While a broker shuts down in good order, no broker may name the coordinator of a group. kafkajs takes that for an error that cannot be
 * retried, and the consumer stops for good. Here it is retried, like every other temporary failure of a broker.
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
 * When no broker answers with its metadata, for example in time, kafkajs returns null, and callers take that for a defect of ours: a process
 * does not start. Here it is an error that can be retried.
 */
function patchMetadataLookup(): void {
  const prototype: Pick<Cluster, 'metadata'> = Cluster.prototype
  const { metadata } = prototype
  if (metadata.name === 'metadataOrError') return
  prototype.metadata = async function metadataOrError(this: Cluster, request) {
    const found = await metadata.call(this, request)
    if (found === null) throw new kafkajs.KafkaJSError('no broker answered with its metadata', { retriable: true })
    return found
  }
}

/**
 * kafkajs sends a heartbeat when the last one is long enough ago by the wall clock. If that clock is set back by an hour, no heartbeat
 * is sent for an hour, and the group gives the partitions to others.
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
 * When the log lacks the next offset, kafkajs commits -2, its number for "the first". Other programs compute the lag from it, and KEDA
 * then gets more than there ever was. And if the log is an older copy, the offset that is committed in it would be lost. Here nothing is
 * committed, and the consumer learns from the next batch that it does not begin where it should.
 */
function keepCommittedOffsets(): void {
  const prototype: Pick<OffsetManager, 'setDefaultOffset'> = OffsetManager.prototype
  if (prototype.setDefaultOffset.name === 'fetchFromFirst') return
  prototype.setDefaultOffset = async function fetchFromFirst(this: OffsetManager, { topic, partition }) {
    const asked = { topic, partitions: [{ partition }], ...this.topicConfigurations[topic] }
    const [found] = await this.cluster.fetchTopicsOffset([asked])
    const offset = found?.partitions[0]?.offset
    if (offset === undefined) throw new kafkajs.KafkaJSError(`no offset of ${topic}`, { retriable: true })
    this.resolvedOffsets[topic] = { ...this.resolvedOffsets[topic], [partition]: offset }
  }
}

/**
 * A paused partition is left out of a fetch, and kafkajs cannot add it when it is resumed: it waits until the broker has answered. Here a
 * fetch that leaves one out is a short one, so that all others can be long.
 */
function shortenFetchesWhilePaused(): void {
  const prototype: Pick<ConsumerGroup, 'maxWaitTime'> = ConsumerGroup.prototype
  if (Object.hasOwn(prototype, 'maxWaitTime')) return
  const longest = new WeakMap<ConsumerGroup, number>()
  Object.defineProperty(prototype, 'maxWaitTime', {
    get(this: ConsumerGroup) {
      const waitMs = longest.get(this) ?? KAFKA_PAUSED_FETCH_WAIT_MS
      return this.paused().length === 0 ? waitMs : Math.min(waitMs, KAFKA_PAUSED_FETCH_WAIT_MS)
    },
    // The constructor sets it.
    set(this: ConsumerGroup, waitMs: number) {
      longest.set(this, waitMs)
    },
  })
}

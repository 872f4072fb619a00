/**
 * Keeps the offsets of queues that no renderer reads. Brokers forget the committed offsets of a group without members. An autoscaler that
 * uses the lag would then count the whole log as waiting, and start the maximum number of renderers for a lane that was quiet for a week.
 */
import { LANES } from '@platen/contract/domain/render.ts'
import { ENGINES } from '@platen/contract/domain/render-options.ts'
import type { KafkaConnection } from '../connect.ts'
import { renewOffsets } from '../group.ts'
import { KAFKA_OFFSETS_RENEWED_EVERY_MS, KAFKA_PREPARE_MS_MAX } from '../limit.ts'
import { queueTopic } from '../topic.ts'

/** Renews the offsets repeatedly, until it is closed. Several processes may do so. */
export function keepOffsets(connection: KafkaConnection, { prefix }: { readonly prefix: string }): AsyncDisposable {
  const { clock } = connection
  const closing = new AbortController()
  const { signal } = closing
  const follow = async () => {
    while (!signal.aborted) {
      // Not at once: if all processes have just started, `prepareTopics` committed the first offsets a moment ago.
      await clock.sleep(KAFKA_OFFSETS_RENEWED_EVERY_MS, signal).catch(() => undefined)
      if (!signal.aborted) await renewQueues(connection, prefix, signal)
    }
  }
  const done = follow()
  return {
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the offset keeper was closed'))
      await done
    },
  }
}

/** Never rejects: the next round retries, long before brokers forget. */
async function renewQueues(connection: KafkaConnection, prefix: string, closing: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([closing, connection.clock.timeout(KAFKA_PREPARE_MS_MAX)])
  for (const engine of ENGINES) {
    for (const lane of LANES) {
      const topic = prefix + queueTopic(engine, lane)
      await renewOffsets(connection, { group: topic, topics: [topic] }, signal).catch((err: unknown) => {
        if (!closing.aborted) connection.log.warn({ group: topic, err }, 'offsets not renewed')
      })
    }
  }
}

/**
 * Keeps the offsets of lines that no renderer reads. Brokers forget what is committed in a group that nobody is in, and what scales by
 * lag would then take the whole log for waiting: a lane that was quiet for a week would get all the renderers it may have.
 */
import { KAFKA_OFFSETS_RENEWED_EVERY_MS, KAFKA_PREPARE_MS_MAX } from '@platen/contract/kafka-limit.ts'
import { LANES } from '@platen/contract/render.ts'
import { ENGINES } from '@platen/contract/render-options.ts'
import type { KafkaConnection } from '../connect.ts'
import { renewOffsets } from '../group.ts'
import { queueTopic } from '../topic.ts'

/** Renews them again and again, until it is closed. Several processes may do so. */
export function keepOffsets(connection: KafkaConnection, { prefix }: { readonly prefix: string }): AsyncDisposable {
  const { clock } = connection
  const closing = new AbortController()
  const { signal } = closing
  const follow = async () => {
    while (!signal.aborted) {
      // Not at once: where all processes have just started, every line had its first offsets a moment ago.
      await clock.sleep(KAFKA_OFFSETS_RENEWED_EVERY_MS, signal).catch(() => undefined)
      if (!signal.aborted) await renewLines(connection, prefix, signal)
    }
  }
  const done = follow()
  return {
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the offsets are kept no more'))
      await done
    },
  }
}

/** All lines, one after the other. Never rejects: what fails is tried again the next time, long before it is forgotten. */
async function renewLines(connection: KafkaConnection, prefix: string, closing: AbortSignal): Promise<void> {
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

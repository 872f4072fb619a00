/** One Kafka for all scenarios on the cluster topology, as it takes seconds to start; each uses topics of its own. */
import type { TestProject } from 'vitest/node'
import { startKafka } from '../server/kafka.ts'

/** Starts it before the first scenario, and ends it after the last. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const kafka = await startKafka()
  project.provide('kafka', { broker: kafka.broker, folder: kafka.folder })
  return async () => await kafka[Symbol.asyncDispose]()
}

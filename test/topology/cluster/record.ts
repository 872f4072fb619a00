/** Reads everything in the topics of a cluster, from outside its processes. */
import { Kafka, logLevel } from 'kafkajs'
import type { Cluster } from './cluster.ts'

export interface TopicRecord {
  /** Without the prefix of the cluster. */
  readonly topic: string
  readonly key: string
  /** Each as `name: value`. */
  readonly headers: readonly string[]
  readonly value: Buffer
}

export async function recordsOf({
  broker,
  topicPrefix,
}: Pick<Cluster, 'broker' | 'topicPrefix'>): Promise<readonly TopicRecord[]> {
  const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(topicPrefix))
  const offsets = await Promise.all(topics.map((topic) => admin.fetchTopicOffsets(topic)))
  const wanted = offsets.flat().reduce((sum, { high, low }) => sum + Number(high) - Number(low), 0)
  const groupId = `${topicPrefix}reader`
  const consumer = kafka.consumer({ groupId })
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  const records: TopicRecord[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  await consumer.run({
    eachMessage: async ({ topic, message: { key, headers = {}, value } }) => {
      const texts = Object.entries(headers).map(([name, text]) => `${name}: ${String(text)}`)
      const name = topic.slice(topicPrefix.length)
      records.push({ topic: name, key: String(key), headers: texts, value: value ?? Buffer.of() })
      if (records.length >= wanted) resolve()
    },
  })
  await promise
  await consumer.disconnect()
  await admin.deleteGroups([groupId])
  await admin.disconnect()
  return records
}

/** The bare producer that acceptance is measured against: the same records, one at a time, each acknowledged by all replicas. */
import { Kafka, logLevel } from 'kafkajs'
import { aRecord } from '../../fixture/build.ts'
import { serve } from '../child.ts'
import { invoiceData } from '../invoice.ts'
import { timed } from '../measure.ts'

const [broker = ''] = process.argv.slice(2)
const topic = 'bench.produce'
const kafka = new Kafka({ brokers: [broker], logLevel: logLevel.NOTHING })
const admin = kafka.admin()
await admin.connect()
await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }] })
await admin.disconnect()
const producer = kafka.producer({ allowAutoTopicCreation: false })
await producer.connect()

serve(({ rows, ...batch }) =>
  timed(batch, async () => {
    const record = aRecord({ data: { inline: invoiceData(rows) } })
    await producer.send({ topic, acks: -1, messages: [{ key: record.id, value: JSON.stringify(record) }] })
    return new Uint8Array()
  }),
)
process.once('disconnect', () => void producer.disconnect())

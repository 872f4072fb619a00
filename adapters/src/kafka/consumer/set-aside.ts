/**
 * Records of a newer format than this process reads. It moves each to a topic of its own, unchanged, so that nothing behind it waits. A
 * process that reads the format puts it back into the topic that it came from. Until there is such a process, it stays there.
 *
 * Both steps are durable in the new place before they are done in the old one. So a killed process leaves a record twice at worst, and
 * consumers of every topic expect that.
 */
import { newerFormat } from '@platen/contract/format.ts'
import { type Notifier, openNotifier } from '@platen/contract/notifier.ts'
import { retryWhileUnavailable } from '@platen/contract/retry.ts'
import type { KafkaConnection } from '../connect.ts'
import { SET_ASIDE_RETURNED_AFTER_MS } from '../limit.ts'
import type { StoredRecord } from '../partition/partition.ts'
import { NEWER_TOPIC } from '../topic.ts'
import { openConsumer } from './consumer.ts'
import type { ConsumedRecord, GroupConsumer } from './group-consumer.ts'

const HEADERS = { format: 'platen-format', topic: 'platen-topic', reader: 'platen-reader' } as const

export interface SetAsideSender {
  readonly connection: Pick<KafkaConnection, 'send' | 'log'>
  /** Prefix of topic names. */
  readonly prefix: string
  /** Called for each record that was set aside, for a counter. */
  readonly onSetAside?: (() => void) | undefined
}

export interface SetAside {
  readonly record: StoredRecord
  /** The format that a process must read to process it. */
  readonly format: number
  /** The reader that could not read it, where a topic has several. The others get it too, and skip it. */
  readonly reader?: string
}

/** Resolves when the record is durable in the topic of newer ones; the caller then marks it as done. Throws `Unavailable`. */
export async function setAsideRecord(
  { connection, prefix, onSetAside }: SetAsideSender,
  { record, format, reader }: SetAside,
  signal: AbortSignal,
): Promise<void> {
  const { key, value, headers, topic, partition, offset } = record
  const added = {
    [HEADERS.format]: String(format),
    [HEADERS.topic]: topic.slice(prefix.length),
    ...(reader !== undefined && { [HEADERS.reader]: reader }),
  }
  await connection.send(prefix + NEWER_TOPIC, [{ key, value, headers: { ...headers, ...added } }], signal)
  onSetAside?.()
  connection.log.warn({ topic, partition, offset, format }, 'record set aside for a newer version')
}

/** Is the record meant for another reader of its topic? It was set aside for that one, and this one has it from before. */
export function isForAnotherReader({ headers }: StoredRecord, reader: string): boolean {
  const meant = headers[HEADERS.reader]?.toString()
  return meant !== undefined && meant !== reader
}

/** Puts records back that this process can read, until it is closed. Several processes may do so. */
export function returnSetAside(connection: KafkaConnection, { prefix }: { readonly prefix: string }): AsyncDisposable {
  const closing = new AbortController()
  const done = returnUntilClosed(connection, prefix, closing.signal)
  return {
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the process stops'))
      await done
    },
  }
}

/** Never rejects. */
async function returnUntilClosed(connection: KafkaConnection, prefix: string, signal: AbortSignal): Promise<void> {
  const topic = prefix + NEWER_TOPIC
  const arrival = openNotifier()
  const settings = { group: topic, topics: [topic], onRecords: () => arrival.notify() }
  try {
    const open = () => openConsumer(connection, settings, signal)
    await using consumer = await retryWhileUnavailable(open, {
      ...connection,
      dependency: 'kafka',
      operation: 'consume',
      signal,
    })
    for (;;) await returnNext({ connection, prefix, consumer, arrival }, signal)
  } catch (err) {
    if (!signal.aborted) connection.log.error({ topic, err }, 'records of newer formats are no longer returned')
  }
}

interface Returning {
  readonly connection: KafkaConnection
  readonly prefix: string
  readonly consumer: GroupConsumer
  readonly arrival: Notifier
}

async function returnNext({ connection, prefix, consumer, arrival }: Returning, signal: AbortSignal): Promise<void> {
  const readable = bufferedRecords(consumer, prefix + NEWER_TOPIC).filter(isReadable)
  if (readable.length === 0) return await arrival.wait(signal)
  // While older processes run, one of them may get it again. The wait bounds what that costs.
  await connection.clock.sleep(SET_ASIDE_RETURNED_AFTER_MS, signal)
  for (const record of readable) {
    const returnIt = () => returnRecord(connection, { record, prefix }, signal)
    await retryWhileUnavailable(returnIt, { ...connection, dependency: 'kafka', operation: 'returnRecord', signal })
    record.done()
  }
}

function bufferedRecords(consumer: GroupConsumer, topic: string): readonly ConsumedRecord[] {
  const records: ConsumedRecord[] = []
  for (let record = consumer.poll(topic); record !== undefined; record = consumer.poll(topic)) records.push(record)
  return records
}

/** A record that is not readable stays in hand and is never done, so that the next owner of the partition gets it. */
function isReadable({ headers }: ConsumedRecord): boolean {
  return newerFormat(headers[HEADERS.format]?.toString()) === undefined
}

async function returnRecord(
  { send, log }: Pick<KafkaConnection, 'send' | 'log'>,
  { record, prefix }: { readonly record: StoredRecord; readonly prefix: string },
  signal: AbortSignal,
): Promise<void> {
  const { key, value, headers, partition, offset } = record
  const { [HEADERS.format]: _format, [HEADERS.topic]: origin, ...own } = headers
  const topic = prefix + String(origin)
  await send(topic, [{ key, value, headers: own }], signal)
  log.info({ topic, partition, offset }, 'record of a newer format returned')
}

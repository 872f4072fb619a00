/** Tests that the event log on Kafka is read from any position a reader names, any number of times, by any number of processes. */
import { type KafkaEventLog, kafkaEventLog } from '@platen/adapters/kafka/event-log.ts'
import type { RenderEvent } from '@platen/contract/domain/event.ts'
import type { EventRange } from '@platen/contract/port/checkpoint.ts'
import type { EventBatch, LogPosition } from '@platen/contract/port/event-log.ts'
import { expect, test } from 'vitest'
import { aManifest, anEvent } from '../fixture/build.ts'
import { describeOnKafka, ONE_PARTITION } from './kafka-harness.ts'

const READER = 'projection'

describeOnKafka('the event log on Kafka', (kafka) => {
  const aLog = async (partitions = 1) => {
    const { prefix } = await kafka.topics('events', { partitions: { ...ONE_PARTITION, events: partitions } })
    const connection = await kafka.connect()
    const log = kafkaEventLog(connection, { prefix })
    return { log, connection, topic: `${prefix}render.events`, [Symbol.asyncDispose]: connection[Symbol.asyncDispose] }
  }

  test('is read from where its reader says, again and again', async ({ signal }) => {
    await using scene = await aLog()
    const events = await append(scene.log, 10, signal)
    const asked: EventRange[] = []
    const starts = [7, 2, 0]
    const begin = async (_partition: number, range: EventRange) => {
      asked.push(range)
      return { offset: starts.shift() ?? 10 }
    }
    const seen: (readonly string[])[] = []
    let read: string[] = []
    for await (const spans of scene.log.replay(READER, begin, signal)) {
      for (const span of spans) {
        read.push(...span.events.map(({ id }) => id))
        span.done()
        if (span.to < 10) continue
        seen.push(read)
        read = []
        span.rewind()
      }
      if (seen.length === 3) break
    }
    const ids = events.map(({ id }) => id)
    expect(seen).toEqual([ids.slice(7), ids.slice(2), ids])
    expect(asked.slice(0, 3)).toEqual([10, 10, 10].map((written) => ({ first: 0, written, partitions: 1 })))
  })

  test('asks again where it is told to begin after its end', async ({ signal }) => {
    await using scene = await aLog()
    await append(scene.log, 4, signal)
    const asked: EventRange[] = []
    const begin = async (_partition: number, range: EventRange) => {
      asked.push(range)
      return { offset: range.end === undefined ? 99 : 3 }
    }
    for await (const spans of scene.log.replay(READER, begin, signal)) if (spans.some(({ to }) => to === 4)) break
    const log = { written: 4, partitions: 1 }
    expect(asked).toEqual([
      { first: 0, ...log },
      { first: 0, end: 4, ...log },
    ])
  })

  test('asks again where the events it was told to begin with have gone meanwhile', async ({ signal }) => {
    await using scene = await aLog()
    await append(scene.log, 10, signal)
    const asked: EventRange[] = []
    const begin = async (_partition: number, range: EventRange) => {
      if (asked.push(range) > 1) return { offset: range.first }
      const admin = await scene.connection.admin()
      await admin.deleteTopicRecords({ topic: scene.topic, partitions: [{ partition: 0, offset: '5' }] })
      return { offset: 2 }
    }
    const seen: EventBatch[] = []
    for await (const spans of scene.log.replay(READER, begin, signal)) {
      seen.push(...spans.filter(({ events }) => events.length > 0))
      if (seen.some(({ to }) => to === 10)) break
    }
    expect(asked).toMatchObject([{ first: 0 }, { first: 5 }])
    expect(seen[0]).toMatchObject({ from: 5 })
    expect(seen.flatMap(({ events }) => events)).toHaveLength(5)
  })

  test.for([
    { name: 'the event before the position that it is told', isOther: false, asked: [{ first: 0 }], from: 7 },
    { name: 'another one there', isOther: true, asked: [{ first: 0 }, { first: 0, end: 0 }], from: 0 },
  ])('begins at $from where it has $name', async ({ isOther, asked, from }, { signal }) => {
    await using scene = await aLog()
    await append(scene.log, 7, signal)
    let before: string | undefined
    for await (const [span] of scene.log.replay(READER, async () => ({ offset: 0 }), signal)) {
      before = span?.fingerprint
      if (span?.to === 7) break
    }
    await append(scene.log, 3, signal)
    const ranges: EventRange[] = []
    const begin = async (_partition: number, { first, end }: EventRange) => {
      ranges.push({ first, ...(end !== undefined && { end }) })
      return { offset: end ?? 7, fingerprint: isOther ? '0123456789abcdef' : before }
    }
    const seen: EventBatch[] = []
    for await (const spans of scene.log.replay(READER, begin, signal)) {
      seen.push(...spans.filter(({ events }) => events.length > 0))
      if (seen.at(-1)?.to === 10) break
    }
    expect(ranges).toEqual(asked)
    expect(seen[0]).toMatchObject({ from })
    expect(seen.flatMap(({ events }) => events)).toHaveLength(10 - from)
  })

  test('tells where each piece begins and ends, without a gap, and comes by where nothing is new', async ({
    signal,
  }) => {
    await using scene = await aLog(3)
    await append(scene.log, 500, signal)
    const heads = new Map<number, number>()
    const idle = new Set<number>()
    let count = 0
    for await (const spans of scene.log.replay(READER, async () => ({ offset: 0 }), signal)) {
      for (const { partition, from, to, events } of spans) {
        expect(from).toBe(heads.get(partition) ?? 0)
        expect(to - from).toBe(events.length)
        heads.set(partition, to)
        count += events.length
        if (count === 500 && events.length === 0) idle.add(partition)
      }
      if (idle.size === 3) break
    }
    expect(count).toBe(500)
  })

  test('goes on with what comes, after all that was there', async ({ signal }) => {
    await using scene = await aLog()
    const [first] = await append(scene.log, 1, signal)
    const seen: string[] = []
    for await (const spans of scene.log.replay(READER, async () => ({ offset: 0 }), signal)) {
      for (const { events } of spans) for (const { id } of events) seen.push(id)
      if (seen.length === 1) seen.push(...(await append(scene.log, 1, signal)).map(({ id }) => `sent ${id}`))
      if (seen.length === 3) break
    }
    expect(seen).toEqual([first?.id, `sent ${seen[2]}`, seen[2]])
  })

  test('skips what nobody can read, and makes no dead letter', async ({ signal }) => {
    await using scene = await aLog()
    const [before] = await append(scene.log, 1, signal)
    await scene.connection.send(scene.topic, [{ key: 'x', value: 'no event', headers: { v: '1' } }], signal)
    const [after] = await append(scene.log, 1, signal)
    const read: string[] = []
    let to = 0
    for await (const spans of scene.log.replay(READER, async () => ({ offset: 0 }), signal)) {
      for (const span of spans) read.push(...span.events.map(({ id }) => id))
      to = Math.max(to, ...spans.map((span) => span.to))
      if (to === 3) break
    }
    expect(read).toEqual([before?.id, after?.id])
    const admin = await scene.connection.admin()
    const dead = await admin.fetchTopicOffsets(scene.topic.replace('events', 'dead'))
    expect(dead.map(({ high }) => high)).toEqual(['0'])
  })

  test('is shared by processes that come and go, each of which is told where to begin', async ({ signal }) => {
    await using scene = await aLog(4)
    await using other = await kafka.connect()
    const positions = new Map<number, LogPosition>()
    const begin = async (partition: number) => positions.get(partition) ?? { offset: 0 }
    const seen = new Set<string>()
    const take = (spans: readonly EventBatch[]) => {
      for (const span of spans) {
        for (const { id } of span.events) seen.add(id)
        positions.set(span.partition, { offset: span.to, fingerprint: span.fingerprint })
        span.done()
      }
    }
    const stop = new AbortController()
    const ours = (async () => {
      for await (const spans of scene.log.replay(READER, begin, AbortSignal.any([stop.signal, signal]))) take(spans)
    })()
    const ids = new Set<string>()
    const prefix = scene.topic.replace('render.events', '')
    for (let round = 0; round < 3; round += 1) {
      for (const { id } of await append(scene.log, 100, signal)) ids.add(id)
      for await (const spans of kafkaEventLog(other, { prefix }).replay(READER, begin, signal)) {
        take(spans)
        // It runs until it owns a partition and has read the new events in it.
        if (spans.some(({ to, from }) => to === from)) break
      }
    }
    for (const { id } of await append(scene.log, 100, signal)) ids.add(id)
    while (seen.size < ids.size) await new Promise((resolve) => setTimeout(resolve, 20))
    stop.abort()
    await ours
    expect(seen).toEqual(ids)
  })

  test('tells how much is left to read', async ({ signal }) => {
    await using scene = await aLog()
    await append(scene.log, 5, signal)
    const left = () => scene.log.lag(READER).reduce((sum, { records }) => sum + records, 0)
    for await (const spans of scene.log.replay(READER, async () => ({ offset: 0 }), signal)) {
      if (spans.every(({ to }) => to < 5)) continue
      expect([left(), scene.log.lag('webhooks')]).toEqual([5, []])
      for (const span of spans) span.done()
      expect(left()).toBe(0)
      break
    }
  })
})

async function append(log: KafkaEventLog, count: number, signal: AbortSignal): Promise<readonly RenderEvent[]> {
  const events = Array.from({ length: count }, () => anEvent(aManifest()))
  await Promise.all(events.map((event) => log.append(event, signal)))
  return events
}

import type { KafkaMessage } from 'kafkajs'
import { describe, expect, test } from 'vitest'
import { knownRecordOf } from '../client/fingerprint.ts'
import { KAFKA_BUFFERED_BYTES_MAX, KAFKA_UNCOMMITTED_RECORDS_MAX, openPartition } from './partition.ts'
import { openWatermark } from './watermark.ts'

describe('a partition', () => {
  test('gives what was fetched in order, also what comes again and lies before', () => {
    const partition = aPartition()
    partition.add(messages(3, { from: 5 }), 8)
    const first = partition.shift()
    partition.add(messages(2, { from: 8 }), 10)
    if (first !== undefined) partition.requeue(first)
    expect([partition.shift(), partition.shift(), partition.shift()].map((record) => record?.offset)).toStrictEqual([
      5, 6, 7,
    ])
  })

  test('counts only what was not here before', () => {
    const partition = aPartition()
    expect([partition.add(messages(3), 3), partition.add(messages(5), 5)]).toStrictEqual([3, 2])
  })

  test('is full when it has buffered so many bytes, until enough are taken', () => {
    const partition = aPartition()
    const bytes = KAFKA_BUFFERED_BYTES_MAX / 4
    partition.add(messages(3, { bytes }), 9)
    expect(partition.isFull()).toBe(false)
    partition.add(messages(1, { from: 3, bytes }), 9)
    expect(partition.isFull()).toBe(true)
    const taken = partition.shift()
    expect(partition.isFull()).toBe(false)
    if (taken !== undefined) partition.requeue(taken)
    expect(partition.isFull()).toBe(true)
    if (taken !== undefined) partition.done(taken)
    expect(partition.isFull()).toBe(false)
  })

  test('is full when so many wait for one that is not done', () => {
    const partition = aPartition()
    partition.add(messages(KAFKA_UNCOMMITTED_RECORDS_MAX), KAFKA_UNCOMMITTED_RECORDS_MAX)
    const stuck = partition.shift()
    for (let record = partition.shift(); record !== undefined; record = partition.shift()) partition.done(record)
    expect(partition.isFull()).toBe(true)
    if (stuck !== undefined) partition.done(stuck)
    expect(partition.isFull()).toBe(false)
    expect(partition.position()?.offset).toBe(KAFKA_UNCOMMITTED_RECORDS_MAX)
  })

  test('has the lag of what is not done, those not fetched included', () => {
    const partition = aPartition()
    expect(partition.lag()).toBe(0)
    partition.add(messages(3, { from: 5 }), 20)
    const [first, second] = [partition.shift(), partition.shift()]
    if (second !== undefined) partition.done(second)
    expect(partition.lag()).toBe(15)
    if (first !== undefined) partition.done(first)
    expect(partition.lag()).toBe(13)
  })

  test('has nothing to commit that is committed', () => {
    const partition = aPartition()
    partition.add(messages(1), 1)
    expect(partition.position()?.offset).toBe(0)
    partition.committed = 0
    expect(partition.position()).toBeUndefined()
  })

  test.for([
    { name: 'has another record before its start', timestamp: '1', from: 4, end: 9, missing: 4 },
    { name: 'ends before its start', timestamp: '0', from: 5, end: 4, missing: 4 },
    { name: 'is the one that was read', timestamp: '0', from: 4, end: 9, missing: undefined },
    { name: 'has lost the record before its start to retention', timestamp: '1', from: 5, end: 9, missing: undefined },
  ])('of which the log $name', ({ timestamp, from, end, missing }) => {
    const partition = aPartition()
    partition.startAt({ offset: 5, fingerprint: knownRecordOf(messages(1)[0] as KafkaMessage).fingerprint }, 5)
    expect(partition.missing(messages(3, { from, timestamp }), end)?.offset).toBe(missing)
  })

  test('gives only what comes after its start, and has to find what it knows', () => {
    const watermark = openWatermark()
    openPartition('topic', 0, watermark).add(messages(9), 9)
    const partition = openPartition('topic', 0, watermark)
    partition.startAt({ offset: 5, fingerprint: undefined }, 4)
    partition.add(messages(2, { from: 4 }), 9)
    expect([partition.shift(), partition.isKnown()]).toStrictEqual([undefined, false])
    expect(partition.missing(messages(3, { from: 6, timestamp: '1' }), 9)?.offset).toBe(8)
    partition.add(messages(4, { from: 6 }), 10)
    expect([partition.shift()?.offset, partition.isKnown()]).toStrictEqual([9, true])
  })

  test('that is lost has nothing buffered and nothing to commit, and knows which records are in process', () => {
    const partition = aPartition()
    partition.add(messages(3), 3)
    partition.shift()
    partition.revoke()
    expect([partition.shift(), partition.position()]).toStrictEqual([undefined, undefined])
    expect(partition.add(messages(3), 3)).toBe(2)
    expect(partition.shift()?.offset).toBe(1)
  })
})

function aPartition() {
  return openPartition('topic', 0, openWatermark())
}

function messages(
  count: number,
  { from = 0, bytes = 1, timestamp = '0' }: { from?: number; bytes?: number; timestamp?: string } = {},
) {
  return Array.from({ length: count }, (_, i) => ({
    key: null,
    value: Buffer.alloc(bytes),
    timestamp,
    attributes: 0,
    headers: {},
    offset: String(from + i),
  }))
}

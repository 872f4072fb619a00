import { KAFKA_AT_HAND_BYTES_MAX, KAFKA_OPEN_RECORDS_MAX } from '@platen/contract/kafka-limit.ts'
import { describe, expect, test } from 'vitest'
import { partitionOf } from './partition.ts'
import { watermark } from './watermark.ts'

describe('a partition', () => {
  test('gives what was fetched in order, also what comes again and lies before', () => {
    const line = aPartition()
    line.add(messages(3, { from: 5 }), 8)
    const first = line.take()
    line.add(messages(2, { from: 8 }), 10)
    if (first !== undefined) line.giveBack(first)
    expect([line.take(), line.take(), line.take()].map((record) => record?.offset)).toStrictEqual([5, 6, 7])
  })

  test('counts only what was not here before', () => {
    const line = aPartition()
    expect([line.add(messages(3), 3), line.add(messages(5), 5)]).toStrictEqual([3, 2])
  })

  test('is full when it has so many bytes at hand, until enough are taken', () => {
    const line = aPartition()
    const bytes = KAFKA_AT_HAND_BYTES_MAX / 4
    line.add(messages(3, { bytes }), 9)
    expect(line.isFull()).toBe(false)
    line.add(messages(1, { from: 3, bytes }), 9)
    expect(line.isFull()).toBe(true)
    const taken = line.take()
    expect(line.isFull()).toBe(false)
    if (taken !== undefined) line.giveBack(taken)
    expect(line.isFull()).toBe(true)
    if (taken !== undefined) line.done(taken)
    expect(line.isFull()).toBe(false)
  })

  test('is full when so many wait for one that is not done', () => {
    const line = aPartition()
    line.add(messages(KAFKA_OPEN_RECORDS_MAX), KAFKA_OPEN_RECORDS_MAX)
    const stuck = line.take()
    for (let record = line.take(); record !== undefined; record = line.take()) line.done(record)
    expect(line.isFull()).toBe(true)
    if (stuck !== undefined) line.done(stuck)
    expect(line.isFull()).toBe(false)
    expect(line.position()).toBe(KAFKA_OPEN_RECORDS_MAX)
  })

  test('has the lag of what is not done, those not fetched included', () => {
    const line = aPartition()
    expect(line.lag()).toBe(0)
    line.add(messages(3, { from: 5 }), 20)
    const [first, second] = [line.take(), line.take()]
    if (second !== undefined) line.done(second)
    expect(line.lag()).toBe(15)
    if (first !== undefined) line.done(first)
    expect(line.lag()).toBe(13)
  })

  test('has nothing to commit that is committed', () => {
    const line = aPartition()
    line.add(messages(1), 1)
    expect(line.position()).toBe(0)
    line.committed = 0
    expect(line.position()).toBeUndefined()
  })

  test('that is lost has nothing at hand and nothing to commit, and knows what is in hand', () => {
    const line = aPartition()
    line.add(messages(3), 3)
    line.take()
    line.lose()
    expect([line.take(), line.position()]).toStrictEqual([undefined, undefined])
    expect(line.add(messages(3), 3)).toBe(2)
    expect(line.take()?.offset).toBe(1)
  })
})

function aPartition() {
  return partitionOf('topic', 0, watermark())
}

function messages(count: number, { from = 0, bytes = 1 }: { from?: number; bytes?: number } = {}) {
  return Array.from({ length: count }, (_, i) => ({
    key: null,
    value: Buffer.alloc(bytes),
    timestamp: '0',
    attributes: 0,
    headers: {},
    offset: String(from + i),
  }))
}

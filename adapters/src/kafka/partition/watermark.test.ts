import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openWatermark } from './watermark.ts'

describe('a watermark', () => {
  test('has no position before anything was fetched', () => {
    expect(openWatermark().position()).toBeUndefined()
  })

  test.for([
    { name: 'stands at the first while it is not done', fetched: [5, 6, 7], done: [6, 7], position: 5 },
    { name: 'stands after what is done from the first on', fetched: [5, 6, 7], done: [6, 5], position: 7 },
    { name: 'stands after the last when all is done', fetched: [5, 6, 7], done: [7, 5, 6], position: 8 },
    { name: 'takes offsets that are missing for none', fetched: [5, 9, 12], done: [5, 9], position: 12 },
    { name: 'takes a record that is done twice', fetched: [5, 6], done: [5, 5], position: 6 },
  ])('$name', ({ fetched, done, position }) => {
    const mark = openWatermark()
    for (const offset of fetched) expect(mark.begin(at(offset))).toBe(true)
    for (const offset of done) mark.done(offset)
    expect(mark.position()?.offset).toBe(position)
    expect(mark.pendingCount()).toBe(fetched.filter((offset) => offset >= position).length)
  })

  test('hands out nothing again that is in hand or done, when it is fetched again', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7]) mark.begin(at(offset))
    mark.done(5)
    mark.done(7)
    expect([5, 6, 7, 8].map((offset) => mark.begin(at(offset)))).toStrictEqual([false, false, false, true])
    mark.done(6)
    expect(mark.position()?.offset).toBe(8)
  })

  test('hands out again what was released, after the partition has come back', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7]) mark.begin(at(offset))
    mark.release(5)
    mark.reset()
    mark.done(6)
    expect(mark.position()).toBeUndefined()
    expect([5, 6, 7].map((offset) => mark.begin(at(offset)))).toStrictEqual([true, false, false])
    expect(mark.position()?.offset).toBe(5)
  })

  test('does not pass what it has not been given again, whatever is known to be done behind it', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7, 8]) mark.begin(at(offset))
    mark.release(7)
    mark.reset()
    for (const offset of [6, 8]) mark.done(offset)
    for (const offset of [5, 6]) mark.begin(at(offset))
    mark.done(5)
    expect(mark.position()?.offset).toBe(7)
  })

  test('follows what others have done while the partition was theirs', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7]) mark.begin(at(offset))
    for (const offset of [6, 7]) mark.release(offset)
    mark.reset()
    expect([8, 9].map((offset) => mark.begin(at(offset)))).toStrictEqual([true, true])
    expect(mark.position()?.offset).toBe(8)
    for (const offset of [8, 5]) mark.done(offset)
    expect(mark.position()?.offset).toBe(9)
  })

  test('has beside its position the fingerprint of the record before, if that was fetched', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 9]) mark.begin(at(offset))
    expect(mark.position()).toStrictEqual({ offset: 5, fingerprint: undefined })
    mark.done(5)
    expect(mark.position()).toStrictEqual({ offset: 6, fingerprint: 'of 5' })
    mark.done(6)
    expect(mark.position()).toStrictEqual({ offset: 9, fingerprint: undefined })
    mark.done(9)
    expect(mark.position()).toStrictEqual({ offset: 10, fingerprint: 'of 9' })
  })

  test('hands out nothing before the offset from which it starts, and knows the record there', () => {
    const mark = openWatermark()
    mark.pass(6)
    expect(mark.position()).toStrictEqual({ offset: 6, fingerprint: undefined })
    expect([5, 6].map((offset) => mark.begin(at(offset)))).toStrictEqual([false, true])
    expect(mark.position()).toStrictEqual({ offset: 6, fingerprint: 'of 5' })
    expect(mark.last()).toStrictEqual(at(6))
  })

  test('believes a record that is done before it is fetched', () => {
    const mark = openWatermark()
    mark.done(5)
    expect([5, 6].map((offset) => mark.begin(at(offset)))).toStrictEqual([false, true])
    expect(mark.position()?.offset).toBe(6)
  })

  test('loses nothing and gives nothing out twice, whatever happens to its partition', () => {
    const steps = fc.array(
      fc.oneof(
        {
          weight: 4,
          arbitrary: fc.record({ do: fc.constant('fetch' as const), count: fc.integer({ min: 1, max: 5 }) }),
        },
        { weight: 6, arbitrary: fc.record({ do: fc.constant('done' as const), which: fc.nat() }) },
        { weight: 2, arbitrary: fc.record({ do: fc.constant('commit' as const) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('rebalance' as const), isLost: fc.boolean() }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), which: fc.nat() }) },
      ),
      { maxLength: 80 },
    )
    fc.assert(
      fc.property(steps, (list) => {
        const mark = openWatermark()
        const hand = new Set<number>()
        const done = new Set<number>()
        let [committed, fetched] = [0, 0]
        for (const step of list) {
          if (step.do === 'fetch') {
            for (let i = 0; i < step.count; i++, fetched++) {
              if (!mark.begin(at(fetched))) continue
              expect(hand.has(fetched) || done.has(fetched)).toBe(false)
              hand.add(fetched)
            }
          } else if (step.do === 'done') {
            const offset = [...hand][step.which % Math.max(hand.size, 1)]
            if (offset === undefined) continue
            hand.delete(offset)
            done.add(offset)
            mark.done(offset)
          } else if (step.do === 'commit') {
            committed = mark.position()?.offset ?? committed
          } else if (step.do === 'rebalance') {
            if (step.isLost) mark.reset()
            fetched = committed
          } else {
            // Released because the partition is revoked.
            const offset = [...hand][step.which % Math.max(hand.size, 1)]
            mark.reset()
            fetched = committed
            if (offset === undefined) continue
            hand.delete(offset)
            mark.release(offset)
          }
          const position = mark.position()?.offset ?? committed
          for (let offset = 0; offset < position; offset++) expect(done.has(offset)).toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

function at(offset: number) {
  return { offset, fingerprint: `of ${offset}` }
}

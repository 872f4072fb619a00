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
    for (const offset of fetched) expect(mark.begin(offset)).toBe(true)
    for (const offset of done) mark.done(offset)
    expect(mark.position()).toBe(position)
    expect(mark.pendingCount()).toBe(fetched.filter((offset) => offset >= position).length)
  })

  test('hands out nothing again that is in hand or done, when it is fetched again', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7]) mark.begin(offset)
    mark.done(5)
    mark.done(7)
    expect([5, 6, 7, 8].map((offset) => mark.begin(offset))).toStrictEqual([false, false, false, true])
    mark.done(6)
    expect(mark.position()).toBe(8)
  })

  test('hands out again what was released, after the partition has come back', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7]) mark.begin(offset)
    mark.release(5)
    mark.reset()
    mark.done(6)
    expect(mark.position()).toBeUndefined()
    expect([5, 6, 7].map((offset) => mark.begin(offset))).toStrictEqual([true, false, false])
    expect(mark.position()).toBe(5)
  })

  test('does not pass what it has not been given again, whatever is known to be done behind it', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7, 8]) mark.begin(offset)
    mark.release(7)
    mark.reset()
    for (const offset of [6, 8]) mark.done(offset)
    for (const offset of [5, 6]) mark.begin(offset)
    mark.done(5)
    expect(mark.position()).toBe(7)
  })

  test('follows what others have done while the partition was theirs', () => {
    const mark = openWatermark()
    for (const offset of [5, 6, 7]) mark.begin(offset)
    for (const offset of [6, 7]) mark.release(offset)
    mark.reset()
    expect([8, 9].map((offset) => mark.begin(offset))).toStrictEqual([true, true])
    expect(mark.position()).toBe(8)
    for (const offset of [8, 5]) mark.done(offset)
    expect(mark.position()).toBe(9)
  })

  test('knows nothing of a topic that was made anew under the old name', () => {
    const mark = openWatermark()
    for (const offset of [0, 1, 2]) mark.begin(offset)
    for (const offset of [0, 1]) mark.done(offset)
    mark.truncateTo(3)
    expect([mark.begin(0), mark.begin(2), mark.position()]).toStrictEqual([false, false, 2])
    mark.truncateTo(1)
    expect([mark.begin(0), mark.position()]).toStrictEqual([true, 0])
  })

  test('believes a record that is done before it is fetched', () => {
    const mark = openWatermark()
    mark.done(5)
    expect([5, 6].map((offset) => mark.begin(offset))).toStrictEqual([false, true])
    expect(mark.position()).toBe(6)
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
              if (!mark.begin(fetched)) continue
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
            committed = mark.position() ?? committed
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
          const position = mark.position() ?? committed
          for (let offset = 0; offset < position; offset++) expect(done.has(offset)).toBe(true)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

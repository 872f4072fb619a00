import { LANES, type Lane } from '@platen/contract/domain/render.ts'
import { describe, expect, test } from 'vitest'
import { laneOrder, type SlotLoad, saturationOf, startableLanes, syncSlotsOf, turnAfter } from './slots.ts'

/** Serves lanes of the given lengths until they are empty and returns the order. */
function serve(waiting: Record<Lane, number>): string {
  let served = ''
  let turn = 0
  for (;;) {
    const lane = laneOrder(turn).find((candidate) => waiting[candidate] > 0)
    if (lane === undefined) return served
    waiting[lane]--
    turn = turnAfter(turn, lane)
    served += lane.charAt(0)
  }
}

describe('a slot', () => {
  test.for<[string, Record<Lane, number>, string]>([
    ['serves sync before all others', { sync: 3, async: 2, bulk: 2 }, 'sssaabb'],
    ['serves four async renders for each bulk render', { sync: 0, async: 9, bulk: 3 }, 'aaaabaaaabab'],
    ['is never idle while bulk alone waits', { sync: 0, async: 0, bulk: 4 }, 'bbbb'],
    ['is never idle while async alone waits', { sync: 0, async: 6, bulk: 0 }, 'aaaaaa'],
    ['is never idle while sync alone waits', { sync: 5, async: 0, bulk: 0 }, 'sssss'],
  ])('%s', ([, waiting, order]) => {
    expect(serve(waiting)).toBe(order)
  })

  test('owes a bulk render its turn after a long run of async ones', () => {
    const turn = Array.from({ length: 100 }).reduce<number>((now) => turnAfter(now, 'async'), 0)
    expect(laneOrder(turn)[1]).toBe('bulk')
  })
})

const IDLE: SlotLoad = { sync: 0, recentSync: 0, others: 0, recentOthers: 0 }
/** An async render has just ended beside a sync one. */
const PAUSED: SlotLoad = { sync: 1, recentSync: 1, others: 0, recentOthers: 1 }

test.for<[string, SlotLoad, number, boolean]>([
  ['in a free slot', { ...IDLE, others: 1 }, 2, true],
  ['not where all are at work', { ...IDLE, others: 2 }, 2, false],
  ['not in the last slot beside a sync render', { ...IDLE, sync: 1, recentSync: 1, others: 1 }, 2, false],
  ['in the one slot there is, be it beside a sync render', { ...IDLE, sync: 1, recentSync: 1 }, 1, true],
  ['not in the last slot a moment after a sync render', { ...IDLE, recentSync: 1, others: 1 }, 2, false],
  ['not a moment after another one, where one may run beside a sync render', PAUSED, 2, false],
  ['a moment after another one, where more may run', PAUSED, 3, true],
  [
    'a moment after another one, where no sync render is recent any more',
    { ...PAUSED, sync: 0, recentSync: 0 },
    2,
    true,
  ],
  ['beside many sync renders as beside one', { ...IDLE, sync: 3, recentSync: 3, others: 2 }, 4, true],
])('an async render begins %s', ([, load, slots, may]) => {
  expect(startableLanes(LANES, { served: LANES, load, slots, isSyncSlotIdle: false })).toEqual(may ? LANES : ['sync'])
})

test('a sync render is left to a slot for sync renders that is idle', () => {
  const capacity = { served: LANES, load: IDLE, slots: 1, isSyncSlotIdle: true }
  expect(startableLanes(LANES, capacity)).toEqual(['async', 'bulk'])
})

test('no render begins from a lane that is not served here', () => {
  const capacity = { served: ['sync', 'bulk'], load: IDLE, slots: 1, isSyncSlotIdle: false } as const
  expect(startableLanes(['bulk', 'sync', 'async'], capacity)).toEqual(['bulk', 'sync'])
})

test.for<[number, readonly Lane[], number]>([
  [3, LANES, 1],
  [3, ['sync', 'bulk'], 1],
  [1, LANES, 0],
  [3, ['sync'], 0],
  [3, ['async', 'bulk'], 0],
])('of %i slots for the lanes %o, %i are kept for sync', ([slots, served, kept]) => {
  expect(syncSlotsOf(slots, served)).toBe(kept)
})

describe('the saturation of slots', () => {
  test.for<[string, SlotLoad, Readonly<Record<Lane, number>>]>([
    ['is 0 when nothing runs', IDLE, { sync: 0, async: 0, bulk: 0 }],
    ['is 1 for async when async alone has all it may have', { ...IDLE, others: 4 }, { sync: 0.8, async: 1, bulk: 1 }],
    [
      'is 1 for async beside a sync render, where one fewer may run',
      { ...IDLE, sync: 1, recentSync: 1, others: 3 },
      { sync: 0.8, async: 1, bulk: 1 },
    ],
    [
      'is 1 for all when sync renders have all slots',
      { ...IDLE, sync: 5, recentSync: 5 },
      { sync: 1, async: 1, bulk: 1 },
    ],
  ])('%s', ([, load, ratios]) => {
    expect(
      Object.fromEntries(LANES.map((lane) => [lane, saturationOf(lane, { load, slots: 5, syncSlots: 1 })])),
    ).toEqual(ratios)
  })

  test('is 1 exactly when no render of the lane may begin', () => {
    for (const syncSlots of [0, 1]) {
      for (let slots = 1 + syncSlots; slots <= 6; slots++) {
        for (let sync = 0; sync <= slots; sync++) {
          for (let others = 0; others <= slots - syncSlots && sync + others < slots; others++) {
            for (const recentSync of [sync, sync + 1]) {
              const load = { sync, recentSync, others, recentOthers: 0 }
              // Of either kind of slot: which of them takes a sync render makes no difference here.
              const capacity = { served: LANES, load, slots: slots - syncSlots, isSyncSlotIdle: false }
              const startable = startableLanes(LANES, capacity)
              const full = LANES.filter((lane) => saturationOf(lane, { load, slots, syncSlots }) === 1)
              expect(full).toEqual(LANES.filter((lane) => !startable.includes(lane)))
            }
          }
        }
      }
    }
  })
})

import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { expect, onTestFinished, test } from 'vitest'
import { SILENT } from '../../../../test/fixture/build.ts'
import { manualClock } from '../../../../test/fixture/memory/clock.ts'
import { type DelayPorts, DelayTopicConsumer, delayTopicFor, sendReminders } from './delay-topics.ts'

test.for([
  [-1, undefined],
  [0, undefined],
  [1, 1000],
  [999, 1000],
  [1000, 1000],
  [4749, 1000],
  [4750, 5000],
  [5000, 5000],
  [29_749, 5000],
  [1_800_000, 1_800_000],
  [2_000_000, 1_800_000],
])('a wait of %d ms begins in the rung of %s ms', ([waitMs, rungMs]) => {
  expect(delayTopicFor(Number(waitMs))?.waitMs).toBe(rungMs)
})

const SECOND_MS = 1000
const HOUR_MS = 3600 * SECOND_MS

/** Topics in memory, whose delay topics are consumed until the test ends. The clock can be set, and advances with each reading. */
function aTimer({ msPerLook = 0 } = {}) {
  const clock = manualClock()
  let [setBy, lookedMs] = [0, 0]
  const topics = new Map<string, { value: string; isTaken: boolean }[]>()
  const inTopic = (topic: string) => topics.get(topic) ?? []
  const poll = (topic: string) => {
    const [offset, entry] = [...inTopic(topic).entries()].find(([, each]) => !each.isTaken) ?? []
    if (offset === undefined || entry === undefined) return undefined
    entry.isTaken = true
    const own = {
      topic,
      partition: 0,
      offset,
      key: null,
      headers: {},
      fingerprint: '',
      value: Buffer.from(entry.value),
    }
    return { ...own, done: () => undefined, requeue: () => undefined }
  }
  const send: DelayPorts['connection']['send'] = async (topic, records) => {
    topics.set(topic, [...inTopic(topic), ...records.map(({ value }) => ({ value: String(value), isTaken: false }))])
    rungs.onRecords()
  }
  const recordedClock = {
    ...clock,
    now: () => Math.floor(clock.now()) + setBy,
    monotonic: () => {
      lookedMs += msPerLook
      return clock.monotonic() + lookedMs
    },
  }
  // The delay topics need no more of a connection than this.
  const timer = { connection: { send, log: SILENT }, clock: recordedClock, prefix: '' } as unknown as DelayPorts
  const rungs = new DelayTopicConsumer(timer, poll)
  const over = new AbortController()
  onTestFinished(() => over.abort(new Error('the test has ended')))
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    run: () => void rungs.run(over.signal).catch(() => undefined),
    remindIn: (waitMs: number) =>
      sendReminders(timer, [{ id: 'a', render: 'b' as RenderId, waitMs, step: 0 }], over.signal),
    setClock: (ms: number) => {
      setBy += ms
    },
    /** The number of due deliveries after that time. */
    async dueAfter(ms: number) {
      await settled()
      await clock.advance(ms)
      await settled()
      return inTopic('webhook.due').length
    },
    deadLetters: () => inTopic('webhook.dead').length,
  }
}

test.for([
  ['on one rung', 1000],
  ['on one rung and a little', 1080],
  ['on several rungs', 2 * HOUR_MS],
] as const)('what waits %s is due when its time has come, and not before', async ([, waitMs]) => {
  const timer = aTimer()
  timer.run()
  await timer.remindIn(waitMs)
  expect(await timer.dueAfter(waitMs - 1)).toBe(0)
  expect(await timer.dueAfter(1)).toBe(1)
})

test('what goes from rung to rung by a clock of parts of a millisecond can be read there', async () => {
  const timer = aTimer({ msPerLook: 0.001 })
  timer.run()
  await timer.remindIn(32_500)
  expect([await timer.dueAfter(33_000), timer.deadLetters()]).toEqual([1, 0])
})

test('what is read when it is overdue waits no more, whatever was left to wait then', async () => {
  const timer = aTimer()
  await timer.remindIn(2 * HOUR_MS)
  await timer.dueAfter(3 * HOUR_MS)
  timer.run()
  expect(await timer.dueAfter(0)).toBe(1)
})

test.for([HOUR_MS, -HOUR_MS])(
  'a clock that is set by %d ms in the middle of a wait changes nothing of it',
  async (ms) => {
    const timer = aTimer()
    timer.run()
    await timer.remindIn(1080)
    expect(await timer.dueAfter(500)).toBe(0)
    timer.setClock(ms)
    expect(await timer.dueAfter(579)).toBe(0)
    expect(await timer.dueAfter(1)).toBe(1)
  },
)

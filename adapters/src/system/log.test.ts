/** The lines of a log whose reader stops reading. With a process and a pipe: test/conformance/log.reader.test.ts. */
import { Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLog } from './log.ts'
import { LOG_WAITING_BYTES_MAX } from './log-output.ts'

/** A reader that takes a line on command. */
function slowReader() {
  const read: string[] = []
  let take = () => {}
  const stream = new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      take = () => {
        read.push(line)
        done()
      }
    },
  })
  return {
    stream,
    text: () => read.join(''),
    lines: () => read.map((line): { msg: string; level: string; n?: number; lines?: number } => JSON.parse(line)),
    readOne: () => take(),
    readAll: async () => {
      for (; stream.writableLength > 0; await turn()) take()
    },
  }
}

/** Lines of 64 KiB: a few of them fill the buffer. */
const PAD = 'x'.repeat(64 * 1024)
const FULL = Math.ceil(LOG_WAITING_BYTES_MAX / PAD.length)

test('lines wait for their reader up to a bound, those beyond are dropped, and one line in their place says how many', async () => {
  const { stream, lines, readAll } = slowReader()
  const log = openLog({ level: 'info', process: 'test', instance: 'test', stream })
  for (let n = 0; n < FULL + 10; n++) log.info({ n, pad: PAD }, 'said')
  const dropped = log.droppedLines()
  expect(dropped).toBeGreaterThanOrEqual(9)
  expect(stream.writableLength).toBeLessThan(LOG_WAITING_BYTES_MAX + 2 * PAD.length)
  await readAll()
  log.info({ n: -1 }, 'said')
  await readAll()
  const kept = FULL + 10 - dropped
  expect(lines().map(({ n, lines }) => n ?? { lines })).toEqual([...Array(kept).keys(), { lines: dropped }, -1])
  expect(log.droppedLines()).toBe(dropped)
})

test('a gap is one, also where its reader takes a line now and then', async () => {
  const { stream, lines, readAll, readOne } = slowReader()
  const log = openLog({ level: 'info', process: 'test', instance: 'test', stream })
  for (let n = 0; n < FULL + 5; n++) log.info({ n, pad: PAD }, 'said')
  for (let n = 0; n < 3; n++) {
    readOne()
    await turn()
    log.info({}, 'said in the gap')
  }
  const dropped = log.droppedLines()
  await readAll()
  expect(lines().filter(({ msg }) => msg === 'said in the gap')).toEqual([])
  expect(lines().filter(({ msg }) => msg === 'log lines dropped')).toMatchObject([{ lines: dropped, level: 'error' }])
})

test('each time a reader is away has a gap of its own, whatever the level of the log', async () => {
  const { stream, lines, readAll } = slowReader()
  const log = openLog({ level: 'error', process: 'test', instance: 'test', stream })
  for (let times = 0; times < 2; times++) {
    for (let n = 0; n < FULL + 5; n++) log.error({ n, pad: PAD }, 'said')
    await readAll()
  }
  const gaps = lines().filter(({ msg }) => msg === 'log lines dropped')
  expect(gaps).toHaveLength(2)
  expect(gaps.reduce((sum, gap) => sum + (gap.lines ?? 0), 0)).toBe(log.droppedLines())
})

test('a person at a terminal gets text, and no value moves the cursor', async () => {
  const { stream, text, readAll } = slowReader()
  const terminal = Object.assign(stream, { isTTY: true })
  const log = openLog({ level: 'info', process: 'embedded', instance: 'test', stream: terminal })
  log.error({ err: new Error('no "x"', { cause: new Error('a\ncause') }), port: 1 }, 'process failed')
  log.warn({ path: 'a\u001b[31m\u009b', list: ['b'] }, 'field has no effect')
  await readAll()
  const [first, second, ...more] = text()
    .replaceAll(/^\d\d:\d\d:\d\d /gm, '')
    .split('\n')
  expect(first).toBe('error process failed: no "x": a\\ncause port=1')
  expect(second).toBe('warn field has no effect path=a\\u001b[31m list=["b"]')
  expect(more).toEqual([''])
})

test('a line that is longer than what may wait is written', async () => {
  const { stream, lines, readAll } = slowReader()
  const log = openLog({ level: 'info', process: 'test', instance: 'test', stream })
  log.info({ pad: 'x'.repeat(2 * LOG_WAITING_BYTES_MAX) }, 'long')
  await readAll()
  log.info({}, 'short')
  await readAll()
  expect(lines().map(({ msg }) => msg)).toEqual(['long', 'short'])
  expect(log.droppedLines()).toBe(0)
})

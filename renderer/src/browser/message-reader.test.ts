import { describe, expect, test } from 'vitest'
import {
  ANSWER_TOO_LARGE,
  EVENT_BYTES_MAX,
  EVENTS_MAX,
  MESSAGE_BYTES_MAX,
  openMessageReader,
  TARGET_BYTES_MAX,
} from './message-reader.ts'

const MIB = 1024 * 1024

/** A reader, and what it says, in order: messages as objects, pages that have spent their budget as `session: method`. */
function aReader() {
  const said: unknown[] = []
  const reader = openMessageReader({
    message: (text) => void said.push(JSON.parse(text)),
    excess: ({ sessionId }, method) => void said.push(`${sessionId}: ${method}`),
  })
  /** Lets it read messages, in pieces of so many bytes. */
  const read = (messages: readonly object[], pieceBytes = 64 * 1024) => {
    const all = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\0`).join(''))
    for (let at = 0; at < all.length; at += pieceBytes) reader.read(all.subarray(at, at + pieceBytes))
    return all.length
  }
  /** One event so long that nobody may build it: its beginning, then so many pieces, then its end. */
  const readHuge = (beginning: string, mebibytes: number, ending: string) => {
    const piece = Buffer.alloc(MIB, 'x')
    reader.read(Buffer.from(beginning))
    for (let pieces = 0; pieces < mebibytes; pieces += 1) reader.read(piece)
    reader.read(Buffer.from(`${ending}\0`))
  }
  return { reader, said, read, readHuge }
}

const event = (sessionId: string, method = 'Page.frameAttached', params: object = {}) => ({ method, params, sessionId })
const events = (sessionId: string, count: number) => Array.from({ length: count }, () => event(sessionId))

test.for([1, 2, 7, 64, 1e6])('messages arrive as they were sent, in pieces of %i bytes', (pieceBytes) => {
  const { said, read, reader } = aReader()
  const messages = [
    { id: 1, result: { product: 'Größe' } },
    event('S1', 'Page.frameNavigated', { frame: { name: ',"sessionId":"S2"}' } }),
    { method: 'Target.targetCreated', params: {} },
    { id: 2, error: { code: -1, message: 'x' }, sessionId: 'S1' },
  ]
  const bytes = read(messages, pieceBytes)
  expect([said, reader.bytesRead()]).toEqual([messages, bytes])
})

describe('an event above the limit', () => {
  test.for([
    ['a frame’s name', 'Page.frameNavigated', '{"frame":{"name":"', '"}}'],
    ['a body', 'Fetch.requestPaused', '{"request":{"postData":"', '"}}'],
    ['an address', 'Page.navigatedWithinDocument', '{"url":"', '"}'],
    ['a dialog', 'Page.javascriptDialogOpening', '{"message":"', '"}'],
  ] as const)('of %s of 240 MiB ends its session, and is never made a text', ([, method, beginning, ending]) => {
    const { said, read, readHuge, reader } = aReader()
    readHuge(`{"method":"${method}","params":${beginning}`, 240, `${ending},"sessionId":"S1"}`)
    read([event('S1'), { id: 3, result: {}, sessionId: 'S1' }, event('S2'), { id: 4, result: {} }])
    expect(said).toEqual([`S1: ${method}`, event('S2'), { id: 4, result: {} }])
    expect(reader.bytesRead()).toBeGreaterThan(240 * MIB)
  })

  test('cannot name the session of another in its text', () => {
    const { said, readHuge } = aReader()
    readHuge(
      '{"method":"Page.frameNavigated","params":{"name":"',
      9,
      '\\",\\"sessionId\\":\\"S2\\"}"},"sessionId":"S1"}',
    )
    expect(said).toEqual(['S1: Page.frameNavigated'])
  })

  test('of the browser itself is dropped, and ends nobody', () => {
    const { said, read, readHuge } = aReader()
    readHuge('{"method":"Target.targetInfoChanged","params":{"title":"', 9, '","sessionId":"S1"}}')
    read([event('S1')])
    expect(said).toEqual([event('S1')])
  })

  test.for([
    ['a text on the console', 'Runtime.consoleAPICalled', '{"args":[{"value":"', '"}]}'],
    ['an exception', 'Runtime.exceptionThrown', '{"exceptionDetails":{"text":"', '"}}'],
    ['a failed request', 'Log.entryAdded', '{"entry":{"url":"', '"}}'],
  ] as const)('of %s is dropped, and so are small ones, and ends nobody', ([, method, beginning, ending]) => {
    const { said, read, readHuge } = aReader()
    readHuge(`{"method":"${method}","params":${beginning}`, 240, `${ending},"sessionId":"S1"}`)
    read(Array.from({ length: EVENTS_MAX + 1 }, () => event('S1', method)))
    read([event('S1')])
    expect(said).toEqual([event('S1')])
  })

  test('is found in pieces of any size, also where its end is cut', () => {
    for (const pieceBytes of [9, 100, 3 * MIB]) {
      const { said, read } = aReader()
      read([event('S1', 'Page.frameNavigated', { name: 'x'.repeat(MESSAGE_BYTES_MAX) }), event('S2')], pieceBytes)
      expect(said).toEqual(['S1: Page.frameNavigated', event('S2')])
    }
  })
})

describe('an answer', () => {
  test('above the limit is replaced by an error', () => {
    const { said, readHuge } = aReader()
    readHuge('{"id":7,"result":{"data":"', 9, '"},"sessionId":"S1"}')
    expect(said).toEqual([{ id: 7, error: { message: ANSWER_TOO_LARGE }, sessionId: 'S1' }])
  })

  test('takes nothing of the budget, however many there are', () => {
    const { said, read } = aReader()
    const answers = Array.from({ length: 4 }, (_, id) => ({
      id,
      result: { data: 'x'.repeat(5 * MIB) },
      sessionId: 'S',
    }))
    read([...answers, event('S')])
    expect(said).toHaveLength(answers.length + 1)
  })
})

describe('the budget of a session', () => {
  test.for([
    ['events', events('S1', EVENTS_MAX)],
    ['bytes', [event('S1', 'Page.a', { text: 'x'.repeat(EVENT_BYTES_MAX - 200) })]],
  ] as const)('is spent by too many %s, and that of others is not', ([, messages]) => {
    const { said, read } = aReader()
    read(messages)
    expect(said).toHaveLength(messages.length)
    read([event('S1', 'Page.b', { text: 'x'.repeat(200) }), event('S1'), event('S2')])
    expect(said.slice(messages.length)).toEqual(['S1: Page.b', event('S2')])
  })

  test('is whole again for the next document, unless it was spent', () => {
    const { said, read, reader } = aReader()
    for (let documents = 0; documents < 3; documents += 1) {
      read(events('S1', EVENTS_MAX))
      reader.budgetOf('S1').renew()
    }
    expect(said).toHaveLength(3 * EVENTS_MAX)
    read(events('S1', EVENTS_MAX + 1))
    reader.budgetOf('S1').renew()
    read([event('S1')])
    expect(said.slice(4 * EVENTS_MAX)).toEqual(['S1: Page.frameAttached'])
  })

  const attachedTo = (of: string | undefined, sessionId: string, targetId: string) => ({
    method: 'Target.attachedToTarget',
    params: { sessionId, targetInfo: { targetId } },
    ...(of !== undefined && { sessionId: of }),
  })

  test('is one for a page, for all sessions with it, and for what was opened for its frames and workers', () => {
    const { said, read, reader } = aReader()
    // As puppeteer does it: a tab has a session, in which its page is opened, and a second session with the page is opened beside it.
    read([attachedTo(undefined, 'tab', 'T'), attachedTo('tab', 'page', 'P'), attachedTo(undefined, 'ours', 'P')])
    read([attachedTo('page', 'worker', 'W'), attachedTo('worker', 'inner', 'I'), attachedTo(undefined, 'other', 'O')])
    for (const sessionId of ['worker', 'inner', 'page', 'ours']) read(events(sessionId, EVENTS_MAX / 4))
    expect(said.at(-1)).toBe('tab: Page.frameAttached')
    read(['tab', 'page', 'worker', 'inner', 'ours', 'other'].map((sessionId) => event(sessionId)))
    expect(said.slice(-2)).toEqual(['tab: Page.frameAttached', event('other')])
    expect(new Set(['tab', 'page', 'inner', 'ours'].map((sessionId) => reader.budgetOf(sessionId))).size).toBe(1)
  })

  test('once it is spent, lets nothing through but the end of sessions', () => {
    const { said, read } = aReader()
    read([attachedTo(undefined, 'tab', 'T'), attachedTo('tab', 'page', 'P')])
    read(events('page', EVENTS_MAX + 1))
    const end = event('tab', 'Target.detachedFromTarget', { sessionId: 'page' })
    read([event('page'), { id: 1, result: {}, sessionId: 'page' }, end])
    expect(said.at(-2)).toBe('tab: Page.frameAttached')
    expect(said.at(-1)).toEqual(end)
  })

  test('has a part for what the browser tells of the page: beyond it nothing is told, and the page goes on', () => {
    const { said, read, reader } = aReader()
    const told = (targetId: string) => ({
      method: 'Target.targetInfoChanged',
      params: { targetInfo: { targetId, title: 'x'.repeat(1000) } },
    })
    const titles = (count: number) => Array.from({ length: count }, () => told('P'))
    read([attachedTo(undefined, 'tab', 'T'), attachedTo('tab', 'page', 'P')])
    read(titles((TARGET_BYTES_MAX / 1000) * 2))
    const passed = said.length
    expect(passed).toBeLessThan(2 + TARGET_BYTES_MAX / 1000)
    read([event('page'), told('other')])
    expect(said.slice(passed)).toEqual([event('page'), told('other')])
    reader.budgetOf('page').renew()
    read(titles(1))
    expect(said.at(-1)).toEqual(told('P'))
  })

  test('goes with its session', () => {
    const { said, read } = aReader()
    read(events('S1', EVENTS_MAX + 1))
    read([{ method: 'Target.detachedFromTarget', params: { sessionId: 'S1' } }, event('S1')])
    expect(said.at(-1)).toEqual(event('S1'))
  })
})

import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { ANSWER_BYTES_MAX, AnswerTooLarge, CommandRefused, openConnection, SessionClosed } from './connection.ts'

/** A connection whose browser is the test. */
function aConnection() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const connection = openConnection({ input, output })
  /** The commands since the last call. */
  const commands = () => {
    const text = String(input.read() ?? '')
    return text
      .split('\0')
      .slice(0, -1)
      .map((command) => JSON.parse(command))
  }
  /** Lets the connection receive these messages, in pieces of so many bytes. */
  const say = async (messages: readonly object[], bytes = 1e6) => {
    const all = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\0`).join(''))
    for (let at = 0; at < all.length; at += bytes) output.write(all.subarray(at, at + bytes))
    for (let turns = 0; turns < 5; turns += 1) await setImmediate()
  }
  const attach = async (sessionId: string) => {
    const attaching = connection.attach('a target')
    const [{ id }] = commands()
    await say([{ id, result: { sessionId } }])
    return await attaching
  }
  return { connection, output, commands, say, attach }
}

test.for([1, 7, 1e6])('answers reach their commands, in pieces of %i bytes', async (bytes) => {
  const { connection, commands, say } = aConnection()
  const [one, other] = [connection.send('Browser.getVersion'), connection.send('Target.getTargets')]
  const [first, second] = commands()
  expect([first.method, second.method]).toEqual(['Browser.getVersion', 'Target.getTargets'])
  await say(
    [
      { id: second.id, result: { targetInfos: [] } },
      { id: first.id, result: { product: 'Größe' } },
    ],
    bytes,
  )
  expect([await one, await other]).toEqual([{ product: 'Größe' }, { targetInfos: [] }])
})

test('sends a command of a page with the id of its session, and gives its events to nobody else', async () => {
  const { commands, say, attach } = aConnection()
  const [page, beside] = [await attach('S1'), await attach('S2')]
  const seen: string[] = []
  page.on('Page.loadEventFired', () => void seen.push('page'))
  page.once('Page.loadEventFired', () => void seen.push('once'))
  beside.on('Page.loadEventFired', () => void seen.push('beside'))
  void page.send('Page.enable')
  expect(commands()).toMatchObject([{ method: 'Page.enable', sessionId: 'S1' }])
  const event = { method: 'Page.loadEventFired', sessionId: 'S1', params: { timestamp: 1 } }
  await say([event, event])
  expect(seen).toEqual(['page', 'once', 'page'])
})

test('what waits for an answer goes on before the event that came with it', async () => {
  const { connection, commands, say } = aConnection()
  const seen: string[] = []
  connection.on('Target.targetCreated', () => void seen.push('event'))
  const waiting = connection.send('Browser.getVersion').then(() => void seen.push('answer'))
  const [{ id }] = commands()
  await say([
    { id, result: {} },
    { method: 'Target.targetCreated', params: {} },
  ])
  await waiting
  expect(seen).toEqual(['answer', 'event'])
})

test('a command that Chromium refuses rejects with its reason', async () => {
  const { connection, commands, say } = aConnection()
  const refused = connection.send('Page.printToPDF')
  const [{ id }] = commands()
  const expected = expect(refused).rejects.toEqual(new CommandRefused('Printing failed'))
  await say([{ id, error: { code: -32000, message: 'Printing failed' } }])
  await expected
})

test('an answer that is too large is dropped, and an event of that size is not', async () => {
  const { connection, commands, say } = aConnection()
  const seen: number[] = []
  connection.on('Target.targetCreated', ({ targetInfo }) => void seen.push(targetInfo.title.length))
  const [large, next] = [connection.send('Browser.getVersion'), connection.send('Target.getTargets')]
  const [first, second] = commands()
  const expected = expect(large).rejects.toThrow(AnswerTooLarge)
  const pieceBytes = 64 * 1024
  const text = 'x'.repeat(ANSWER_BYTES_MAX + pieceBytes)
  await say(
    [
      { id: first.id, result: { product: text } },
      { method: 'Target.targetCreated', params: { targetInfo: { title: text } } },
      { id: second.id, result: { targetInfos: [] } },
    ],
    pieceBytes,
  )
  await expected
  expect([await next, seen]).toEqual([{ targetInfos: [] }, [text.length]])
})

test.for([
  ['its page is gone', { method: 'Target.detachedFromTarget', params: { sessionId: 'S1' } }],
  ['Chromium does not know its session', { id: 2, error: { code: -32001, message: 'Session not found' } }],
] as const)('a command rejects when %s', async ([, message]) => {
  const { connection, say, attach } = aConnection()
  const page = await attach('S1')
  const waiting = expect(page.send('Page.enable')).rejects.toThrow(SessionClosed)
  await say([message])
  await waiting
  expect(connection.closed.aborted).toBe(false)
})

test('a session says that it has ended, and takes no more commands', async () => {
  const { say, attach } = aConnection()
  const page = await attach('S1')
  expect(page.closed.aborted).toBe(false)
  await say([{ method: 'Target.detachedFromTarget', params: { sessionId: 'S1' } }])
  expect(page.closed.aborted).toBe(true)
  await expect(page.send('Page.enable')).rejects.toThrow(SessionClosed)
})

test('all sessions end with the pipe, the browser first', async () => {
  const { connection, output, attach } = aConnection()
  const page = await attach('S1')
  const isBrowserGone: boolean[] = []
  page.closed.addEventListener('abort', () => void isBrowserGone.push(connection.closed.aborted))
  const waiting = [page.send('Page.enable'), connection.send('Browser.getVersion')]
  const expected = Promise.all(waiting.map((command) => expect(command).rejects.toThrow(SessionClosed)))
  output.destroy()
  await expected
  expect(isBrowserGone).toEqual([true])
})

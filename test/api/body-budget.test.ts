/** What requests that never end, and answers that nobody reads, take of an API. */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { ANSWERS_OF_ONE_TENANT_BYTES_MAX, BODIES_OF_ONE_KEY_BYTES_MAX } from '@platen/api/body/limit.ts'
import { ANSWER_STALLED_MS_MAX } from '@platen/api/limit.ts'
import { BODY_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { RenderId } from '@platen/contract/domain/render-id.ts'
import { expect, test } from 'vitest'
import { FOREIGN_KEY, LIVE_KEY, TEST_KEY } from '../fixture/api.ts'
import { aReply, NEVER } from '../fixture/build.ts'
import { poll } from '../time/poll.ts'
import { exchange, listening, openRaw } from './raw-connection.ts'

const [KEY, FOREIGN, SANDBOX] = [LIVE_KEY, FOREIGN_KEY, TEST_KEY].map((key) => `Authorization: Bearer ${key}`) as [
  string,
  string,
  string,
]
const HEAD = ['POST /api/v1/render HTTP/1.1', 'Host: a', 'Content-Type: application/json'] as const
const SMALL = ['Connection: close', 'Content-Length: 2', '', '{}'] as const
const PIECE_BYTES = 1024 * 1024

test('bodies under way have room for so many bytes of a key, and those of others have theirs', async () => {
  const { port } = await listening()
  const lines = Array.from({ length: 100 }, () => openRaw(port))
  for (const { send } of lines) send(...HEAD, KEY, `Content-Length: ${BODY_BYTES_MAX}`, '', '{"template":"invoice",')
  const fit = Math.floor(BODIES_OF_ONE_KEY_BYTES_MAX / BODY_BYTES_MAX)
  const refused = await Promise.all(lines.slice(fit).map(({ end }) => end()))
  for (const answer of refused) {
    expect(answer).toMatch(/^HTTP\/1\.1 429 /)
    expect(answer).toMatch(/\r\nretry-after: \d+\r\n/i)
  }
  expect(await exchange(port, ...HEAD, FOREIGN, ...SMALL)).toMatch(/^HTTP\/1\.1 400 /)
  for (const { socket } of lines) socket.destroy()
  await poll(() => exchange(port, ...HEAD, KEY, ...SMALL)).until((answer) => answer.startsWith('HTTP/1.1 400 '))
})

/** Makes callers of sync renders who have heard that this PDF is coming. Nobody else reads it if it is owned. */
async function answering(api: Awaited<ReturnType<typeof listening>>, pdf: readonly Uint8Array[], isOwned = false) {
  const consumer = await api.ports.queue.consume('react_pdf', NEVER)
  return async () => {
    const caller = openRaw(api.port)
    const body = '{"template":"invoice","data":{}}'
    caller.send(...HEAD, KEY, `Content-Length: ${body.length}`, '', body)
    let id: RenderId | undefined
    while (id === undefined) {
      await consumer.waitForRecord(NEVER)
      id = consumer.poll('sync')?.record.id
    }
    api.ports.replies.notifyStarted(id)
    await caller.until(() => true)
    await api.ports.replies.reply(id, aReply(Buffer.concat(pdf), { pdf, isOwned }), NEVER)
    return caller
  }
}

test('answers under way have room for so many bytes of a tenant, and its sandbox and others have theirs', async () => {
  const api = await listening()
  const pdf = Buffer.alloc(ANSWERS_OF_ONE_TENANT_BYTES_MAX)
  const ask = await answering(api, [pdf])
  const statusOf = async (key: string, more = '') => {
    const body = `{"template":"nothing","data":{}${more}}`
    const length = `Content-Length: ${body.length}`
    const answer = await exchange(api.port, ...HEAD, key, 'Connection: close', length, '', body)
    return Number(answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length))
  }
  expect(await statusOf(KEY)).toBe(404)
  const caller = await ask()
  await once(caller.socket, 'data')
  caller.socket.pause()
  expect([await statusOf(KEY), await statusOf(KEY, ',"mode":"async"'), await statusOf(FOREIGN)]).toEqual([
    429, 404, 404,
  ])
  expect(await statusOf(SANDBOX)).toBe(404)
  caller.socket.resume()
  await poll(() => statusOf(KEY)).until((status) => status === 404)
})

test('an answer that nobody reads is given up, and one that is read slowly is not', async () => {
  const api = await listening()
  const pdf = Buffer.alloc(32 * PIECE_BYTES)
  const ask = await answering(api, [pdf])
  const slow = await ask()
  const stalled = await ask()
  stalled.socket.pause()
  const over = new AbortController()
  const reading = (async () => {
    // A smaller piece may not open the window of the connection again, and the sender would see no progress.
    for (let read = PIECE_BYTES; !over.signal.aborted; read += PIECE_BYTES) {
      slow.socket.resume()
      await slow.until((received) => received.length >= read)
      slow.socket.pause()
      await sleep(ANSWER_STALLED_MS_MAX / 4)
    }
    slow.socket.resume()
  })()
  const connections = () => promisify(api.app.server.getConnections.bind(api.app.server))()
  expect(await connections()).toBe(2)
  await poll(connections).until((count) => count === 1)
  over.abort()
  await reading
  const answer = await slow.until((received) => received.length > pdf.length)
  expect(answer).toMatch(/^HTTP\/1\.1 200 /)
})

test('the memory of an answer that was sent is free, and that of one that others read or nobody took is not', async () => {
  const api = await listening()
  const [sent, shared, untaken] = [1, 2, 3].map(() =>
    Array.from({ length: 9 }, (_, at) => Buffer.alloc(PIECE_BYTES, `${at}`)),
  ) as [Buffer[], Buffer[], Buffer[]]
  const part = Buffer.alloc(2 * PIECE_BYTES, 'x').subarray(PIECE_BYTES)
  const text = Buffer.concat([...sent, part]).toString()
  const owned = await (await answering(api, [...sent, part], true))()
  await owned.until((received) => received.endsWith(text))
  await poll(async () => bytesIn(sent)).until((bytes) => bytes === 0)
  expect(bytesIn([part])).toBe(PIECE_BYTES)
  const other = await (await answering(api, shared))()
  await other.until((received) => received.endsWith(Buffer.concat(shared).toString()))
  const left = await (await answering(api, untaken, true))()
  left.socket.destroy()
  await api.app.close()
  expect([shared, untaken].map(bytesIn)).toEqual([9 * PIECE_BYTES, 9 * PIECE_BYTES])
})

function bytesIn(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

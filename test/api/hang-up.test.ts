/** Callers who hang up: at each call that a request makes to a port, in the middle of its answer, and just after it. */

import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { memoryRenderQueue } from '@platen/adapters/memory/render-queue.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { ApiPorts } from '@platen/api/app.ts'
import { PDF_PIECE_BYTES_MAX } from '@platen/api/route/read/get-pdf.ts'
import { encodeManifest, manifestAddress, pdfKey, type RenderRecord } from '@platen/contract/domain/render.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import type { Tracer } from '@platen/lib/tracer.ts'
import { expect, test } from 'vitest'
import { type Api, LIVE_KEY } from '../fixture/api.ts'
import { aManifest, aReply, NEVER } from '../fixture/build.ts'
import { memoryArtifactStore } from '../fixture/memory/artifact-store.ts'
import { memoryLimiter } from '../fixture/memory/limiter.ts'
import { listening, openRaw, type RawConnection } from './raw-connection.ts'

const PDF = Buffer.alloc(2 * PDF_PIECE_BYTES_MAX + 1, 'pdf')
const ATTEMPTS = 5

/** Where requests wait: the next call with this number does not return before its caller has gone. */
interface Pause {
  calls: number
  at: number
  readonly reached: PromiseWithResolvers<void>
  readonly left: PromiseWithResolvers<void>
}

function aPause(at: number): Pause {
  return { calls: 0, at, reached: Promise.withResolvers(), left: Promise.withResolvers() }
}

/** An API that listens, and counts what its requests leave behind. */
async function anObservedApi() {
  const clock = systemClock()
  let pause = aPause(-1)
  const paused = <Port extends object>(port: Port, names: readonly (keyof Port)[]): Port => {
    const call =
      (name: keyof Port) =>
      async (...args: unknown[]) => {
        const mine = pause
        if (mine.calls++ === mine.at) {
          mine.reached.resolve()
          await mine.left.promise
        }
        return await Reflect.apply(Object(port[name]), port, args)
      }
    return Object.assign(Object.create(port), Object.fromEntries(names.map((name) => [name, call(name)])))
  }
  const spans = { open: 0 }
  const store = memoryArtifactStore()
  const queue = memoryRenderQueue()
  const ports: Partial<ApiPorts> = {
    clock,
    artifacts: paused(store, ['get', 'getPart', 'create', 'put', 'delete']),
    queue: paused(queue, ['enqueue']),
    limiter: paused(memoryLimiter(clock), ['reserve']),
    tracer: countingTracer(spans),
  }
  const api = await listening(ports)
  const sockets: Socket[] = []
  api.app.server.on('connection', (socket) => sockets.push(socket))
  await serve({ ...api, ports: { ...api.ports, artifacts: store, queue } })
  return {
    ...api,
    spans,
    pauseAt(call: number): Pause {
      pause = aPause(call)
      return pause
    },
    /** Resolves when the server knows that all connections so far are closed, and has done what follows from it. */
    async closed(): Promise<void> {
      await Promise.all(sockets.splice(0).map(isClosed))
      for (let turns = 0; turns < 5; turns++) await turn()
    },
    held: async () => {
      const text = await api.metrics.text()
      return [...text.matchAll(/^platen_api_held_bytes\{.*what="(\w+)".*\} (\S+)$/gm)].map(([, ...held]) => held)
    },
    counted: async () => {
      const text = await api.metrics.text()
      const counts = [...text.matchAll(/^platen_http_requests_total\{.*\} (\S+)$/gm)]
      return counts.reduce((sum, [, count]) => sum + Number(count), 0)
    },
    logged: (requestId: string) =>
      api.lines.filter(({ message, fields }) => message === 'request answered' && fields['requestId'] === requestId),
  }
}

/** A connection that was reset has an error before its end. */
async function isClosed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise<void>((resolve) => socket.once('close', () => resolve()))
}

function countingTracer(spans: { open: number }): Tracer {
  return {
    exportedTraceId: () => undefined,
    start(_name, { parent } = {}) {
      let isOpen = true
      spans.open += 1
      const end = () => {
        spans.open -= Number(isOpen)
        isOpen = false
      }
      const context = parent ?? { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
      return { context, end, [Symbol.dispose]: end }
    },
  }
}

/** Answers every sync render at once, and stores its outcome, as a renderer does. */
async function serve({ ports }: Pick<Api, 'ports'>): Promise<void> {
  const consumer = await ports.queue.consume('react_pdf', NEVER)
  const work = async () => {
    for (;;) {
      await consumer.waitForRecord(NEVER)
      for (let next = consumer.poll('sync'); next !== undefined; next = consumer.poll('sync')) {
        const { record } = next
        ports.replies.notifyStarted(record.id)
        await store(record, ports)
        // Nobody may wait for it any more.
        await ports.replies.reply(record.id, aReply(PDF), NEVER).catch(() => {})
        await next.done(NEVER)
      }
    }
  }
  void work()
}

async function store(record: RenderRecord, { artifacts }: Pick<ApiPorts, 'artifacts'>): Promise<void> {
  const digest = sha256(PDF)
  const address = { bucket: record.storage.bucket, key: pdfKey(record, digest) }
  await artifacts.put(address, PDF, NEVER)
  const pdf = { address, bytes: PDF.length, sha256: digest }
  const outcome = { status: 'succeeded', finishedAt: record.acceptedAt, durationMs: 1, pages: 1, pdf } as const
  const manifest = encodeManifest(aManifest({ record, outcome }))
  await artifacts.create(manifestAddress(record.id, 'platen'), manifest, NEVER)
}

type Observed = Awaited<ReturnType<typeof anObservedApi>>

/** The text of a request, with its id. */
type RequestOf = (id: string) => string

const head = (line: string, id: string, more: readonly string[] = []) =>
  [`${line} HTTP/1.1`, 'Host: a', `X-Request-Id: ${id}`, `Authorization: Bearer ${LIVE_KEY}`, ...more, '', ''].join(
    '\r\n',
  )

function posting(path: string, body: string, more: readonly string[] = []): RequestOf {
  const fields = ['Content-Type: application/json', `Content-Length: ${body.length}`, ...more]
  return (id) => head(`POST ${path}`, id, fields) + body
}

/** Makes a render and returns its id. */
async function aRender({ app }: Observed, headers: Record<string, string> = {}): Promise<string> {
  const answer = await app.inject({
    method: 'POST',
    url: '/api/v1/render',
    headers: { authorization: `Bearer ${LIVE_KEY}`, 'content-type': 'application/json', ...headers },
    payload: '{"template":"invoice","data":{}}',
  })
  expect(answer.statusCode).toBe(200)
  return String(answer.headers['x-service-render-id'])
}

const SYNC = '{"template":"invoice","data":{}}'
const BATCH = '{"template":"invoice","items":[{"data":{}},{"data":{}}]}'

test.for<[name: string, requestOf: (api: Observed) => Promise<RequestOf>]>([
  ['a PDF', async (api) => getting(`/api/v1/render/${await aRender(api)}/pdf`)],
  ['a part of a PDF', async (api) => getting(`/api/v1/render/${await aRender(api)}/pdf`, ['Range: bytes=5-'])],
  ['a status', async (api) => getting(`/api/v1/render/${await aRender(api)}`)],
  ['a status that waits', async (api) => getting(`/api/v1/render/${await aRender(api)}?wait=30`)],
  ['a sync render', async () => posting('/api/v1/render', SYNC)],
  [
    'a sync render that is repeated',
    async (api) => {
      await aRender(api, { 'idempotency-key': 'again' })
      return posting('/api/v1/render', SYNC, ['Idempotency-Key: again'])
    },
  ],
  ['an async render', async () => posting('/api/v1/render', SYNC.replace('{', '{"mode":"async",'))],
  ['a batch', async () => posting('/api/v1/batches', BATCH)],
  ['templates', async () => getting('/api/v1/templates')],
])('%s holds nothing, is logged and counted once, wherever its caller hangs up', async ([, requestOf]) => {
  const api = await anObservedApi()
  const request = await requestOf(api)
  await api.closed()
  const [before, open] = [await api.counted(), api.spans.open]
  let sent = 0
  const ask = async (at: number, id: string, isPipelined: boolean) => {
    const pause = api.pauseAt(at)
    const caller = openRaw(api.port)
    const ids = isPipelined ? [id, `${id}-next`] : [id]
    caller.send(ids.map(request).join(''))
    const answered = caller.until((received) => received.split('x-request-id').length > ids.length && isWhole(received))
    answered.catch(() => {})
    const isReached = await Promise.race([pause.reached.promise.then(() => true), answered.then(() => false)])
    await leave(api, caller, pause)
    sent += ids.length
    const logged = ids.map((each) => api.logged(each).map(({ fields }) => fields['isDelivered']))
    expect([at, logged.map(({ length }) => length)]).toEqual([at, ids.map(() => 1)])
    expect([at, logged.at(-1)]).toEqual([at, [!isReached]])
    return isReached
  }
  for (const isPipelined of [false, true])
    for (let at = 0, isReached = true; isReached; at++)
      for (let attempt = 0; attempt < ATTEMPTS; attempt++)
        isReached = await ask(at, `${isPipelined}-${at}-${attempt}`, isPipelined)
  expect(await api.held()).toEqual([
    ['bodies', '0'],
    ['answers', '0'],
  ])
  expect(await api.counted()).toBe(before + sent)
  expect(api.spans.open).toBe(open)
})

function getting(path: string, more: readonly string[] = []): RequestOf {
  return (id) => head(`GET ${path}`, id, more)
}

/** Whether all answers so far have come to their end. */
function isWhole(received: string): boolean {
  const heads = [...received.matchAll(/\r\ncontent-length: (\d+)\r\n/gi)]
  const bodies = heads.reduce((sum, [, bytes]) => sum + Number(bytes), 0)
  const ends = received.split('\r\n\r\n').length - 1
  return ends >= heads.length && received.length >= bodies + heads.length * 2
}

async function leave(api: Observed, caller: RawConnection, pause: Pause): Promise<void> {
  caller.socket.destroy()
  await once(caller.socket, 'close')
  await api.closed()
  pause.left.resolve()
  for (let turns = 0; turns < 20; turns++) await turn()
}

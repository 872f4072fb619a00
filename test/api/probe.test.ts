/** The port of probes and metrics, over real sockets. */
import { once } from 'node:events'
import { connect } from 'node:net'
import {
  type Health,
  openProbes,
  PROBE_CONNECTIONS_MAX,
  type ProbeOptions,
  type Probes,
} from '@platen/adapters/http/probe-server.ts'
import { HEADER_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { afterEach, describe, expect, test } from 'vitest'
import { logTo, SILENT } from '../fixture/build.ts'

const QUIET = {
  metrics: { exposition: async () => ({ contentType: 'text/plain; version=0.0.4', text: 'platen_up 1\n' }) },
  log: SILENT,
}

const opened: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of opened.splice(0)) await each[Symbol.asyncDispose]()
})

/** Probes of a process that serves. */
async function serve(
  options: Partial<ProbeOptions & Health> = {},
): Promise<Probes & { readonly lines: readonly string[] }> {
  const lines: string[] = []
  const log = logTo(({ message }) => lines.push(message))
  const server = await openProbes({ host: '127.0.0.1', port: 0, ...QUIET, log, ...options })
  server.serving({ isAlive: () => true, isReady: () => ({ ready: true, detail: { disk: 'ok' } }), ...options })
  opened.push(server)
  return { ...server, lines }
}

async function ask({ port }: Probes, path: string, method = 'GET') {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method })
  return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() }
}

/** What comes back for bytes until the connection ends. */
async function raw({ port = 0 }: Probes, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1')
  let answer = ''
  socket.on('data', (chunk: string) => {
    answer += chunk
  })
  // A reset is an end like another.
  socket.on('error', () => undefined)
  socket.write(text)
  await new Promise((resolve) => socket.once('close', resolve))
  return answer
}

describe('a probe', () => {
  test('tells whether the process is worth keeping', async () => {
    let alive = true
    const server = await serve({ isAlive: () => alive })
    expect(await ask(server, '/livez')).toMatchObject({ status: 200, body: '{"alive":true}' })
    alive = false
    expect(await ask(server, '/livez')).toMatchObject({ status: 503, body: '{"alive":false}' })
  })

  test('tells whether work may be sent, and why not', async () => {
    let state = { ready: true, detail: { disk: 'ok' } }
    const server = await serve({ isReady: () => state })
    const body = '{"ready":true,"detail":{"disk":"ok"}}'
    expect(await ask(server, '/readyz')).toEqual({ status: 200, type: 'application/json; charset=utf-8', body })
    state = { ready: false, detail: { disk: 'full' } }
    expect(await ask(server, '/readyz?verbose')).toMatchObject({
      status: 503,
      body: '{"ready":false,"detail":{"disk":"full"}}',
    })
  })

  test('finds a process alive and not ready before it serves, and from when it drains', async () => {
    const server = await openProbes({ host: '127.0.0.1', port: 0, ...QUIET })
    opened.push(server)
    const probes = async () => [(await ask(server, '/livez')).status, (await ask(server, '/readyz')).body]
    expect(await probes()).toEqual([200, '{"ready":false,"detail":{}}'])
    const detail = { engine: 'running' }
    const serving = server.serving({ isAlive: () => true, isReady: () => ({ ready: true, detail }) })
    expect(await probes()).toEqual([200, '{"ready":true,"detail":{"engine":"running"}}'])
    serving[Symbol.dispose]()
    expect(await probes()).toEqual([200, '{"ready":false,"detail":{"engine":"running"}}'])
  })

  test('is answered by nobody where there is no port', async () => {
    const server = await openProbes({ host: '127.0.0.1', port: undefined, ...QUIET })
    expect(server.port).toBeUndefined()
    await server[Symbol.asyncDispose]()
  })

  test('gives what was counted', async () => {
    expect(await ask(await serve(), '/metrics')).toEqual({
      status: 200,
      type: 'text/plain; version=0.0.4',
      body: 'platen_up 1\n',
    })
  })

  test('is answered without its body where it asks by HEAD', async () => {
    const answer = await raw(await serve(), 'HEAD /livez HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(answer).toContain('HTTP/1.1 200 OK')
    expect(answer).toContain('content-length: 14')
    expect(answer.endsWith('\r\n\r\n')).toBe(true)
  })

  test.for([
    ['GET', '/'],
    ['GET', '/livez/'],
    ['GET', '/metrics/..%2flivez'],
    ['POST', '/metrics'],
    ['DELETE', '/livez'],
    ['OPTIONS', '/readyz'],
  ])('is 404 for %s %s', async ([method = '', path = '']) => {
    expect(await ask(await serve(), path, method)).toMatchObject({ status: 404, body: '' })
  })

  test.for<[string, Partial<ProbeOptions & Health>, string]>([
    ['metrics', { metrics: { exposition: () => Promise.reject(new Error('hunter2')) } }, '/metrics'],
    [
      'health',
      {
        isReady: () => {
          throw new Error('hunter2')
        },
      },
      '/readyz',
    ],
  ])('of %s that cannot be told is 500, says nothing of why, and is logged', async ([, options, path]) => {
    const server = await serve(options)
    expect(await ask(server, path)).toMatchObject({ status: 500, body: '' })
    expect(server.lines).toContain('probe failed')
    expect(await ask(server, '/livez')).toMatchObject({ status: 200 })
  })
})

describe('whoever means harm', () => {
  test('is refused headers without end', async () => {
    const header = `A: ${'a'.repeat(HEADER_BYTES_MAX)}`
    expect(await raw(await serve(), `GET /livez HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`)).toContain('HTTP/1.1 431')
  })

  test('is answered and cut off in the middle of a body, which nobody reads', async () => {
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const answer = await raw(
      await serve(),
      `GET /livez HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`,
    )
    expect(answer).toContain('{"alive":true}')
  })

  test.for([
    ['nothing', ''],
    ['half a head', 'GET /livez HTTP/1.1\r\nHost: '],
  ])('keeps no connection by saying %s', async ([, text = '']) => {
    expect(await raw(await serve(), text)).toContain('HTTP/1.1 408')
  })

  test('has only so many connections', async () => {
    const server = await serve()
    const held = Array.from({ length: PROBE_CONNECTIONS_MAX }, () => connect(server.port ?? 0, '127.0.0.1'))
    await Promise.all(held.map((socket) => once(socket, 'connect')))
    expect(await raw(server, 'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n')).toBe('')
    for (const socket of held) socket.destroy()
  })
})

test('a port that is taken is an error, and one that was closed is free again', async () => {
  const server = await serve()
  await expect(serve({ port: server.port })).rejects.toMatchObject({ code: 'EADDRINUSE', port: server.port })
  await server[Symbol.asyncDispose]()
  const again = await serve({ port: server.port })
  expect(again.port).toBe(server.port)
})

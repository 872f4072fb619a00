/**
 * What orchestrators and Prometheus ask of a process, on a port of its own that need not be open to callers: `/livez`, `/readyz`
 * and `/metrics`. No key is asked for, and nothing but the path of a request is looked at.
 */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { HEADER_BYTES_MAX, PROBE_CONNECTIONS_MAX, PROBE_RECEIVE_MS_MAX } from '@platen/contract/limit.ts'
import type { Log } from '@platen/contract/port/log.ts'

export interface ProbeOptions {
  readonly host: string
  /** 0 = any free port; absent = nothing listens. */
  readonly port: number | undefined
  /** What `/metrics` answers. */
  readonly metrics: { readonly contentType: string; text(): Promise<string> }
  readonly log: Log
}

/** How a process is. It is asked at each probe, and must not wait. */
export interface Health {
  /** Is this process worth keeping? */
  isAlive(): boolean
  /** May work be sent here? `detail` is shown to whoever asks, so it holds no secret. */
  isReady(): { readonly ready: boolean; readonly detail: object }
}

/** Closing it cuts off whoever is asking. A process opens it first and closes it last: a drain that nobody can see would be taken for a hang. */
export interface Probes extends AsyncDisposable {
  /** Where it listens. */
  readonly port: number | undefined
  /** The process serves, and is as healthy as this says. From the disposal on it is not ready, whatever this says. */
  serving(health: Health): Disposable
}

/** Answers from when it resolves until it is disposed: alive and not ready, until the process serves. Rejects when the port cannot be had. */
export async function openProbes(options: ProbeOptions): Promise<Probes> {
  const { port } = options
  let isServing = false
  let health: Health = { isAlive: () => true, isReady: () => ({ ready: false, detail: {} }) }
  const isReady = () => {
    const { ready, detail } = health.isReady()
    return { ready: ready && isServing, detail }
  }
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      headersTimeout: PROBE_RECEIVE_MS_MAX,
      requestTimeout: PROBE_RECEIVE_MS_MAX,
      // Node's own 30 s would let whoever asks nothing keep everybody else out for so long.
      connectionsCheckingInterval: PROBE_RECEIVE_MS_MAX / 2,
    },
    requestListener(options, { isAlive: () => health.isAlive(), isReady }),
  )
  return {
    port: port === undefined ? undefined : await listen(server, { ...options, port }),
    serving(judge) {
      health = judge
      isServing = true
      return {
        [Symbol.dispose]() {
          isServing = false
        },
      }
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function listen(server: Server, { host, port, log }: ProbeOptions): Promise<number> {
  server.maxConnections = PROBE_CONNECTIONS_MAX
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const listening = portOf(server)
  log.info({ host, port: listening }, 'probe server started')
  return listening
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

interface ProbeResponse {
  readonly status: number
  readonly type: string
  readonly body: string
}

function requestListener(options: ProbeOptions, health: Health): RequestListener {
  return (request, response) => {
    responseTo(request, options, health).then(
      (answer) => send(answer, response),
      (err: unknown) => {
        options.log.error({ err }, 'probe failed')
        send({ status: 500, type: 'text/plain', body: '' }, response)
      },
    )
  }
}

async function responseTo(
  { method, url = '' }: IncomingMessage,
  { metrics }: ProbeOptions,
  health: Health,
): Promise<ProbeResponse> {
  if (method !== 'GET' && method !== 'HEAD') return NOT_FOUND
  const [path = ''] = url.split('?', 1)
  switch (path) {
    case '/livez': {
      const alive = health.isAlive()
      return healthResponse(alive, { alive })
    }
    case '/readyz': {
      const { ready, detail } = health.isReady()
      return healthResponse(ready, { ready, detail })
    }
    case '/metrics':
      return { status: 200, type: metrics.contentType, body: await metrics.text() }
    default:
      return NOT_FOUND
  }
}

const NOT_FOUND: ProbeResponse = { status: 404, type: 'text/plain', body: '' }

function healthResponse(isGood: boolean, body: object): ProbeResponse {
  return { status: isGood ? 200 : 503, type: 'application/json; charset=utf-8', body: JSON.stringify(body) }
}

/** One request a connection: whoever asks every few seconds loses nothing, and a body that nobody reads ends with it. */
function send({ status, type, body }: ProbeResponse, response: ServerResponse): void {
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), connection: 'close' }
  response.writeHead(status, headers).end(body)
}

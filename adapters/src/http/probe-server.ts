/**
 * The server for orchestrators and Prometheus: `/livez`, `/readyz` and `/metrics`, on its own port, which callers need not reach. It
 * requires no key, and reads only the method and path of a request.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { HEADER_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { Log } from '@platen/lib/log.ts'

const SECOND_MS = 1000

/** Connections to the port of probes and metrics, and the time for one request. An orchestrator and a few scrapers use one each. */
export const PROBE_CONNECTIONS_MAX = 64
const PROBE_RECEIVE_MS_MAX = 2 * SECOND_MS

// An `import` would load all of undici, too.
const { createServer } = process.getBuiltinModule('node:http')

export interface ProbeOptions {
  readonly host: string
  /** 0 = any free port; absent = nothing listens. */
  readonly port: number | undefined
  readonly metrics: {
    exposition(accept: string | undefined): Promise<{ readonly contentType: string; readonly text: string }>
  }
  readonly log: Log
}

/** The health of a process. Called at each probe, so it must not wait. */
export interface Health {
  /** False when the process should be restarted. */
  isAlive(): boolean
  /** `detail` is shown to every caller, so it holds no secret. */
  isReady(): { readonly ready: boolean; readonly detail: object }
}

/** A process opens the probes first and closes them last: a drain without probes would look like a hang. Closing cuts off open requests. */
export interface Probes extends AsyncDisposable {
  readonly port: number | undefined
  /** Reports this health until disposed; then the process is not ready, whatever `health` says. */
  serving(health: Health): Disposable
}

/** Opens the server. Until `serving` is called, the process is alive and not ready. Rejects when the port cannot be opened. */
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
      // Node's default of 30 s would let silent connections block everybody else for that long.
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
  { method, url = '', headers }: IncomingMessage,
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
    case '/metrics': {
      const { contentType: type, text: body } = await metrics.exposition(headers.accept)
      return { status: 200, type, body }
    }
    default:
      return NOT_FOUND
  }
}

const NOT_FOUND: ProbeResponse = { status: 404, type: 'text/plain', body: '' }

function healthResponse(isGood: boolean, body: object): ProbeResponse {
  return { status: isGood ? 200 : 503, type: 'application/json; charset=utf-8', body: JSON.stringify(body) }
}

/** One request per connection. Callers come only every few seconds, and an unread body ends with the connection. */
function send({ status, type, body }: ProbeResponse, response: ServerResponse): void {
  const headers = { 'content-type': type, 'content-length': Buffer.byteLength(body), connection: 'close' }
  response.writeHead(status, headers).end(body)
}

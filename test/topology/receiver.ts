/** A webhook receiver, on loopback if nothing else is said: it answers what a test says, and writes down what it is sent. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver extends AsyncDisposable {
  /** `http://host:port`, no trailing slash. */
  readonly url: string
  /** Everything that came in whole, in order. */
  readonly received: Received[]
  /** Resolves when so many have come. */
  until(count: number): Promise<void>
  /** From now on, what is answered when a request is there in whole. 204 at first. */
  answer(listener: RequestListener): void
}

/** The settings that let the service call it. */
export const LOOPBACK_ALLOWED = { PLATEN_WEBHOOK_ALLOW_HTTP: '1', PLATEN_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }

/** Begins to listen; on the same port again where one is given. */
export async function aReceiver(port = 0, host = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let listener: RequestListener = (_request, response) => response.writeHead(204).end()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() })
      listener(request, response)
      for (const look of waiting) look()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(port, host, resolve)
  })
  // A server that listens on a port has the address of one.
  const url = `http://${host}:${(server.address() as AddressInfo).port}`
  return {
    url,
    received,
    async until(count) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => {
        if (received.length >= count) resolve()
      }
      waiting.add(look)
      look()
      await promise
      waiting.delete(look)
    },
    answer(next) {
      listener = next
    },
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Answers with a status and nothing more. */
export function answering(status: number, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => response.writeHead(status, headers).end()
}

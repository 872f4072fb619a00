/** A webhook receiver, by default on loopback. It gives the answers a test defines, and records its requests. */
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { type Listener, listening } from './server/port.ts'

export interface Received {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Receiver extends Listener {
  /** All complete requests, in order. */
  readonly received: Received[]
  until(count: number): Promise<void>
  /** For every complete request from now on. Default: 204. */
  answer(listener: RequestListener): void
}

/** Settings that allow the service to call it. */
export const LOOPBACK_ALLOWED = { PLATEN_WEBHOOK_ALLOW_HTTP: '1', PLATEN_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' }

export async function aReceiver(port = 0, host = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = []
  const waiting = openWaiting()
  let listener: RequestListener = (_request, response) => response.writeHead(204).end()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString() })
      listener(request, response)
      waiting.look()
    })
  })
  return {
    ...(await listening(server, { host, port })),
    received,
    until: (count) => waiting.until(() => received.length >= count),
    answer(next) {
      listener = next
    },
  }
}

/** `until` waits for a condition, which is checked at each `look`. */
export function openWaiting(): {
  readonly look: () => void
  readonly until: (isThere: () => boolean) => Promise<void>
} {
  const waiting = new Set<() => void>()
  return {
    look() {
      for (const look of waiting) look()
    },
    async until(isThere) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const look = () => {
        if (isThere()) resolve()
      }
      waiting.add(look)
      look()
      await promise
      waiting.delete(look)
    },
  }
}

export function answering(status: number, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => response.writeHead(status, headers).end()
}

/**
 * The receivers of the webhook benchmark, in a process of their own: any number of good ones, told apart by their addresses on
 * loopback, and one port for each way of being bad. Says its ports to whoever forked it.
 */
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createTcpServer, type Server } from 'node:net'
import { gzipSync } from 'node:zlib'
import { aCertificate } from '../../topology/host.ts'
import { listening } from '../../topology/server/port.ts'

export interface Ports {
  /** By HTTPS, for every name below `HOST`. */
  readonly secure: number
  /** The certificate of those, which vouches for itself. */
  readonly ca: string
  readonly good: number
  readonly bad: readonly number[]
}

const BOMB = gzipSync(Buffer.alloc(50_000_000))
const TEN_MB = Buffer.alloc(10_000_000, 'x')

const good: RequestListener = (request, response) => {
  request.resume().on('end', () => response.writeHead(204).end())
}

const BAD: readonly RequestListener[] = [
  // Never answers.
  () => undefined,
  // A byte a second, of the headers and of the body.
  ({ socket }) => {
    socket.write('HTTP/1.1 200 OK\r\nx: ')
    const dripping = setInterval(() => socket.write('y'), 1000)
    socket.once('close', () => clearInterval(dripping))
  },
  (_request, response) => {
    response.writeHead(500).write('x')
    const dripping = setInterval(() => response.write('y'), 1000)
    response.once('close', () => clearInterval(dripping))
  },
  (_request, response) => response.writeHead(500).end(TEN_MB),
  (_request, response) => response.writeHead(500, { 'content-encoding': 'gzip' }).end(BOMB),
  (request) => request.socket.resetAndDestroy(),
]

async function portOf(server: Server): Promise<number> {
  return (await listening(server, { host: '0.0.0.0' })).port
}

/** Takes connections and reads nothing from them. */
const tarpit = createTcpServer((socket) => socket.pause().on('error', () => undefined))

const certificate = aCertificate()
const ports: Ports = {
  secure: await portOf(createSecureServer(certificate, good)),
  ca: certificate.cert,
  good: await portOf(createServer(good)),
  bad: await Promise.all([...BAD.map((listener) => portOf(createServer(listener))), portOf(tarpit)]),
}
process.once('disconnect', () => process.exit())
process.send?.(ports)

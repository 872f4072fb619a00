import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/**
 * The address where servers listen, and which they tell their clients. Default: loopback. Pods reach no loopback but their own, so servers
 * for pods use another address.
 */
export const HOST = process.env['TEST_SERVERS_HOST'] ?? '127.0.0.1'

/**
 * Servers that restart on their port get a fixed one. It is below the range that systems use for outgoing connections (Linux: 32768 and
 * up). So no connection of a parallel test takes it between the check and the start, or while the server is down.
 */
const FIRST = 10_000
const LAST = 32_000

/** Reserves `count` consecutive ports for this process. Resolves with the first. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    const taken = await Promise.all(Array.from({ length: count }, (_, step) => take(first + step)))
    if (!taken.includes(false)) return first
  }
}

/**
 * Takes a port where nobody listens, unless another process has reserved it: its server may be down and start again. To reserve a port, a
 * process binds it for UDP, which no server uses, until the process ends.
 */
async function take(port: number): Promise<boolean> {
  const claim = createSocket('udp4').unref()
  try {
    await once(claim.bind(port, HOST), 'listening')
    await using _ = await listening(createServer(), { host: HOST, port })
    return true
  } catch {
    claim.close()
    return false
  }
}

/** Disposal ends its connections, too. */
export interface Listener extends AsyncDisposable {
  /** `http://host:port`, no trailing slash. */
  readonly url: string
  readonly port: number
}

/** By default on loopback and any port. */
export async function listening(server: Server, { host = '127.0.0.1', port = 0 } = {}): Promise<Listener> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await once(server.listen(port, host), 'listening')
  const address = server.address() as AddressInfo
  return {
    url: `http://${host}:${address.port}`,
    port: address.port,
    async [Symbol.asyncDispose]() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

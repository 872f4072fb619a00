/**
 * Finds free ports for servers that get a fixed port and may restart on it. The ports are below the range that systems use for outgoing
 * connections (Linux: 32768 and up). So no connection of a parallel test takes the port between this check and the start, or while the
 * server is down.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * The address where servers listen, and which they tell their clients. Default: loopback. Pods reach no loopback but their own, so servers
 * for pods use another address.
 */
export const HOST = process.env['TEST_SERVERS_HOST'] ?? '127.0.0.1'

const FIRST = 10_000
const LAST = 32_000

/** Finds `count` consecutive ports where nobody listens now. Resolves with the first. */
export async function freePorts(count: number): Promise<number> {
  for (;;) {
    const first = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    const free = await Promise.all(Array.from({ length: count }, (_, step) => isFree(first + step)))
    if (!free.includes(false)) return first
  }
}

async function isFree(port: number): Promise<boolean> {
  const listener = createServer()
  try {
    await once(listener.listen(port, HOST), 'listening')
  } catch {
    return false
  }
  const gone = once(listener, 'close')
  listener.close()
  await gone
  return true
}

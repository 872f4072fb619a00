/**
 * Ports for servers that are told theirs, and that may be started again on it.
 *
 * They lie below those that systems give to outgoing connections (Linux: 32768 and up), so that none of the many connections
 * of the tests beside takes one between the look at it and the start, or while its server is down.
 */
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Where servers listen, and what they tell their clients: loopback, unless they are for pods, which reach no loopback but theirs. */
export const HOST = process.env['TEST_SERVERS_HOST'] ?? '127.0.0.1'

const FIRST = 10_000
const LAST = 32_000

/** `count` ports in a row that nobody listens on just now; resolves to the first. */
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

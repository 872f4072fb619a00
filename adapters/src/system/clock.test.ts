import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from './clock.ts'

test('a timeout comes after the data that was received before it, though this process was paused', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const client = connect(port, '127.0.0.1')
  const [[peer]] = await Promise.all([once(server, 'connection'), once(client, 'connect')])
  const seen: string[] = []
  client.on('data', () => seen.push('data'))
  const timeout = systemClock().timeout(20)
  timeout.addEventListener('abort', () => seen.push('timeout'))
  peer.write('x')
  pause(50)
  await once(timeout, 'abort')
  expect(seen).toEqual(['data', 'timeout'])
  client.destroy()
  server.close()
})

/** Holds this thread, as a long collection or a busy machine does. */
function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

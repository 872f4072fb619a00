/** Raw bytes to a listening API, and what comes back. */
import { connect, type Socket } from 'node:net'
import { systemClock } from '@platen/adapters/system/clock.ts'
import type { ApiPorts } from '@platen/api/ports.ts'
import { onTestFinished } from 'vitest'
import { type Api, anApi } from '../fixture/api.ts'

/** A listening API, with the clock of the machine unless other ports are given; it ends with the test. */
export async function listening(
  ports: Partial<ApiPorts> = { clock: systemClock() },
): Promise<Api & { readonly port: number }> {
  const api = anApi({ ports })
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => {
    api.app.server.closeAllConnections()
    api.app.server.close()
  })
  return { ...api, port: Number(new URL(url).port) }
}

export interface RawConnection extends Disposable {
  readonly socket: Socket
  readonly send: (...text: readonly string[]) => void
  /** Resolves with what has come so far when it is enough. Rejects when the connection ends first. */
  readonly until: (isEnough: (received: string) => boolean) => Promise<string>
  /** Resolves with everything when the other side has closed. Rejects when the connection was reset. */
  readonly end: () => Promise<string>
}

export function openRaw(port: number): RawConnection {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: false })
  let received = ''
  let failure: Error | undefined
  const ended = Promise.withResolvers<string>()
  const waiting = new Set<() => void>()
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    for (const each of waiting) each()
  })
  socket.on('error', (error) => {
    failure = error
  })
  socket.on('close', () => (failure === undefined ? ended.resolve(received) : ended.reject(failure)))
  ended.promise.catch(() => {})
  const opening: RawConnection = {
    socket,
    send: (...text) => void socket.write(text.join('\r\n')),
    until: (isEnough) =>
      Promise.race([
        new Promise<string>((resolve) => {
          const look = () => isEnough(received) && resolve(received)
          waiting.add(look)
          look()
        }),
        ended.promise.then((all) => {
          if (isEnough(all)) return all
          throw new Error(`the connection ended after: ${all}`)
        }),
      ]),
    end: () => ended.promise,
    [Symbol.dispose]: () => void socket.destroy(),
  }
  onTestFinished(() => void socket.destroy())
  return opening
}

/** Sends a whole message and gives everything that comes back until the connection closes. */
export async function exchange(port: number, ...text: readonly string[]): Promise<string> {
  const { send, end } = openRaw(port)
  send(...text)
  return await end()
}

/**
 * A TCP proxy between one deployable and one server, on loopback. It splits the traffic into protocol messages. So a test can stop
 * everything at one step of a render: before a request goes on, or after it was answered. The deployable does not know about the proxy.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Protocol, type Splitter, splitterOf } from './wire.ts'

/** Where to stop: at a request that matches the pattern, before the request goes on or after its answer arrived. */
export interface Point {
  readonly side: 'before' | 'after'
  readonly request: RegExp
}

/** Nothing passes on the connection until `release` is called. */
export interface Held {
  release(): void
}

/** A fault that the proxy applies to all traffic. */
export type Disturbance =
  /** Delays every answer by `ms`. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Stops all traffic and keeps all connections, until `disturb` is called again. */
  | { readonly kind: 'stall' }
  /** Answers every request that matches, or all without a pattern, with these bytes and closes the connection. */
  | { readonly kind: 'refuse'; readonly answer: string; readonly request?: RegExp }
  /**
   * Happens once, at the next matching request. `lose` drops its answer, `cut` sends only half of the request; both close the connection.
   */
  | { readonly kind: 'lose' | 'cut'; readonly request: RegExp; readonly happened: () => void }

export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  /** Sets the port of the server. Before the first call, or with 0, connections are refused. */
  towards(port: number): void
  /** Resolves when the next matching message reaches the point. Rejects with the signal's reason, and then stops nothing. */
  hold(point: Point, signal: AbortSignal): Promise<Held>
  /** Applies a fault from now on. Undefined = everything passes. */
  disturb(disturbance: Disturbance | undefined): void
  /** Closes all connections with RST, like a network that has lost them. */
  reset(): void
}

interface State {
  readonly protocol: Protocol
  upstream: number
  armed: Armed | undefined
  disturbance: Disturbance | undefined
  /** Pending while a stall lasts. */
  stalled: PromiseWithResolvers<void> | undefined
}

interface Armed {
  readonly point: Point
  readonly reached: PromiseWithResolvers<Held>
}

/** Builds a refusal of S3 for `refuse`, for example `503 Slow Down` with the code `SlowDown`. */
export function refusalOfS3(status: string, code: string): string {
  const body = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/xml\r\nContent-Length: ${body.length}\r\nConnection: close`
  return `${head}\r\n\r\n${body}`
}

/** Like a store with a full disk: reads are answered, writes are refused, and removals make room. */
export const FULL_DISK_OF_S3 = {
  kind: 'refuse',
  request: /^(PUT|POST) /,
  answer: refusalOfS3('507 Insufficient Storage', 'XMinioStorageFull'),
} as const satisfies Disturbance

export async function openFaultProxy(protocol: Protocol): Promise<FaultProxy> {
  const state: State = { protocol, upstream: 0, armed: undefined, disturbance: undefined, stalled: undefined }
  const lines = new Set<Line>()
  const server = createServer((socket) => {
    if (state.upstream === 0) return void socket.destroy()
    const line = new Line(state, socket)
    lines.add(line)
    void line.closed.then(() => lines.delete(line))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    towards(port) {
      state.upstream = port
    },
    async hold(point, signal) {
      signal.throwIfAborted()
      const armed: Armed = { point, reached: Promise.withResolvers() }
      state.armed = armed
      const giveUp = () => {
        if (state.armed === armed) state.armed = undefined
        armed.reached.reject(signal.reason)
      }
      signal.addEventListener('abort', giveUp, { once: true })
      return await armed.reached.promise.finally(() => signal.removeEventListener('abort', giveUp))
    },
    disturb(disturbance) {
      state.disturbance = disturbance
      state.stalled?.resolve()
      state.stalled = disturbance?.kind === 'stall' ? Promise.withResolvers() : undefined
    },
    reset() {
      for (const line of lines) line.reset()
    },
    async [Symbol.asyncDispose]() {
      server.close()
      for (const line of lines) line.reset()
    },
  }
}

/** One connection. Messages of each side pass in order, one after the other. */
class Line {
  readonly closed: Promise<void>
  readonly #state: State
  readonly #client: Socket
  readonly #server: Socket
  readonly #requests: Splitter
  readonly #answers: Splitter
  #requestsPass: Promise<void> = Promise.resolve()
  #answersPass: Promise<void> = Promise.resolve()
  /** Resolves when all answers that were delayed so far have passed. */
  #delayed: Promise<void> = Promise.resolve()
  /** Drops the rest of a refused request. */
  #isRefused = false
  /** Requests whose answer will be lost or held, by the key that identifies the answer. */
  readonly #awaited = new Map<string, Armed | (() => void)>()

  constructor(state: State, client: Socket) {
    this.#state = state
    this.#client = client.setNoDelay(true)
    this.#server = connect({ host: '127.0.0.1', port: state.upstream }).setNoDelay(true)
    this.#requests = splitterOf(state.protocol, 'request')
    this.#answers = splitterOf(state.protocol, 'answer')
    client.on('data', (chunk: Buffer) => {
      for (const message of this.#requests.split(chunk)) {
        this.#requestsPass = this.#requestsPass.then(() => this.#passRequest(message))
      }
    })
    this.#server.on('data', (chunk: Buffer) => {
      const { disturbance } = this.#state
      // Every answer gets the same delay: the delays of consecutive answers run at the same time.
      const late = disturbance?.kind === 'slow' ? sleep(disturbance.ms) : undefined
      for (const message of this.#answers.split(chunk)) {
        this.#answersPass = this.#answersPass.then(() => late).then(() => this.#passAnswer(message))
      }
      if (late !== undefined) this.#delayed = this.#answersPass
    })
    // When one side closes, the other is closed too. Errors show up there. A server may close after each answer, which must still arrive.
    client.once('close', () => this.#server.destroy())
    this.#server.once('close', () => void this.#delayed.then(() => client.destroySoon()))
    for (const socket of [client, this.#server]) {
      socket.on('error', () => undefined)
    }
    this.closed = new Promise((resolve) => {
      client.once('close', () => resolve())
    })
  }

  reset(): void {
    this.#client.resetAndDestroy()
    this.#server.destroy()
  }

  async #passRequest(message: Buffer): Promise<void> {
    await this.#state.stalled?.promise
    const { disturbance, armed } = this.#state
    const { text, answeredBy } = this.#requests.describe(message)
    if (this.#isRefused) return
    if (disturbance?.kind === 'refuse' && disturbance.request?.test(text) !== false) {
      this.#isRefused = true
      return void this.#client.end(disturbance.answer)
    }
    if (disturbance !== undefined && 'happened' in disturbance && disturbance.request.test(text)) {
      this.#state.disturbance = undefined
      if (disturbance.kind === 'cut') return this.#cut(message, disturbance.happened)
      this.#awaited.set(answeredBy, disturbance.happened)
    }
    if (armed?.point.request.test(text)) {
      this.#state.armed = undefined
      if (armed.point.side === 'after') this.#awaited.set(answeredBy, armed)
      else await stopAt(armed)
    }
    this.#server.write(message)
  }

  #cut(message: Buffer, happened: () => void): void {
    this.#server.write(message.subarray(0, message.length / 2), () => {
      this.reset()
      happened()
    })
  }

  async #passAnswer(message: Buffer): Promise<void> {
    await this.#state.stalled?.promise
    const key = this.#answers.describe(message).answeredBy
    const awaited = this.#awaited.get(key)
    this.#awaited.delete(key)
    if (typeof awaited === 'function') {
      this.reset()
      return awaited()
    }
    if (awaited !== undefined) await stopAt(awaited)
    this.#client.write(message)
  }
}

/** Resolves `hold`, then waits for `release`. */
async function stopAt({ reached }: Armed): Promise<void> {
  const released = Promise.withResolvers<void>()
  reached.resolve({ release: () => released.resolve() })
  await released.promise
}

/**
 * What calls of client-node lack and its middleware lets us add: a deadline and a signal (kubernetes-client/javascript#1613), a bound on
 * the answer, reused connections, a second attempt when the API server is busy, and errors that quote no values.
 */
import {
  type ConfigurationOptions,
  Observable,
  type ObservableMiddleware,
  type RequestContext,
  ResponseContext,
  SelfDecodingBody,
} from '@kubernetes/client-node'
import type { OperatorMeter, RequestMethod } from '@platen/contract/port/operator-meter.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type FairSemaphore, openFairSemaphore } from '@platen/lib/fair-semaphore.ts'
import { firstAborted, raceAbort } from '@platen/lib/race.ts'
import { readBounded } from '@platen/lib/read-bounded.ts'
import { ClusterError, errorFromAnswer, errorFromFailure } from './error.ts'

const SECOND_MS = 1000

/** Concurrent requests to the API server, without watches. More would not be answered sooner, and other clients need their share. */
export const CLUSTER_REQUESTS_MAX = 32

/**
 * How often a request is repeated when the API server is busy, and the longest wait it may ask for. For a longer wait, the caller gets
 * the error and decides.
 */
export const CLUSTER_BUSY_RETRIES_MAX = 3
const CLUSTER_BUSY_MS_MAX = 5 * SECOND_MS

const MIB = 1024 * 1024
/** Bytes of one answer. A larger list is requested again in smaller pages. */
const CLUSTER_ANSWER_BYTES_MAX = 32 * MIB

/** Longest request to the API server, its answer included: a page of the largest objects takes seconds. */
const CLUSTER_REQUEST_MS_MAX = 30 * SECOND_MS

/** The last argument of each call of client-node. */
export type CallOptions = ConfigurationOptions

interface Call<Answer> {
  readonly method: RequestMethod
  /** Replace those of client-node. */
  readonly headers?: Readonly<Record<string, string>>
  readonly send: (options: CallOptions) => Promise<unknown>
  /** Returns undefined for a malformed answer. */
  readonly read: (answer: unknown) => Answer | undefined
}

export interface CallerOptions {
  readonly clock: Clock
  readonly meter: Pick<OperatorMeter, 'requested'>
  /** Called when a connection breaks or is not accepted. */
  readonly onBrokenConnection?: () => void
}

type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>

export class Caller implements Disposable {
  readonly #options: CallerOptions
  /** The API server has one queue for all. */
  readonly #permits: FairSemaphore = openFairSemaphore({
    permits: CLUSTER_REQUESTS_MAX,
    permitsPerTenant: CLUSTER_REQUESTS_MAX,
  })
  #dispatcher: Dispatcher | undefined

  constructor(options: CallerOptions) {
    this.#options = options
  }

  /** Repeats the call when the API server is busy and says how long to wait. The first call then had no effect. */
  async call<Answer>(call: Call<Answer>, signal: AbortSignal): Promise<Answer> {
    for (let retries = 0; ; retries++) {
      try {
        return await this.#callOnce(call, signal)
      } catch (error) {
        const waitMs = error instanceof ClusterError ? error.retryAfterMs : undefined
        if (waitMs === undefined || waitMs > CLUSTER_BUSY_MS_MAX || retries === CLUSTER_BUSY_RETRIES_MAX) throw error
        await this.#options.clock.sleep(waitMs, signal)
      }
    }
  }

  async #callOnce<Answer>({ method, headers = {}, send, read }: Call<Answer>, signal: AbortSignal): Promise<Answer> {
    const { clock, meter, onBrokenConnection } = this.#options
    const timedOut = clock.timeout(CLUSTER_REQUEST_MS_MAX)
    using limited = firstAborted([signal, timedOut])
    const begunAt = clock.monotonic()
    const count = (code: string) => meter.requested(method, code, clock.monotonic() - begunAt)
    const request = { label: `${method} to the API server`, isSent: false, status: 0 }
    const middleware: ObservableMiddleware = {
      pre: (context) => {
        request.label = `${method} ${new URL(context.getUrl()).pathname}`
        request.isSent = true
        context.setSignal(limited.signal)
        this.#shareConnections(context)
        for (const [name, value] of Object.entries(headers)) context.setHeaderParam(name, value)
        return new Observable(Promise.resolve(context))
      },
      post: (answer) => {
        const whole = readAnswer(request.label, answer).then((read) => {
          request.status = read.httpStatusCode
          return read
        })
        return new Observable(whole)
      },
    }
    try {
      using _ = await this.#permits.acquire('', limited.signal)
      const sent = send({ middleware: [middleware], middlewareMergeStrategy: 'append' })
      const answer = read(await raceAbort(sent, limited.signal))
      if (answer === undefined) throw new ClusterError(request.label, { status: 0, reason: 'Malformed' })
      count(`${request.status}`)
      return answer
    } catch (cause) {
      const isAnswered = cause instanceof ClusterError && cause.status > 0
      count(isAnswered ? `${cause.status}` : '<error>')
      // The other side may have vanished without closing its connections, or no longer accepts the certificate that they began with.
      if (!isAnswered || cause.status === 401) this.#forgetConnections()
      if (isAnswered) throw cause
      signal.throwIfAborted()
      if (timedOut.aborted) throw new ClusterError(request.label, { status: 0, reason: 'Timeout' }, { cause })
      if (cause instanceof ClusterError) throw cause
      // A parser's message quotes what it read, which may be secret.
      if (request.status > 0) throw new ClusterError(request.label, { status: 0, reason: 'Malformed' })
      if (!request.isSent) throw new ClusterError(request.label, { status: 0, reason: 'NoCredentials' }, { cause })
      throw errorFromFailure(request.label, cause, onBrokenConnection)
    }
  }

  /** client-node connects anew for each request. Its first dispatcher serves all until one fails; then certificates are read again. */
  #shareConnections(context: RequestContext): void {
    const own = context.getDispatcher()
    if (own === undefined) return
    this.#dispatcher ??= own
    context.setDispatcher(this.#dispatcher)
  }

  #forgetConnections(): void {
    void this.#dispatcher?.close().catch(() => undefined)
    this.#dispatcher = undefined
  }

  [Symbol.dispose](): void {
    void this.#dispatcher?.destroy().catch(() => undefined)
    this.#dispatcher = undefined
  }
}

/** Reads an answer before client-node does: its own error would quote the whole answer. */
async function readAnswer(label: string, { httpStatusCode: status, headers, body }: ResponseContext) {
  const bytes = await readBounded(streamOf(body), CLUSTER_ANSWER_BYTES_MAX)
  if (bytes === undefined) throw new ClusterError(label, { status: 0, reason: 'TooLarge' })
  if (status >= 300) throw errorFromAnswer(label, { status, headers, body: parseJson(bytes.toString()) })
  return new ResponseContext(status, headers, new SelfDecodingBody(Promise.resolve(bytes)))
}

function streamOf(body: ResponseContext['body']): AsyncIterable<Uint8Array> {
  return body.stream() ?? new Blob([]).stream()
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

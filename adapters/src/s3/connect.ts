import type { Agent as HttpAgent } from 'node:http'
import { Agent, type AgentOptions } from 'node:https'
import type { Duplex } from 'node:stream'
import { S3Client, type S3ClientConfig, S3ServiceException } from '@aws-sdk/client-s3'
import type { Clock } from '@platen/lib/clock.ts'
import { firstAborted } from '@platen/lib/race.ts'
import { isBrokenConnection } from '@platen/lib/thrown.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'

// An `import` would load all of undici, too.
const { Agent: PlainAgent } = process.getBuiltinModule('node:http')

export interface S3Access {
  /** Absent = the SDK finds them in the environment, in files, or by the identity of the pod. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined
  /** As PEM: CA certificates instead of the system's authorities, and a client certificate with its key. */
  readonly tls?:
    | { readonly ca?: string | undefined; readonly cert?: string | undefined; readonly key?: string | undefined }
    | undefined
}

export interface S3Options extends S3Access {
  /** For this process; absent = Amazon's endpoint of the region. */
  readonly endpoint?: string | undefined
  /** In URLs for callers; absent = `endpoint`. */
  readonly publicEndpoint?: string | undefined
  readonly region: string
  /** If true, the bucket is in the path instead of the host name. Most stores other than Amazon's require that. */
  readonly isPathStyle?: boolean
  /** Called for each call. Absent = the access never changes. */
  readonly latest?: () => S3Access
  /** Called when a connection breaks or is not accepted. */
  readonly onBrokenConnection?: () => void
}

export interface S3Connection extends Disposable {
  readonly client: S3Client
  /** Only signs URLs for callers; no call is made with it. */
  readonly publicClient: S3Client
  /**
   * Makes one call, which ends by the signal or a time limit. Rejects with the signal's reason, else with `Unavailable`, whose cause is the
   * error of the SDK.
   */
  readonly call: <T>(make: (options: { abortSignal: AbortSignal }) => Promise<T>, signal: AbortSignal) => Promise<T>
}

/** Time limit of a call with all its retries and its whole body: 100 MiB at 28 Mbit/s. */
const CALL_MS_MAX = 30_000
/** Time limit to get a connection. The SDK includes the wait for a free one: with 1 s, a burst of small writes failed. */
const CONNECT_MS_MAX = 5000
/** Time limit without any data sent or received. */
const SILENCE_MS_MAX = 5000
const ATTEMPTS_MAX = 3
/** S3's error code if the clock of this process differs from its own by more than 15 minutes. */
const CLOCK_IS_WRONG = 'RequestTimeTooSkewed'
/** Maximum number of connections; more calls wait for one. */
const CONNECTIONS_MAX = 64

/** Opens no connection yet. */
export function connectS3(options: S3Options, clock: Pick<Clock, 'timeout'>): S3Connection {
  const client = clientAt(options.endpoint, options)
  const publicClient = clientAt(options.publicEndpoint ?? options.endpoint, options)
  return {
    client,
    publicClient,
    async call(make, signal) {
      signal.throwIfAborted()
      using limited = firstAborted([signal, clock.timeout(CALL_MS_MAX)])
      const options = { abortSignal: limited.signal }
      try {
        return await make(options).catch((cause: unknown) => {
          if (nameOf(cause) !== CLOCK_IS_WRONG) throw cause
          // The first such error tells the SDK the difference. The SDK then retries that call, but not the concurrent ones.
          return make(options)
        })
      } catch (cause) {
        // The SDK throws its own error instead of the reason.
        signal.throwIfAborted()
        throw new Unavailable(`the request to S3 failed: ${codeOf(cause)}`, { cause })
      }
    },
    [Symbol.dispose]() {
      client.destroy()
      publicClient.destroy()
    },
  }
}

/** The name of a failure in S3, the network or the SDK. */
export function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  if (cause instanceof S3ServiceException) return `${cause.name} (${cause.$metadata.httpStatusCode ?? 'no status'})`
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}

/** Undefined if it is no error of S3. */
export function statusOf(cause: unknown): number | undefined {
  return cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined
}

/** Undefined if it is no error of S3. */
export function nameOf(cause: unknown): string | undefined {
  return cause instanceof S3ServiceException ? cause.name : undefined
}

function clientAt(endpoint: string | undefined, options: S3Options): S3Client {
  const { region, isPathStyle = false, latest = () => options, onBrokenConnection = () => undefined } = options
  const config: S3ClientConfig = {
    region,
    forcePathStyle: isPathStyle,
    maxAttempts: ATTEMPTS_MAX,
    retryMode: 'standard',
    requestHandler: {
      connectionTimeout: CONNECT_MS_MAX,
      socketTimeout: SILENCE_MS_MAX,
      httpAgent: new WatchedAgent(onBrokenConnection),
      httpsAgent: new FollowingAgent(() => latest().tls ?? {}, onBrokenConnection),
    },
    // Many other stores refuse checksums that a command does not need. The signature covers the digest of the body.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  }
  const credentials = latest().credentials && currentCredentials(latest)
  return new S3Client({ ...config, ...(endpoint && { endpoint }), ...(credentials && { credentials }) })
}

/** The SDK asks this provider before each call, since it keeps only credentials that do not expire. */
function currentCredentials(latest: () => S3Access) {
  return async () => {
    const { credentials } = latest()
    if (credentials === undefined) throw new Error('there are no credentials for S3 any more')
    return { ...credentials, expiration: new Date(0) }
  }
}

class WatchedAgent extends PlainAgent {
  readonly #onBroken: () => void

  constructor(onBroken: () => void) {
    super({ keepAlive: true, maxSockets: CONNECTIONS_MAX })
    this.#onBroken = onBroken
  }

  override createConnection(...given: Parameters<HttpAgent['createConnection']>) {
    return watched(super.createConnection(...given), this.#onBroken)
  }
}

/** Opens each connection with the current certificates. */
class FollowingAgent extends Agent {
  readonly #tls: () => AgentOptions
  readonly #onBroken: () => void

  constructor(tls: () => AgentOptions, onBroken: () => void) {
    // A resumed session would skip the check of certificates that changed.
    super({ keepAlive: true, maxSockets: CONNECTIONS_MAX, maxCachedSessions: 0 })
    this.#tls = tls
    this.#onBroken = onBroken
  }

  override createConnection(...[options, opened]: Parameters<Agent['createConnection']>) {
    return watched(super.createConnection({ ...options, ...this.#tls() }, opened), this.#onBroken)
  }
}

function watched<Socket extends Duplex | null | undefined>(socket: Socket, onBroken: () => void): Socket {
  socket?.on('error', (error) => {
    if (isBrokenConnection(error)) onBroken()
  })
  return socket
}

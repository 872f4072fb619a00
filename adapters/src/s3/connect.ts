/** How S3 is spoken to: where it is, as whom, and how long a call may take. */
import { S3Client, type S3ClientConfig, S3ServiceException } from '@aws-sdk/client-s3'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'

export interface S3Options {
  /** Where this process reaches it; absent = Amazon's own for the region. */
  readonly endpoint?: string
  /** Where those who are given URLs reach it; absent = the same. */
  readonly publicEndpoint?: string
  readonly region: string
  /** Is the bucket in the path and not in the host name? Most stores besides Amazon's want it so. */
  readonly isPathStyle?: boolean
  /** Absent = as the SDK finds them: environment, files, the identity of the pod. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string }
}

export interface S3Connection extends Disposable {
  readonly client: S3Client
  /** Signs URLs for others and is never called. */
  readonly publicClient: S3Client
  /**
   * Makes one call, which ends with the signal or after a while. Rejects with the signal's reason, else with `Unavailable`,
   * whose cause is what the SDK has thrown.
   */
  readonly call: <T>(make: (options: { abortSignal: AbortSignal }) => Promise<T>, signal: AbortSignal) => Promise<T>
}

/** A call with all its tries and its whole body: 100 MiB on a line of 28 Mbit/s. */
const CALL_MS_MAX = 30_000
/** To get a connection. The SDK also counts the wait for one that is free: with a second, a burst of small writes failed. */
const CONNECT_MS_MAX = 5000
/** Nothing was sent or received for this long. */
const SILENCE_MS_MAX = 5000
const ATTEMPTS_MAX = 3
/** The clock of this process differs from that of S3 by more than a quarter of an hour. */
const CLOCK_IS_WRONG = 'RequestTimeTooSkewed'
/** More calls than that wait for a connection. */
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
      const options = { abortSignal: AbortSignal.any([signal, clock.timeout(CALL_MS_MAX)]) }
      try {
        return await make(options).catch((cause: unknown) => {
          if (nameOf(cause) !== CLOCK_IS_WRONG) throw cause
          // By the first call that was told so the SDK knows how late it is, and tries that again; not those that were under way beside it.
          return make(options)
        })
      } catch (cause) {
        // The SDK throws an error of its own instead of the reason.
        signal.throwIfAborted()
        throw new Unavailable(`S3 did not do what it was asked: ${codeOf(cause)}`, { cause })
      }
    },
    [Symbol.dispose]() {
      client.destroy()
      publicClient.destroy()
    },
  }
}

/** What S3, the network or the SDK call this failure. */
export function codeOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  if (cause instanceof S3ServiceException) return `${cause.name} (${cause.$metadata.httpStatusCode ?? 'no status'})`
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name
}

/** The status with which S3 has refused, if it has. */
export function statusOf(cause: unknown): number | undefined {
  return cause instanceof S3ServiceException ? cause.$metadata.httpStatusCode : undefined
}

/** The code with which S3 has refused, if it has. */
export function nameOf(cause: unknown): string | undefined {
  return cause instanceof S3ServiceException ? cause.name : undefined
}

function clientAt(endpoint: string | undefined, options: S3Options): S3Client {
  const { region, isPathStyle = false, credentials } = options
  const config: S3ClientConfig = {
    region,
    forcePathStyle: isPathStyle,
    maxAttempts: ATTEMPTS_MAX,
    retryMode: 'standard',
    requestHandler: {
      connectionTimeout: CONNECT_MS_MAX,
      socketTimeout: SILENCE_MS_MAX,
      httpAgent: { maxSockets: CONNECTIONS_MAX },
      httpsAgent: { maxSockets: CONNECTIONS_MAX },
    },
    // Checksums beyond what a command needs are refused by many stores that are not Amazon's. The signature covers the body's digest.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  }
  return new S3Client({ ...config, ...(endpoint && { endpoint }), ...(credentials && { credentials }) })
}

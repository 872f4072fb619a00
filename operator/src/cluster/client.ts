/**
 * The client of the API server. It offers lists and watches for informers, and writes that name their field manager. It repeats a request
 * only when the API server was too busy. Informers and error handling are in other modules.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import type { Access } from './access.ts'
import { ClusterError } from './error.ts'
import { type ApiRequest, acceptOf, requestWithRetry } from './http/request.ts'
import { labelOf, openTransport } from './http/transport.ts'
import { openWatch, type WatchEvent, type WatchOptions } from './http/watch.ts'
import { isKubeObject, isRecord, type KubeObject } from './object.ts'

/** Every method throws `ClusterError`, or the signal's reason. Paths come from `pathOf`. */
export interface ClusterClient extends Disposable {
  /** Returns undefined when the object does not exist. Throws when the kind does not exist. */
  readonly get: (path: string, signal: AbortSignal) => Promise<KubeObject | undefined>
  readonly list: (path: string, options: ListOptions, signal: AbortSignal) => Promise<ListPage>
  /**
   * Ends when the API server ends it, or after `idleMs` of silence. Throws also for errors that the API server reports within the watch.
   */
  readonly watch: (path: string, options: WatchOptions, signal: AbortSignal) => AsyncIterable<WatchEvent>
  readonly create: (path: string, object: object, signal: AbortSignal) => Promise<KubeObject>
  /** Throws `Conflict` when the object carries a `resourceVersion` that is not the current one. */
  readonly replace: (path: string, object: object, signal: AbortSignal) => Promise<KubeObject>
  /** Server-side apply: sets fields for `manager` and takes them over from other managers. Creates the object if there is none. */
  readonly apply: (path: string, wanted: ApplyRequest, signal: AbortSignal) => Promise<KubeObject>
  readonly mergePatch: (path: string, patch: object, signal: AbortSignal) => Promise<KubeObject>
  /** Deletes the object with this uid. Throws `Conflict` when another object has its name by now. */
  readonly remove: (path: string, uid: string, signal: AbortSignal) => Promise<void>
}

export interface ListOptions {
  /** Objects per page. */
  readonly limit: number
  /** The token from the previous page. */
  readonly continue?: string | undefined
  /** Requests only `metadata`. */
  readonly metadataOnly?: boolean
}

export interface ListPage {
  readonly items: readonly KubeObject[]
  /** Where a watch starts after the last page. */
  readonly resourceVersion: string
  /** Absent on the last page. */
  readonly continue?: string
}

export interface ApplyRequest {
  /** Has `apiVersion` and `kind`. The API server refuses unknown fields. */
  readonly object: object
  readonly manager: string
}

export interface ClusterOptions {
  readonly access: Access
  readonly clock: Clock
  readonly meter: Pick<OperatorMeter, 'requested'>
  /** Called when a connection breaks or is not accepted. */
  readonly onBrokenConnection?: () => void
}

/** Opens a client. It connects at the first request. */
export function openClusterClient({ access, clock, meter, onBrokenConnection }: ClusterOptions): ClusterClient {
  const transport = openTransport(access, onBrokenConnection)
  const connection = { transport, clock, meter }
  const send = (question: ApiRequest, signal: AbortSignal) => requestWithRetry(connection, question, signal)
  const write = (question: ApiRequest, signal: AbortSignal) =>
    send(question, signal).then((answer) => objectOf(question, answer))
  return {
    get: async (path, signal) => {
      const question = { method: 'GET', path } as const
      const answer = await send(question, signal).catch(undefinedIfGone)
      return answer === undefined ? undefined : objectOf(question, answer)
    },
    list: async (path, options, signal) => {
      const { limit, continue: token, metadataOnly = false } = options
      const query = { limit: `${limit}`, ...(token !== undefined && { continue: token }) }
      const question = {
        method: 'GET',
        path,
        query,
        accept: acceptOf('PartialObjectMetadataList', metadataOnly),
      } as const
      return pageOf(question, await send(question, signal))
    },
    watch: (path, options, signal) => openWatch(connection, { path, ...options }, signal),
    create: (path, body, signal) => write({ method: 'POST', path, query: STRICT, body }, signal),
    replace: (path, body, signal) => write({ method: 'PUT', path, query: STRICT, body }, signal),
    apply: (path, { object: body, manager }, signal) => {
      const query = { ...STRICT, fieldManager: manager, force: 'true' }
      return write({ method: 'PATCH', path, query, body, contentType: 'application/apply-patch+yaml' }, signal)
    },
    mergePatch: (path, body, signal) =>
      write({ method: 'PATCH', path, query: STRICT, body, contentType: 'application/merge-patch+json' }, signal),
    remove: async (path, uid, signal) => {
      await send({ method: 'DELETE', path, body: { preconditions: { uid } } }, signal)
    },
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  }
}

/** Makes the API server refuse unknown fields. Without it, they are dropped silently. */
const STRICT = { fieldValidation: 'Strict' }

/** The API server also answers 404 when the kind does not exist, but then without a `Status` that says `NotFound`. */
function undefinedIfGone(error: unknown): undefined {
  if (error instanceof ClusterError && error.status === 404 && error.reason === 'NotFound') return undefined
  throw error
}

function objectOf(question: ApiRequest, answer: unknown): KubeObject {
  if (isKubeObject(answer)) return answer
  throw malformed(question)
}

function pageOf(question: ApiRequest, answer: unknown): ListPage {
  if (!isRecord(answer) || !isRecord(answer['metadata'])) throw malformed(question)
  const { items, metadata } = answer
  const { resourceVersion, continue: token } = metadata
  if (!Array.isArray(items) || !items.every(isKubeObject) || typeof resourceVersion !== 'string') {
    throw malformed(question)
  }
  return { items, resourceVersion, ...(typeof token === 'string' && token !== '' && { continue: token }) }
}

function malformed(question: ApiRequest): ClusterError {
  return new ClusterError(labelOf(question), { status: 0, reason: 'Malformed' })
}

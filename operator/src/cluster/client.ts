/**
 * The API server, as the operator asks it: lists and watches that an informer can stand on, and writes that say who wrote. Informers,
 * and what is made of failures, are others' business: nothing is repeated here but what the API server had no time for.
 */
import type { Clock } from '@platen/contract/port/clock.ts'
import type { OperatorMeter } from '@platen/contract/port/operator-meter.ts'
import type { Access } from './access.ts'
import { ClusterError } from './error.ts'
import { type ApiRequest, acceptOf, requestWithRetry } from './http/request.ts'
import { labelOf, openTransport } from './http/transport.ts'
import { openWatch, type WatchEvent, type WatchOptions } from './http/watch.ts'
import { isKubeObject, isRecord, type KubeObject } from './object.ts'

/** Every method throws `ClusterError`, or the signal's reason. Paths are those of `pathOf`. */
export interface ClusterClient extends Disposable {
  /** Undefined when there is no such object; that there is no such kind is an error. */
  readonly get: (path: string, signal: AbortSignal) => Promise<KubeObject | undefined>
  readonly list: (path: string, options: ListOptions, signal: AbortSignal) => Promise<ListPage>
  /** Ends when the API server ends it, or is silent for `idleMs`. Throws what the API server says within it as well. */
  readonly watch: (path: string, options: WatchOptions, signal: AbortSignal) => AsyncIterable<WatchEvent>
  readonly create: (path: string, object: object, signal: AbortSignal) => Promise<KubeObject>
  /** Refused as `Conflict` unless the object is in the state whose `resourceVersion` it carries, if it carries one. */
  readonly replace: (path: string, object: object, signal: AbortSignal) => Promise<KubeObject>
  /** Says what `manager` wants of an object, and takes those fields from whoever has them. Makes the object where there is none. */
  readonly apply: (path: string, wanted: ApplyRequest, signal: AbortSignal) => Promise<KubeObject>
  readonly mergePatch: (path: string, patch: object, signal: AbortSignal) => Promise<KubeObject>
  /** One that is gone already is as good. With a `uid`, another object of that name is left, and `Conflict` thrown. */
  readonly remove: (path: string, options: { readonly uid?: string }, signal: AbortSignal) => Promise<void>
}

export interface ListOptions {
  /** Objects of one page. */
  readonly limit: number
  /** From the page before. */
  readonly continue?: string | undefined
  /** Leaves out what is not `metadata`. */
  readonly metadataOnly?: boolean
}

export interface ListPage {
  readonly items: readonly KubeObject[]
  /** Where to watch from, once all pages are there. */
  readonly resourceVersion: string
  /** Absent on the last. */
  readonly continue?: string
}

export interface ApplyRequest {
  /** With `apiVersion` and `kind`; an unknown field is refused. */
  readonly object: object
  readonly manager: string
}

export interface ClusterOptions {
  readonly access: Access
  readonly clock: Clock
  readonly meter: Pick<OperatorMeter, 'requested'>
}

/** Connects when it is first asked. */
export function openClusterClient({ access, clock, meter }: ClusterOptions): ClusterClient {
  const transport = openTransport(access)
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
    remove: async (path, { uid }, signal) => {
      const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...(uid !== undefined && { preconditions: { uid } }) }
      await send({ method: 'DELETE', path, body }, signal).catch(undefinedIfGone)
    },
    [Symbol.dispose]: () => transport[Symbol.dispose](),
  }
}

/** An unknown field is an error, not left out in silence. */
const STRICT = { fieldValidation: 'Strict' }

/** A kind that is not there is answered 404 too, but not with a `Status` that says `NotFound`. */
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

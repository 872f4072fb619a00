/**
 * The client of the API server: client-node's typed clients, reduced to what the operator needs. It offers lists and watches for informers,
 * and writes that name their field manager.
 */
import {
  CoordinationV1Api,
  CoreV1Api,
  type CoreV1Event,
  CustomObjectsApi,
  type KubeConfig,
  PatchStrategy,
} from '@kubernetes/client-node'
import { Caller, type CallerOptions, type CallOptions } from './call.ts'
import { ClusterError } from './error.ts'
import { isKubeObject, isRecord, type KubeObject } from './object.ts'
import { type ObjectLocation, pathOf } from './path.ts'
import { acceptOf, openWatch, type WatchEvent, type WatchOptions } from './watch.ts'

/** Every method throws `ClusterError`, or the signal's reason. Reads return undefined when the object does not exist. */
export interface ClusterClient extends Disposable {
  readonly readLease: (place: Place, signal: AbortSignal) => Promise<KubeObject | undefined>
  readonly createLease: (namespace: string, lease: object, signal: AbortSignal) => Promise<KubeObject>
  /** Throws `Conflict` when the lease carries a `resourceVersion` that is not the current one. */
  readonly replaceLease: (place: Place, lease: object, signal: AbortSignal) => Promise<KubeObject>
  readonly readSecret: (place: Place, signal: AbortSignal) => Promise<KubeObject | undefined>
  readonly createSecret: (namespace: string, secret: object, signal: AbortSignal) => Promise<KubeObject>
  /** Throws `Conflict` when the patch carries a `resourceVersion` that is not the current one. */
  readonly patchSecret: (place: Place, patch: object, signal: AbortSignal) => Promise<KubeObject>
  readonly readConfigMap: (place: Place, signal: AbortSignal) => Promise<KubeObject | undefined>
  readonly createEvent: (event: CoreV1Event, signal: AbortSignal) => Promise<void>
  /** Lists custom resources or ConfigMaps of all namespaces. */
  readonly list: (of: ObjectLocation, options: ListOptions, signal: AbortSignal) => Promise<ListPage>
  /**
   * Ends when the API server ends it, or when its connection is silent. Also throws errors that the API server reports within the watch.
   */
  readonly watch: (of: ObjectLocation, options: WatchOptions, signal: AbortSignal) => AsyncIterable<WatchEvent>
  /** Server-side apply: sets fields for `manager` and takes them over from other managers. */
  readonly apply: (at: CustomLocation, wanted: ApplyRequest, signal: AbortSignal) => Promise<KubeObject>
  readonly mergePatch: (at: CustomLocation, patch: object, signal: AbortSignal) => Promise<KubeObject>
  /** Deletes the custom resource with this uid. Throws `Conflict` when another object has its name by now. */
  readonly remove: (at: CustomLocation & Place, uid: string, signal: AbortSignal) => Promise<void>
}

/** For built-in kinds. */
interface Place {
  readonly namespace: string
  readonly name: string
}

export type CustomLocation = ObjectLocation & { readonly name: string }

interface ListOptions {
  readonly limit: number
  /** From the previous page. */
  readonly continue?: string | undefined
  /** If true, lists only `metadata`. */
  readonly metadataOnly?: boolean
}

interface ListPage {
  readonly items: readonly KubeObject[]
  /** A watch starts here after the last page. */
  readonly resourceVersion: string
  /** Absent on the last page. */
  readonly continue?: string
}

interface ApplyRequest {
  /** Has `apiVersion` and `kind`. The API server refuses unknown fields. */
  readonly object: object
  readonly manager: string
}

interface ClusterOptions extends CallerOptions {
  readonly config: KubeConfig
}

/** The API server refuses unknown fields. Without it, they are dropped silently. */
const STRICT = { fieldValidation: 'Strict' }
const MERGE = { 'Content-Type': PatchStrategy.MergePatch }
const APPLY = { 'Content-Type': PatchStrategy.ServerSideApply }

type Send = (options: CallOptions) => Promise<unknown>

/** Connects at the first request. */
export function openClusterClient(options: ClusterOptions): ClusterClient {
  const { config } = options
  const leases = config.makeApiClient(CoordinationV1Api)
  const core = config.makeApiClient(CoreV1Api)
  const custom = config.makeApiClient(CustomObjectsApi)
  const caller = new Caller(options)
  const find = (send: Send, signal: AbortSignal) =>
    caller.call({ method: 'GET', send, read: objectOf }, signal).catch(undefinedIfGone)
  const create = (send: Send, signal: AbortSignal) => caller.call({ method: 'POST', send, read: objectOf }, signal)
  const patch = (headers: Readonly<Record<string, string>>, send: Send, signal: AbortSignal) =>
    caller.call({ method: 'PATCH', headers, send, read: objectOf }, signal)
  return {
    readLease: (place, signal) => find((call) => leases.readNamespacedLease(place, call), signal),
    createLease: (namespace, body, signal) =>
      create((call) => leases.createNamespacedLease({ ...STRICT, namespace, body }, call), signal),
    replaceLease: (place, body, signal) => {
      const send: Send = (call) => leases.replaceNamespacedLease({ ...STRICT, ...place, body }, call)
      return caller.call({ method: 'PUT', send, read: objectOf }, signal)
    },
    readSecret: (place, signal) => find((call) => core.readNamespacedSecret(place, call), signal),
    createSecret: (namespace, body, signal) =>
      create((call) => core.createNamespacedSecret({ ...STRICT, namespace, body }, call), signal),
    patchSecret: (place, body, signal) =>
      patch(MERGE, (call) => core.patchNamespacedSecret({ ...STRICT, ...place, body }, call), signal),
    readConfigMap: (place, signal) => find((call) => core.readNamespacedConfigMap(place, call), signal),
    createEvent: async (body, signal) => {
      const { namespace = '' } = body.metadata
      await create((call) => core.createNamespacedEvent({ ...STRICT, namespace, body }, call), signal)
    },
    list: (of, { limit, continue: token, metadataOnly = false }, signal) => {
      const page = { limit, ...(token !== undefined && { _continue: token }) }
      const send: Send = (call) =>
        of.group === ''
          ? core.listConfigMapForAllNamespaces(page, call)
          : custom.listClusterCustomObject({ ...of, ...page }, call)
      const headers = { Accept: acceptOf('PartialObjectMetadataList', metadataOnly) }
      return caller.call({ method: 'GET', headers, send, read: pageOf }, signal)
    },
    watch: (of, watched, signal) => openWatch(options, { path: pathOf(of), ...watched }, signal),
    apply: (at, { object: body, manager: fieldManager }, signal) =>
      patch(APPLY, (call) => patchCustom(custom, { ...STRICT, ...at, body, fieldManager, force: true }, call), signal),
    mergePatch: (at, body, signal) =>
      patch(MERGE, (call) => patchCustom(custom, { ...STRICT, ...at, body }, call), signal),
    remove: async (at, uid, signal) => {
      const send: Send = (call) =>
        custom.deleteNamespacedCustomObject({ ...at, body: { preconditions: { uid } } }, call)
      await caller.call({ method: 'DELETE', send, read: () => true }, signal)
    },
    [Symbol.dispose]: () => caller[Symbol.dispose](),
  }
}

type CustomPatch = CustomLocation & { readonly body: object; readonly fieldManager?: string; readonly force?: boolean }

function patchCustom(custom: CustomObjectsApi, { namespace, subresource, ...patch }: CustomPatch, call: CallOptions) {
  if (namespace === undefined) {
    return subresource === undefined
      ? custom.patchClusterCustomObject(patch, call)
      : custom.patchClusterCustomObjectStatus(patch, call)
  }
  return subresource === undefined
    ? custom.patchNamespacedCustomObject({ ...patch, namespace }, call)
    : custom.patchNamespacedCustomObjectStatus({ ...patch, namespace }, call)
}

/** When the kind does not exist, the API server also answers 404, but without a `Status` that says `NotFound`. */
function undefinedIfGone(error: unknown): undefined {
  if (error instanceof ClusterError && error.status === 404 && error.reason === 'NotFound') return undefined
  throw error
}

function objectOf(answer: unknown): KubeObject | undefined {
  return isKubeObject(answer) ? answer : undefined
}

function pageOf(answer: unknown): ListPage | undefined {
  if (!isRecord(answer) || !isRecord(answer['metadata'])) return undefined
  const { items, metadata } = answer
  // The typed clients rename `continue`.
  const { resourceVersion, continue: token = metadata['_continue'] } = metadata
  if (!Array.isArray(items) || !items.every(isKubeObject) || typeof resourceVersion !== 'string') return undefined
  return { items, resourceVersion, ...(typeof token === 'string' && token !== '' && { continue: token }) }
}

/**
 * Reconciles one resource from any state: adds its finalizer, prepares it, publishes its settings, and writes its status.
 *
 * Reconciles wait for the API server and for each other, publishing does not. So two changes are published before the reconcile: a new
 * spec of a tenant or key in force, and the removal of any resource. A key is revoked equally fast under any load.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { canonicalJson } from '@platen/contract/canonical-json.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { Resource, Uid } from '@platen/contract/resource.ts'
import type { Kind } from '@platen/contract/schema/resource.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { isNotFound } from '../cluster/error.ts'
import type { Compilation } from '../compilation/compilation.ts'
import {
  RECONCILE_MS_MAX,
  RECONCILE_WORKERS,
  REVOKED_MS_MAX,
  STATUS_COUNTS_DELAY_MS,
  STATUS_ENFORCED_WAIT_MS,
} from '../limit.ts'
import type { WorkQueue } from '../queue/work-queue.ts'
import type { Events } from './event.ts'
import type { KindHandler } from './kind-handler.ts'
import { type PackedStatus, unpackStatus } from './packed-status.ts'
import type { Propagation } from './propagation.ts'
import type { Publication } from './publication.ts'
import type { ResourceCache, ViewChange } from './resource-cache.ts'
import {
  API_VERSION,
  counterKeyOf,
  FINALIZER,
  keyOfResource,
  type ResourceView,
  resourcePath,
} from './resource-view.ts'
import { mergePatchOf, type Progress, type Status, type StatusFields, statusOf } from './status.ts'

export interface ReconcilerOptions {
  readonly resources: Pick<ResourceCache, 'get' | 'all'>
  readonly compilation: Pick<Compilation, 'resultOf' | 'tenantsOf' | 'dependentsOf'>
  readonly publication: Pick<Publication, 'start' | 'isEmpty' | 'submit' | 'inForceSince'>
  readonly propagation: Pick<Propagation, 'last' | 'isEnforced' | 'whenEnforced'>
  readonly handlers: Readonly<Record<Kind, KindHandler>>
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter'>
  readonly client: Pick<ClusterClient, 'apply' | 'mergePatch'>
  readonly events: Events
  readonly clock: Clock
}

/** The field manager of our finalizers. */
const FIELD_MANAGER = 'platen-operator'

interface WrittenStatus {
  readonly status: Status
  readonly text: string
  /** The resource version after the write. Absent until the write returns. */
  resourceVersion?: string
}

export class Reconciler {
  readonly #options: ReconcilerOptions
  /** The last resource compiled for each key. */
  readonly #compiled = new Map<string, Resource>()
  /** Resources whose preparation waits for something. They may never have been compiled. */
  readonly #pending = new Map<string, Resource>()
  /** Keys whose resource or surroundings changed since they were last prepared. */
  readonly #dirty = new Set<string>()
  readonly #retryAt = new Map<string, Instant>()
  readonly #statusFields = new Map<string, StatusFields>()
  /** Resources not known to be enforced. Before `until`, on the monotonic clock, that alone is not worth a status write. */
  readonly #awaited = new Map<string, { readonly revision: number; readonly until: number }>()
  /** Statuses that were written and not yet read back. */
  readonly #written = new Map<string, WrittenStatus>()

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Compiles and publishes all resources, and queues each of them. Throws as `Publication.start` does. */
  async start(signal: AbortSignal): Promise<void> {
    const { resources, publication, handlers, queue } = this.#options
    const views = resources.all().filter(({ isDeleting }) => !isDeleting)
    for (const each of views) {
      const key = keyOfResource(each.resource)
      const statusFields = handlers[each.resource.kind].restore(each, this.#statusOf(each))
      if (statusFields === undefined) this.#dirty.add(key)
      else this.#statusFields.set(key, statusFields)
      this.#compiled.set(key, each.resource)
    }
    if (publication.isEmpty()) await this.#prepareInForce(views, signal)
    await publication.start(
      views.map(({ resource }) => ({ uid: resource.metadata.uid, resource })),
      signal,
    )
    for (const { resource } of resources.all()) queue.add(keyOfResource(resource), 'resync')
  }

  /**
   * Prepares the resources that were in force and must be prepared again. Redis has lost everything, but processes still enforce the old
   * settings. The next publish removes what it does not contain. A resource that fails here is prepared in its reconcile.
   */
  async #prepareInForce(views: readonly ResourceView[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const waiting = views
      .filter((each) => this.#dirty.has(keyOfResource(each.resource)))
      .filter((each) => this.#statusOf(each).observedGeneration !== undefined)
      .values()
    const work = async () => {
      for (const each of waiting) {
        const limited = AbortSignal.any([signal, clock.timeout(RECONCILE_MS_MAX)])
        await this.#prepare(keyOfResource(each.resource), each, limited).catch(() => undefined)
      }
    }
    await Promise.all(Array.from({ length: RECONCILE_WORKERS }, work))
    signal.throwIfAborted()
  }

  /** Receives the changes of the resource cache. */
  onChange({ key, priority, isSpecChange }: ViewChange): void {
    const after = this.#options.resources.get(key)
    if (isSpecChange) {
      this.#dirty.add(key)
      this.#publishEarly(key, after)
    }
    const written = this.#written.get(key)
    if (written !== undefined && after !== undefined && isReadBack(after, written)) {
      this.#written.delete(key)
      if (!isSpecChange && canonicalStatus(after.status) === written.text) return
    }
    this.#options.queue.add(key, priority)
  }

  /** Queues a resource whose surroundings changed, to be prepared again. */
  markDirty(key: string): void {
    this.#dirty.add(key)
    this.#options.queue.add(key)
  }

  /** Queues resources whose compile result changed. */
  requeue(uids: Iterable<Uid>): void {
    const { compilation, queue } = this.#options
    for (const uid of uids) {
      const result = compilation.resultOf(uid)
      if (result !== undefined) queue.add(keyOfResource(result.resource), 'resync')
    }
  }

  /** Publishes a change of a resource in force. Its reconcile publishes it again, does the rest, and handles errors. */
  #publishEarly(key: string, after: ResourceView | undefined): void {
    const last = this.#compiled.get(key)
    if (last === undefined) return
    const { uid, generation } = last.metadata
    const resource = latestOf(last, after)
    // Skips plans: compiling all tenants of a plan twice would take longer than its reconcile.
    if (resource !== undefined && (resource.kind === 'Plan' || resource.metadata.generation === generation)) return
    this.#options.publication.submit({ uid, ...(resource && { resource }) }).catch(() => undefined)
  }

  async reconcile(key: string, signal: AbortSignal): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const { resources, handlers, clock } = this.#options
    const pending = this.#pending.get(key)
    if (pending !== undefined && latestOf(pending, resources.get(key)) === undefined) {
      this.#pending.delete(key)
      handlers[pending.kind].forget(pending)
    }
    const last = this.#compiled.get(key)
    if (last !== undefined && latestOf(last, resources.get(key)) === undefined) await this.#withdraw(key, last)
    const view = resources.get(key)
    if (view === undefined || view.isDeleting) {
      // Another reconcile handles a new resource with the same name.
      this.#dirty.delete(key)
      return view && this.#removeFinalizer(key, view, signal)
    }
    const retryAt = this.#retryAt.get(key)
    const isDue =
      this.#dirty.has(key) || (retryAt !== undefined && retryAt <= clock.now()) || this.#needsPreparing(view)
    if (isDue && !(await this.#prepareAndPublish(key, view, signal))) return undefined
    const waitMs = await this.#writeStatus(key, view, signal)
    const untilRetryMs = Math.max(0, (this.#retryAt.get(key) ?? Number.POSITIVE_INFINITY) - clock.now())
    const requeueAfterMs = Math.min(waitMs, untilRetryMs)
    return requeueAfterMs === Number.POSITIVE_INFINITY ? undefined : { requeueAfterMs }
  }

  /** Returns false when the resource waits for something. */
  async #prepareAndPublish(key: string, view: ResourceView, signal: AbortSignal): Promise<boolean> {
    let reason: 'StoreUnavailable' | 'RedisUnavailable' = 'StoreUnavailable'
    try {
      if (!(await this.#prepare(key, view, signal))) {
        this.#pending.set(key, view.resource)
        return false
      }
      this.#pending.delete(key)
      reason = 'RedisUnavailable'
      await this.#publish(key, view)
      if (this.#needsPreparing(view)) this.markDirty(key)
      return true
    } catch (error) {
      this.#dirty.add(key)
      if (!(error instanceof Unavailable)) throw error
      // A resource that was never compiled has no result to report yet.
      if (!this.#compiled.has(key)) await this.#publish(key, view)
      await this.#patchStatus(key, view, { progress: { step: 'unpublished', reason, message: error.message }, signal })
      throw error
    }
  }

  async #publish(key: string, { resource: seen }: ResourceView): Promise<void> {
    const { resources, publication } = this.#options
    const before = this.#compiled.get(key)
    const resource = latestOf(seen, resources.get(key))
    this.#compiled.set(key, resource ?? seen)
    // The next reconcile withdraws it.
    if (resource === undefined) return
    await publication.submit({ uid: resource.metadata.uid, resource })
    this.#requeueCounters(before, resource)
  }

  #needsPreparing(view: ResourceView): boolean {
    return this.#options.handlers[view.resource.kind].needsPreparing?.(view) === true
  }

  /** Returns false when the resource waits for something. */
  async #prepare(key: string, view: ResourceView, signal: AbortSignal): Promise<boolean> {
    const { resource } = view
    // Another reconcile handles changes from here on.
    this.#dirty.delete(key)
    try {
      if (hasFinalizer(resource) && !view.finalizers.includes(FINALIZER))
        await this.#apply(view, { finalizers: [FINALIZER] }, signal)
      const { handlers, events } = this.#options
      const handler = handlers[resource.kind]
      const prepared = await handler.prepare(view, this.#statusOf(view), signal)
      if ('isPending' in prepared) return false
      const { statusFields = {}, retryAt, warning } = prepared
      this.#statusFields.set(key, statusFields)
      if (retryAt === undefined) this.#retryAt.delete(key)
      else this.#retryAt.set(key, retryAt)
      if (warning !== undefined) await events.warning(resource, warning, signal)
      return true
    } catch (error) {
      this.#dirty.add(key)
      throw error
    }
  }

  /** Takes the resource out of force. */
  async #withdraw(key: string, resource: Resource): Promise<void> {
    const { publication, handlers } = this.#options
    await publication.submit({ uid: resource.metadata.uid })
    handlers[resource.kind].forget(resource)
    for (const map of [this.#compiled, this.#statusFields, this.#written, this.#retryAt, this.#awaited]) map.delete(key)
    this.#requeueCounters(resource, undefined)
  }

  /** Removes the finalizer once no process enforces the resource, or after `REVOKED_MS_MAX`. */
  async #removeFinalizer(key: string, view: ResourceView, signal: AbortSignal) {
    const { publication, propagation, clock } = this.#options
    if (!view.finalizers.includes(FINALIZER)) return undefined
    const { revision, at } = publication.inForceSince(view.resource.metadata.uid)
    if (!propagation.isEnforced(revision) && clock.now() - at < REVOKED_MS_MAX) {
      propagation.whenEnforced(key, revision)
      return { requeueAfterMs: REVOKED_MS_MAX }
    }
    await this.#apply(view, {}, signal)
    return undefined
  }

  /**
   * Writes the progress to the status if it is new. Returns how soon to reconcile again. While a resource waits to be enforced, the
   * worker does other work, so that one write reports both.
   */
  async #writeStatus(key: string, view: ResourceView, signal: AbortSignal): Promise<number> {
    const { publication, propagation } = this.#options
    const since = publication.inForceSince(view.resource.metadata.uid)
    const isEnforced = propagation.isEnforced(since.revision)
    if (isEnforced) {
      this.#awaited.delete(key)
    } else {
      propagation.whenEnforced(key, since.revision)
      const waitMs = this.#statusDelayMs(key, since.revision)
      if (waitMs > 0) return waitMs
    }
    const step = isEnforced ? 'enforced' : 'published'
    await this.#patchStatus(key, view, { progress: { step, since, enforced: propagation.last }, signal })
    return Number.POSITIVE_INFINITY
  }

  /** Returns how much longer the status write waits for a revision to be enforced. */
  #statusDelayMs(key: string, revision: number): number {
    const now = this.#options.clock.monotonic()
    const known = this.#awaited.get(key)
    const awaited = known?.revision === revision ? known : { revision, until: now + STATUS_ENFORCED_WAIT_MS }
    this.#awaited.set(key, awaited)
    return Math.max(0, awaited.until - now)
  }

  async #patchStatus(
    key: string,
    view: ResourceView,
    { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
  ): Promise<void> {
    const { compilation, client, events, clock } = this.#options
    const result = compilation.resultOf(view.resource.metadata.uid)
    // The resource changed meanwhile. Its next reconcile reports the new generation.
    const { generation } = view.resource.metadata
    if (result === undefined || result.resource.metadata.generation > generation) return
    const before = this.#statusOf(view)
    const statusFields = { ...this.#statusFields.get(key), ...this.#countsOf(view.resource) }
    const status = statusOf({ result, progress, statusFields, before, now: clock.now() })
    const written: WrittenStatus = { status, text: canonicalJson(status) }
    if (written.text === canonicalJson(before)) return
    const patch = { metadata: identityOf(view.resource.metadata), status: mergePatchOf(before, status) }
    this.#written.set(key, written)
    try {
      const { metadata } = await client.mergePatch(resourcePath(view.resource, 'status'), patch, signal)
      written.resourceVersion = metadata.resourceVersion
    } catch (error) {
      // The stored status is unknown now.
      this.#written.delete(key)
      if (isNotFound(error)) return
      throw error
    }
    await events.transition(view.resource, { before, after: status }, signal)
  }

  async #apply(view: ResourceView, metadata: object, signal: AbortSignal): Promise<void> {
    const { kind } = view.resource
    const object = {
      apiVersion: API_VERSION,
      kind,
      metadata: { ...identityOf(view.resource.metadata), ...metadata },
    }
    await this.#options.client
      .apply(resourcePath(view.resource), { object, manager: FIELD_MANAGER }, signal)
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error
      })
  }

  #statusOf(view: ResourceView): Status {
    return this.#written.get(keyOfResource(view.resource))?.status ?? unpackStatus(view.status)
  }

  #countsOf(resource: Resource): StatusFields {
    const { compilation } = this.#options
    const { name } = resource.metadata
    if (resource.kind === 'Plan') return { tenants: compilation.tenantsOf(name).size }
    if (resource.kind !== 'Tenant') return {}
    const kinds = [...compilation.dependentsOf(name)].map((uid) => compilation.resultOf(uid)?.resource.kind)
    const templates = kinds.filter((kind) => kind === 'Template').length
    return { templates, apiKeys: kinds.length - templates }
  }

  /** Queues, a little later, the resources whose status counts this one. */
  #requeueCounters(before: Resource | undefined, after: Resource | undefined): void {
    const names = [before, after].map((resource) => resource && counterKeyOf(resource))
    if (names[0] === names[1]) return
    for (const name of names) if (name !== undefined) this.#options.queue.addAfter(name, STATUS_COUNTS_DELAY_MS)
  }
}

/** Tells whether the view shows the written status or a later one. */
function isReadBack({ status, resourceVersion }: ResourceView, written: WrittenStatus): boolean {
  if (canonicalStatus(status) === written.text) return true
  return written.resourceVersion !== undefined && BigInt(resourceVersion) >= BigInt(written.resourceVersion)
}

/**
 * Returns the version of a prepared resource to publish. Usually the current one: it may already be in force and must not be taken back.
 * For a template the prepared one: renderers need its sources. Undefined when it is gone.
 */
function latestOf(prepared: Resource, now: ResourceView | undefined): Resource | undefined {
  if (now === undefined || now.isDeleting || now.resource.metadata.uid !== prepared.metadata.uid) return undefined
  return now.resource.kind === 'Template' ? prepared : now.resource
}

function hasFinalizer({ kind }: Resource): boolean {
  return kind === 'Tenant' || kind === 'ApiKey'
}

/** Includes the uid, so that a write never changes another object of that name and never creates an object that is gone. */
function identityOf(metadata: Resource['metadata']): object {
  const { name, uid } = metadata
  return { name, uid, ...('namespace' in metadata && { namespace: metadata.namespace }) }
}

function canonicalStatus(packed: PackedStatus): string {
  return canonicalJson(unpackStatus(packed))
}

/**
 * What is done for one resource, whatever has become of it: its finalizer is put on, what it needs is seen to, its settings are
 * published, and its status says how far that has come. Looked at again, it comes to the same.
 *
 * All but publishing waits for the API server, and looks wait for each other. So what a tenant or key in force is changed to, and that
 * anything is gone, is published the moment it is known, before the look at it: a key is revoked as fast in a crowd as alone.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { canonicalJson } from '@platen/contract/canonical-json.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { Resource, Uid } from '@platen/contract/resource.ts'
import type { Kind } from '@platen/contract/schema/resource.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { ClusterError } from '../cluster/error.ts'
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
import type { KindHandler, StatusFields } from './kind-handler.ts'
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
import { mergePatchOf, type Progress, type Status, statusOf } from './status.ts'

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

/** Whose finalizers are. */
const FIELD_MANAGER = 'platen-operator'

interface WrittenStatus {
  readonly status: Status
  readonly text: string
  /** The state it brought about; absent as long as that is not known. */
  resourceVersion?: string
}

export class Reconciler {
  readonly #options: ReconcilerOptions
  /** What is compiled under a key. */
  readonly #compiled = new Map<string, Resource>()
  /** What is seen to under a key and waits for something, and may never have been compiled. */
  readonly #pending = new Map<string, Resource>()
  /** Of which something else is declared, or may have to be seen to, than when it was prepared last. */
  readonly #dirty = new Set<string>()
  readonly #retryAt = new Map<string, Instant>()
  readonly #statusFields = new Map<string, StatusFields>()
  /** Whose settings are not known to be enforced, and until when, on the monotonic clock, that is not worth a write. */
  readonly #awaited = new Map<string, { readonly revision: number; readonly until: number }>()
  /** Statuses that were written and not yet read back. */
  readonly #written = new Map<string, WrittenStatus>()

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Compiles and publishes all there is, and has each of them looked at. Throws as `Publication.start` does. */
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
   * Sees to all that were in force and are to be seen to anew. Nothing is left of what was published, and processes still enforce it:
   * what is published next takes from them whatever it does not have. One that cannot be seen to now is looked at in its turn.
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

  /** For the inventory. */
  onChange({ key, priority, after, isSpecChange }: ViewChange): void {
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

  /** Has resources seen to again whose surroundings have changed. */
  markAllDirty(uids: Iterable<Uid>): void {
    for (const key of this.#keysOf(uids)) this.markDirty(key)
  }

  markDirty(key: string): void {
    this.#dirty.add(key)
    this.#options.queue.add(key)
  }

  /** Has resources looked at that have come to something else. */
  requeue(uids: Iterable<Uid>): void {
    for (const key of this.#keysOf(uids)) this.#options.queue.add(key, 'resync')
  }

  /** Publishes what became of a resource in force. The look at it does so again, sees to the rest, and learns what came of it. */
  #publishEarly(key: string, after: ResourceView | undefined): void {
    const last = this.#compiled.get(key)
    if (last === undefined) return
    const { uid, generation } = last.metadata
    const resource = latestOf(last, after)
    // To compile all tenants of a plan twice would take longer than the look does.
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
      // One of the same name that comes from here on is seen to in another look.
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

  /** False where it waits for something. */
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
      // Who was never compiled has nothing to be told of.
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
    // The look that follows withdraws it.
    if (resource === undefined) return
    await publication.submit({ uid: resource.metadata.uid, resource })
    this.#requeueCounters(before, resource)
  }

  #needsPreparing(view: ResourceView): boolean {
    return this.#options.handlers[view.resource.kind].needsPreparing?.(view) === true
  }

  /** False where it waits for something. */
  async #prepare(key: string, view: ResourceView, signal: AbortSignal): Promise<boolean> {
    const { resource } = view
    // What changes from here on is seen to in another look.
    this.#dirty.delete(key)
    try {
      if (hasFinalizer(resource) && !view.finalizers.includes(FINALIZER))
        await this.#apply(view, { finalizers: [FINALIZER] }, signal)
      const { handlers, events } = this.#options
      const handler = handlers[resource.kind]
      const { statusFields, retryAt, warning, isPending } = await handler.prepare(view, this.#statusOf(view), signal)
      if (isPending) return false
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

  /** Nothing of it is in force from here on. */
  async #withdraw(key: string, resource: Resource): Promise<void> {
    const { publication, handlers } = this.#options
    await publication.submit({ uid: resource.metadata.uid })
    handlers[resource.kind].forget(resource)
    for (const map of [this.#compiled, this.#statusFields, this.#written, this.#retryAt, this.#awaited]) map.delete(key)
    this.#requeueCounters(resource, undefined)
  }

  /** Lets it go, once no process enforces it any more, or one that does takes too long. */
  async #removeFinalizer(key: string, view: ResourceView, signal: AbortSignal) {
    const { publication, propagation, queue, clock } = this.#options
    if (!view.finalizers.includes(FINALIZER)) return undefined
    const { revision, at } = publication.inForceSince(view.resource.metadata.uid)
    if (!propagation.isEnforced(revision) && clock.now() - at < REVOKED_MS_MAX) {
      propagation.whenEnforced(key, revision, () => queue.add(key))
      return { requeueAfterMs: REVOKED_MS_MAX }
    }
    await this.#apply(view, {}, signal)
    return undefined
  }

  /**
   * Writes how far it has come, where the status does not say so already. Answers how soon it is to be looked at again: others are
   * while it waits to be enforced, as one write tells that as well.
   */
  async #writeStatus(key: string, view: ResourceView, signal: AbortSignal): Promise<number> {
    const { publication, propagation, queue } = this.#options
    const since = publication.inForceSince(view.resource.metadata.uid)
    const isEnforced = propagation.isEnforced(since.revision)
    if (isEnforced) {
      this.#awaited.delete(key)
    } else {
      propagation.whenEnforced(key, since.revision, () => queue.add(key))
      const waitMs = this.#statusDelayMs(key, since.revision)
      if (waitMs > 0) return waitMs
    }
    const step = isEnforced ? 'enforced' : 'published'
    await this.#patchStatus(key, view, { progress: { step, since, enforced: propagation.last }, signal })
    return Number.POSITIVE_INFINITY
  }

  /** For how much longer its status waits for a revision to be enforced. */
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
    // What it was changed to meanwhile is told of when all of it is seen to.
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
      // It is not known what it says now.
      this.#written.delete(key)
      if (isGone(error)) return
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
        if (!isGone(error)) throw error
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

  /** Has those looked at, a little later, whose status counts a resource. */
  #requeueCounters(before: Resource | undefined, after: Resource | undefined): void {
    const names = [before, after].map((resource) => resource && counterKeyOf(resource))
    if (names[0] === names[1]) return
    for (const name of names) if (name !== undefined) this.#options.queue.addAfter(name, STATUS_COUNTS_DELAY_MS)
  }

  #keysOf(uids: Iterable<Uid>): readonly string[] {
    const { compilation } = this.#options
    const resources = Array.from(uids, (uid) => compilation.resultOf(uid)?.resource)
    return resources.flatMap((resource) => (resource === undefined ? [] : [keyOfResource(resource)]))
  }
}

/** Is what was read what was written, or of later? */
function isReadBack({ status, resourceVersion }: ResourceView, written: WrittenStatus): boolean {
  if (canonicalStatus(status) === written.text) return true
  return written.resourceVersion !== undefined && BigInt(resourceVersion) >= BigInt(written.resourceVersion)
}

/**
 * As what a resource that was seen to is to be in force: as it was changed to meanwhile, which may be in force already and is not taken
 * back; a template as it was seen to, since renderers must have its sources. Undefined when it is gone.
 */
function latestOf(prepared: Resource, now: ResourceView | undefined): Resource | undefined {
  if (now === undefined || now.isDeleting || now.resource.metadata.uid !== prepared.metadata.uid) return undefined
  return now.resource.kind === 'Template' ? prepared : now.resource
}

function hasFinalizer({ kind }: Resource): boolean {
  return kind === 'Tenant' || kind === 'ApiKey'
}

/** With the uid, so that nothing is written to another object of the name, nor one made where there is none any more. */
function identityOf(metadata: Resource['metadata']): object {
  const { name, uid } = metadata
  return { name, uid, ...('namespace' in metadata && { namespace: metadata.namespace }) }
}

function isGone(error: unknown): boolean {
  return error instanceof ClusterError && error.status === 404
}

function canonicalStatus(packed: PackedStatus): string {
  return canonicalJson(unpackStatus(packed))
}

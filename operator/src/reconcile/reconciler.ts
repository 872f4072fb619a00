/**
 * Reconciles one resource from any state: adds its finalizer, prepares it, publishes its settings, and writes its status.
 *
 * Reconciles wait for the API server and for each other, publishing does not. So two changes are published before the reconcile: a new spec
 * of a tenant or key in force, and the removal of any resource. A key is revoked equally fast under any load.
 */

import type { Resource, Uid } from '@platen/contract/domain/resource.ts'
import type { Kind, TenantStatus } from '@platen/contract/domain/resource-spec.ts'
import { canonicalJson } from '@platen/lib/canonical-json.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { firstAborted } from '@platen/lib/race.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import type { Compilation } from '@platen/settings/compilation/compilation.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { isNotFound } from '../cluster/error.ts'
import { RECONCILE_MS_MAX } from '../queue/limit.ts'
import type { WorkQueue } from '../queue/work-queue.ts'
import type { Events } from './event.ts'
import type { KindHandler } from './kind-handler.ts'
import { RECONCILE_WORKERS, REVOKED_MS_MAX } from './limit.ts'
import { unpackStatus } from './packed-status.ts'
import type { Propagation } from './propagation.ts'
import type { InForceSince, Publication } from './publication.ts'
import type { ResourceCache, ViewChange } from './resource-cache.ts'
import {
  isWithHandler,
  lastStatusOf,
  NO_STATUS_FIELDS,
  type PreparedResource,
  type Preparing,
  type Report,
  type ResourceState,
  readBack,
  type Stage,
  type Submitted,
  unprepared,
  type WrittenStatus,
} from './resource-state.ts'
import {
  API_VERSION,
  counterKeyOf,
  FINALIZER,
  hasSameSpec,
  keyOfResource,
  locationOf,
  type ResourceView,
} from './resource-view.ts'
import { mergePatchOf, type Progress, type StatusFields, statusOf } from './status.ts'

const SECOND_MS = 1000

/** Delay of a status write that counts resources. A thousand resources that arrive at once then cost few writes. */
export const STATUS_COUNTS_DELAY_MS = SECOND_MS

/**
 * How long a status write waits for the resource to be enforced. Most resources are enforced within this time, so one write reports both.
 */
const STATUS_ENFORCED_WAIT_MS = 250

interface ReconcilerOptions {
  readonly resources: Pick<ResourceCache, 'get' | 'all'>
  readonly compilation: Pick<Compilation, 'resultOf' | 'tenantsOf' | 'dependentsOf'>
  readonly publication: Pick<Publication, 'start' | 'isEmpty' | 'submit' | 'inForceSince'>
  readonly propagation: Pick<Propagation, 'last' | 'isEnforced' | 'whenEnforced'>
  readonly usageOf: (uid: Uid) => TenantStatus['usage']
  readonly handlers: Readonly<Record<Kind, KindHandler>>
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter'>
  readonly client: Pick<ClusterClient, 'apply' | 'mergePatch'>
  readonly events: Events
  readonly clock: Clock
}

/** For our finalizers. */
const FIELD_MANAGER = 'platen-operator'

export class Reconciler {
  readonly #options: ReconcilerOptions
  /** One record for each key. Only the reconcile of a key moves it to another step, and at most one runs. */
  readonly #states = new Map<string, ResourceState>()

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Compiles and publishes all resources, and queues each of them. Throws as `Publication.start` does. */
  async start(signal: AbortSignal): Promise<void> {
    const { resources, publication, handlers, queue } = this.#options
    const views = resources.all().filter(({ isDeleting }) => !isDeleting)
    for (const view of views) {
      const { resource } = view
      const statusFields = handlers[resource.kind].restore(view, unpackStatus(view.status))
      this.#states.set(keyOfResource(resource), {
        isDirty: statusFields === undefined,
        stage: { step: 'submitted', ...unprepared(resource), ...(statusFields && { statusFields }), report: {} },
      })
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
    const { resources, clock } = this.#options
    const waiting = views
      .filter(({ resource }) => this.#stateOf(keyOfResource(resource)).isDirty)
      .filter(({ status }) => unpackStatus(status).observedGeneration !== undefined)
    await forEachConcurrently(waiting, RECONCILE_WORKERS, async (view) => {
      const key = keyOfResource(view.resource)
      const state = this.#stateOf(key)
      using limited = firstAborted([signal, clock.timeout(RECONCILE_MS_MAX)])
      const prepared = await this.#prepare(state, view, limited.signal).catch(() => undefined)
      if (prepared !== undefined) state.stage = { step: 'submitted', ...prepared, report: {} }
      // It may have changed while others were prepared. Then its reconcile prepares it again.
      const latest = resources.get(key)
      if (prepared === undefined || latest === undefined || !hasSameSpec(view, latest)) state.isDirty = true
    })
    signal.throwIfAborted()
  }

  onChange({ key, priority, isSpecChange }: ViewChange): void {
    const { resources, queue } = this.#options
    const state = this.#stateOf(key)
    const { stage } = state
    const view = resources.get(key)
    const isOwnWrite = view !== undefined && readBack(stage, view)
    if (isOwnWrite && !isSpecChange) return
    if (isSpecChange) {
      state.isDirty = true
      // Its reconcile publishes it again, does the rest, and handles errors.
      if (stage.step === 'submitted' && isUrgent(stage.resource, view)) this.#publish(key, stage).catch(() => undefined)
    }
    queue.add(key, priority)
  }

  /** Queues a resource whose surroundings changed, to be prepared again. */
  markDirty(key: string): void {
    this.#stateOf(key).isDirty = true
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

  /** Brings everything in line with the resource under a key, from any state. Returns after how many milliseconds to do it again. */
  async reconcile(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { resources, clock } = this.#options
    const state = this.#stateOf(key)
    const { stage } = state
    if (isWithHandler(stage) && latestOf(stage.resource, resources.get(key)) === undefined)
      state.stage = { step: 'withdrawn', since: await this.#withdraw(key, stage) }
    const view = resources.get(key)
    if (view === undefined) {
      this.#states.delete(key)
      return undefined
    }
    if (view.isDeleting) return this.#removeFinalizer(key, view, signal)
    if (this.#mustPrepare(state, view) && !(await this.#prepareAndPublish(key, view, signal))) return undefined
    if (state.stage.step !== 'submitted') return undefined
    const waitMs = await this.#writeStatus(view, state.stage, signal)
    const requeueAfterMs = Math.min(waitMs, Math.max(0, state.stage.retryAt - clock.now()))
    return requeueAfterMs === Number.POSITIVE_INFINITY ? undefined : requeueAfterMs
  }

  /** Returns false when the resource waits for something. */
  async #prepareAndPublish(key: string, view: ResourceView, signal: AbortSignal): Promise<boolean> {
    const state = this.#stateOf(key)
    let reason: 'StoreUnavailable' | 'RedisUnavailable' = 'StoreUnavailable'
    try {
      const prepared = await this.#prepare(state, view, signal)
      if (prepared === undefined) return false
      reason = 'RedisUnavailable'
      await this.#publish(key, prepared)
      // The event it waited for may have occurred during the preparation.
      if (this.#needsPreparing(view)) this.#options.queue.add(key)
      return true
    } catch (error) {
      state.isDirty = true
      if (!(error instanceof Unavailable)) throw error
      // A resource that was never compiled has no result to report yet.
      if (state.stage.step !== 'submitted') await this.#publish(key, unprepared(view.resource))
      const progress: Progress = { step: 'unpublished', reason, message: error.message }
      await this.#patchStatus(view, { stage: state.stage, progress }, signal)
      throw error
    }
  }

  #mustPrepare({ isDirty, stage }: ResourceState, view: ResourceView): boolean {
    const isDue = stage.step === 'submitted' && stage.retryAt <= this.#options.clock.now()
    return isDirty || isDue || this.#needsPreparing(view)
  }

  #needsPreparing(view: ResourceView): boolean {
    return this.#options.handlers[view.resource.kind].needsPreparing?.(view) === true
  }

  /** Returns undefined when the resource waits for something. */
  async #prepare(state: ResourceState, view: ResourceView, signal: AbortSignal): Promise<PreparedResource | undefined> {
    const { handlers, events } = this.#options
    const { resource } = view
    // A change from here on marks it dirty again, for the next reconcile.
    state.isDirty = false
    if (!isWithHandler(state.stage)) state.stage = { step: 'preparing', resource }
    if (hasFinalizer(resource) && !view.finalizers.includes(FINALIZER))
      await this.#apply(view, { finalizers: [FINALIZER] }, signal)
    const prepared = await handlers[resource.kind].prepare(view, lastStatusOf(state.stage, view), signal)
    if ('isPending' in prepared) return undefined
    const { statusFields = NO_STATUS_FIELDS, retryAt = Number.POSITIVE_INFINITY, warning } = prepared
    if (warning !== undefined) await events.warning(resource, warning, signal)
    return { resource, statusFields, retryAt }
  }

  /**
   * Submits a prepared resource as it is declared now, or its removal. Every change goes this way, early or in its reconcile. Resolves when
   * it is in force, with since when. Throws `Unavailable` when it is not in force yet.
   */
  async #publish(key: string, prepared: PreparedResource): Promise<InForceSince> {
    const { resources, publication } = this.#options
    const state = this.#stateOf(key)
    const before = state.stage.step === 'submitted' ? state.stage : undefined
    const { uid } = prepared.resource.metadata
    const resource = latestOf(prepared.resource, resources.get(key))
    // Set before the wait, so that a change during the wait is published early.
    if (resource !== undefined) state.stage = { report: {}, ...before, ...prepared, step: 'submitted', resource }
    try {
      return await publication.submit({ uid, ...(resource && { resource }) })
    } finally {
      // A change that could not be published is compiled nevertheless, and so are the counts.
      this.#requeueCounters(before?.resource, resource)
    }
  }

  /** Takes a resource that is gone out of force. Another one may have its name by now. Returns since when nothing of it is in force. */
  async #withdraw(key: string, stage: Preparing | Submitted): Promise<InForceSince> {
    const { publication, handlers } = this.#options
    const { kind, metadata } = stage.resource
    const since = stage.step === 'submitted' ? await this.#publish(key, stage) : publication.inForceSince(metadata.uid)
    handlers[kind].forget(stage.resource)
    return since
  }

  /** Removes the finalizer once no process enforces the resource, or after `REVOKED_MS_MAX`. */
  async #removeFinalizer(key: string, view: ResourceView, signal: AbortSignal): Promise<number | undefined> {
    const { publication, propagation, handlers, clock } = this.#options
    if (!view.finalizers.includes(FINALIZER)) return undefined
    const { stage } = this.#stateOf(key)
    // A resource that was being deleted at the start is in no revision since then.
    const { revision, at } =
      stage.step === 'withdrawn' ? stage.since : publication.inForceSince(view.resource.metadata.uid)
    if (!propagation.isEnforced(revision) && clock.now() - at < REVOKED_MS_MAX) {
      propagation.whenEnforced(key, revision)
      return REVOKED_MS_MAX
    }
    await handlers[view.resource.kind].beforeRemoval?.(view.resource, signal)
    await this.#apply(view, {}, signal)
    return undefined
  }

  /**
   * Writes the progress to the status if it is new. Returns how soon to reconcile again. While a resource waits to be enforced, the worker
   * does other work, so that one write reports both.
   */
  async #writeStatus(view: ResourceView, stage: Submitted, signal: AbortSignal): Promise<number> {
    const { publication, propagation } = this.#options
    const since = publication.inForceSince(view.resource.metadata.uid)
    const isEnforced = propagation.isEnforced(since.revision)
    if (isEnforced) {
      stage.report.awaited = undefined
    } else {
      propagation.whenEnforced(keyOfResource(view.resource), since.revision)
      const waitMs = this.#statusDelayMs(stage.report, since.revision)
      if (waitMs > 0) return waitMs
    }
    const step = isEnforced ? 'enforced' : 'published'
    await this.#patchStatus(view, { stage, progress: { step, since, enforced: propagation.last } }, signal)
    return Number.POSITIVE_INFINITY
  }

  #statusDelayMs(report: Report, revision: number): number {
    const now = this.#options.clock.monotonic()
    const known = report.awaited
    const awaited = known?.revision === revision ? known : { revision, until: now + STATUS_ENFORCED_WAIT_MS }
    report.awaited = awaited
    return Math.max(0, awaited.until - now)
  }

  async #patchStatus(
    view: ResourceView,
    { stage, progress }: { readonly stage: Stage; readonly progress: Progress },
    signal: AbortSignal,
  ): Promise<void> {
    const { compilation, client, events, clock } = this.#options
    const { metadata } = view.resource
    const result = compilation.resultOf(metadata.uid)
    if (stage.step !== 'submitted' || result === undefined) return
    // The resource changed meanwhile. Its next reconcile reports the new generation.
    if (result.resource.metadata.generation > metadata.generation) return
    const before = lastStatusOf(stage, view)
    const statusFields = { ...stage.statusFields, ...this.#countsOf(view.resource) }
    const status = statusOf({ result, progress, statusFields, before, now: clock.now() })
    if (canonicalJson(status) === canonicalJson(before)) return
    const patch = { metadata: identityOf(metadata), status: mergePatchOf(before, status) }
    const written: WrittenStatus = { status }
    stage.report.written = written
    try {
      const answer = await client.mergePatch(locationOf(view.resource, 'status'), patch, signal)
      written.resourceVersion = answer.metadata.resourceVersion
    } catch (error) {
      // The stored status is unknown now.
      stage.report.written = undefined
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
      .apply(locationOf(view.resource), { object, manager: FIELD_MANAGER }, signal)
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error
      })
  }

  #countsOf(resource: Resource): StatusFields {
    const { compilation, usageOf } = this.#options
    const { name, uid } = resource.metadata
    if (resource.kind === 'Plan') return { tenants: compilation.tenantsOf(name).size }
    if (resource.kind !== 'Tenant') return {}
    const kinds = [...compilation.dependentsOf(name)].map((uid) => compilation.resultOf(uid)?.resource.kind)
    const templates = kinds.filter((kind) => kind === 'Template').length
    const usage = usageOf(uid)
    return { templates, apiKeys: kinds.length - templates, ...(usage && { usage }) }
  }

  /** Queues, a little later, the resources whose status counts this one. */
  #requeueCounters(before: Resource | undefined, after: Resource | undefined): void {
    const [last, next] = [before && counterKeyOf(before), after && counterKeyOf(after)]
    if (last === next) return
    for (const key of [last, next]) if (key !== undefined) this.#options.queue.addAfter(key, STATUS_COUNTS_DELAY_MS)
  }

  #stateOf(key: string): ResourceState {
    const known = this.#states.get(key)
    if (known !== undefined) return known
    const state: ResourceState = { isDirty: true, stage: { step: 'new' } }
    this.#states.set(key, state)
    return state
  }
}

/**
 * True if a change is published before its reconcile: a new spec or the removal of a resource in force. Not for a new plan: compiling all
 * tenants of a plan twice would take longer than its reconcile.
 */
function isUrgent(submitted: Resource, now: ResourceView | undefined): boolean {
  const resource = latestOf(submitted, now)
  if (resource === undefined) return true
  return resource.kind !== 'Plan' && resource.metadata.generation !== submitted.metadata.generation
}

/**
 * Returns the version of a prepared resource to publish. Usually the current one: it may already be in force and must not be taken back.
 * For a template the prepared one: renderers need its sources. Undefined when the resource is gone.
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

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
import { API_VERSION, counterOf, type Declared, FINALIZER, keyOfResource, placeOf } from './declared.ts'
import type { Events } from './event.ts'
import type { DeclaredChange, Inventory } from './inventory.ts'
import { type PackedStatus, unpackStatus } from './packed-status.ts'
import type { Propagation } from './propagation.ts'
import type { Publication } from './publication.ts'
import type { Known, Station } from './station.ts'
import { type Progress, patchOf, type Status, statusOf } from './status.ts'

export interface ReconcilerOptions {
  readonly inventory: Pick<Inventory, 'get' | 'all'>
  readonly compilation: Pick<Compilation, 'outcomeOf' | 'tenantsOf' | 'dependentsOf'>
  readonly publication: Pick<Publication, 'begin' | 'isEmpty' | 'submit' | 'since'>
  readonly propagation: Pick<Propagation, 'last' | 'has' | 'whenEnforced'>
  readonly stations: Readonly<Record<Kind, Station>>
  readonly queue: Pick<WorkQueue, 'add' | 'addAfter'>
  readonly client: Pick<ClusterClient, 'apply' | 'mergePatch'>
  readonly events: Events
  readonly clock: Clock
}

/** Whose finalizers are. */
const MANAGER = 'platen-operator'

interface Written {
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
  readonly #againAt = new Map<string, Instant>()
  readonly #known = new Map<string, Known>()
  /** Whose settings are not known to be enforced, and until when, on the monotonic clock, that is not worth a write. */
  readonly #awaited = new Map<string, { readonly revision: number; readonly until: number }>()
  /** Statuses that were written and not yet read back. */
  readonly #written = new Map<string, Written>()

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  /** Compiles and publishes all there is, and has each of them looked at. Throws as `Publication.begin` does. */
  async begin(signal: AbortSignal): Promise<void> {
    const { inventory, publication, stations, queue } = this.#options
    const declared = inventory.all().filter(({ isDeleting }) => !isDeleting)
    for (const each of declared) {
      const key = keyOfResource(each.resource)
      const known = stations[each.resource.kind].recall(each, this.#statusOf(each))
      if (known === undefined) this.#dirty.add(key)
      else this.#known.set(key, known)
      this.#compiled.set(key, each.resource)
    }
    if (publication.isEmpty()) await this.#restore(declared, signal)
    await publication.begin(
      declared.map(({ resource }) => ({ uid: resource.metadata.uid, resource })),
      signal,
    )
    for (const { resource } of inventory.all()) queue.add(keyOfResource(resource), 'resync')
  }

  /**
   * Sees to all that were in force and are to be seen to anew. Nothing is left of what was published, and processes still enforce it:
   * what is published next takes from them whatever it does not have. One that cannot be seen to now is looked at in its turn.
   */
  async #restore(declared: readonly Declared[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const waiting = declared
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
  take({ key, priority, after, isDeclaration }: DeclaredChange): void {
    if (isDeclaration) {
      this.#dirty.add(key)
      this.#hasten(key, after)
    }
    const written = this.#written.get(key)
    if (written !== undefined && after !== undefined && isReadBack(after, written)) {
      this.#written.delete(key)
      if (!isDeclaration && spell(after.status) === written.text) return
    }
    this.#options.queue.add(key, priority)
  }

  /** Has resources seen to again whose surroundings have changed. */
  prepareAgain(uids: Iterable<Uid>): void {
    for (const key of this.#keysOf(uids)) this.seeToAgain(key)
  }

  seeToAgain(key: string): void {
    this.#dirty.add(key)
    this.#options.queue.add(key)
  }

  /** Has resources looked at that have come to something else. */
  tellAgain(uids: Iterable<Uid>): void {
    for (const key of this.#keysOf(uids)) this.#options.queue.add(key, 'resync')
  }

  /** Publishes what became of a resource in force. The look at it does so again, sees to the rest, and learns what came of it. */
  #hasten(key: string, after: Declared | undefined): void {
    const last = this.#compiled.get(key)
    if (last === undefined) return
    const { uid, generation } = last.metadata
    const resource = latestOf(last, after)
    // To compile all tenants of a plan twice would take longer than the look does.
    if (resource !== undefined && (resource.kind === 'Plan' || resource.metadata.generation === generation)) return
    this.#options.publication.submit({ uid, ...(resource && { resource }) }).catch(() => undefined)
  }

  async reconcile(key: string, signal: AbortSignal): Promise<{ readonly requeueAfterMs: number } | undefined> {
    const { inventory, stations, clock } = this.#options
    const pending = this.#pending.get(key)
    if (pending !== undefined && latestOf(pending, inventory.get(key)) === undefined) {
      this.#pending.delete(key)
      stations[pending.kind].forget(pending)
    }
    const last = this.#compiled.get(key)
    if (last !== undefined && latestOf(last, inventory.get(key)) === undefined) await this.#withdraw(key, last)
    const declared = inventory.get(key)
    if (declared === undefined || declared.isDeleting) {
      // One of the same name that comes from here on is seen to in another look.
      this.#dirty.delete(key)
      return declared && this.#release(key, declared, signal)
    }
    const again = this.#againAt.get(key)
    const isDue = this.#dirty.has(key) || (again !== undefined && again <= clock.now()) || this.#isBehind(declared)
    if (isDue && !(await this.#settle(key, declared, signal))) return undefined
    const waitMs = await this.#tell(key, declared, signal)
    const untilAgainMs = Math.max(0, (this.#againAt.get(key) ?? Number.POSITIVE_INFINITY) - clock.now())
    const requeueAfterMs = Math.min(waitMs, untilAgainMs)
    return requeueAfterMs === Number.POSITIVE_INFINITY ? undefined : { requeueAfterMs }
  }

  /** False where it waits for something. */
  async #settle(key: string, declared: Declared, signal: AbortSignal): Promise<boolean> {
    let reason: 'StoreUnavailable' | 'RedisUnavailable' = 'StoreUnavailable'
    try {
      if (!(await this.#prepare(key, declared, signal))) {
        this.#pending.set(key, declared.resource)
        return false
      }
      this.#pending.delete(key)
      reason = 'RedisUnavailable'
      await this.#submit(key, declared)
      if (this.#isBehind(declared)) this.seeToAgain(key)
      return true
    } catch (error) {
      this.#dirty.add(key)
      if (!(error instanceof Unavailable)) throw error
      // Who was never compiled has nothing to be told of.
      if (!this.#compiled.has(key)) await this.#submit(key, declared)
      await this.#write(key, declared, { progress: { step: 'unpublished', reason, message: error.message }, signal })
      throw error
    }
  }

  async #submit(key: string, { resource: seen }: Declared): Promise<void> {
    const { inventory, publication } = this.#options
    const before = this.#compiled.get(key)
    const resource = latestOf(seen, inventory.get(key))
    this.#compiled.set(key, resource ?? seen)
    // The look that follows withdraws it.
    if (resource === undefined) return
    await publication.submit({ uid: resource.metadata.uid, resource })
    this.#count(before, resource)
  }

  #isBehind(declared: Declared): boolean {
    return this.#options.stations[declared.resource.kind].isBehind?.(declared) === true
  }

  /** False where it waits for something. */
  async #prepare(key: string, declared: Declared, signal: AbortSignal): Promise<boolean> {
    const { resource } = declared
    // What changes from here on is seen to in another look.
    this.#dirty.delete(key)
    try {
      if (hasFinalizer(resource) && !declared.finalizers.includes(FINALIZER))
        await this.#apply(declared, { finalizers: [FINALIZER] }, signal)
      const { stations, events } = this.#options
      const station = stations[resource.kind]
      const { known, again, warning, isPending } = await station.prepare(declared, this.#statusOf(declared), signal)
      if (isPending) return false
      this.#known.set(key, known)
      if (again === undefined) this.#againAt.delete(key)
      else this.#againAt.set(key, again)
      if (warning !== undefined) await events.warning(resource, warning, signal)
      return true
    } catch (error) {
      this.#dirty.add(key)
      throw error
    }
  }

  /** Nothing of it is in force from here on. */
  async #withdraw(key: string, resource: Resource): Promise<void> {
    const { publication, stations } = this.#options
    await publication.submit({ uid: resource.metadata.uid })
    stations[resource.kind].forget(resource)
    for (const map of [this.#compiled, this.#known, this.#written, this.#againAt, this.#awaited]) map.delete(key)
    this.#count(resource, undefined)
  }

  /** Lets it go, once no process enforces it any more, or one that does takes too long. */
  async #release(key: string, declared: Declared, signal: AbortSignal) {
    const { publication, propagation, queue, clock } = this.#options
    if (!declared.finalizers.includes(FINALIZER)) return undefined
    const { revision, at } = publication.since(declared.resource.metadata.uid)
    if (!propagation.has(revision) && clock.now() - at < REVOKED_MS_MAX) {
      propagation.whenEnforced(key, revision, () => queue.add(key))
      return { requeueAfterMs: REVOKED_MS_MAX }
    }
    await this.#apply(declared, {}, signal)
    return undefined
  }

  /**
   * Writes how far it has come, where the status does not say so already. Answers how soon it is to be looked at again: others are
   * while it waits to be enforced, as one write tells that as well.
   */
  async #tell(key: string, declared: Declared, signal: AbortSignal): Promise<number> {
    const { publication, propagation, queue } = this.#options
    const since = publication.since(declared.resource.metadata.uid)
    const isEnforced = propagation.has(since.revision)
    if (isEnforced) {
      this.#awaited.delete(key)
    } else {
      propagation.whenEnforced(key, since.revision, () => queue.add(key))
      const waitMs = this.#patienceMs(key, since.revision)
      if (waitMs > 0) return waitMs
    }
    const step = isEnforced ? 'enforced' : 'published'
    await this.#write(key, declared, { progress: { step, since, enforced: propagation.last }, signal })
    return Number.POSITIVE_INFINITY
  }

  /** For how much longer its status waits for a revision to be enforced. */
  #patienceMs(key: string, revision: number): number {
    const now = this.#options.clock.monotonic()
    const known = this.#awaited.get(key)
    const awaited = known?.revision === revision ? known : { revision, until: now + STATUS_ENFORCED_WAIT_MS }
    this.#awaited.set(key, awaited)
    return Math.max(0, awaited.until - now)
  }

  async #write(
    key: string,
    declared: Declared,
    { progress, signal }: { readonly progress: Progress; readonly signal: AbortSignal },
  ): Promise<void> {
    const { compilation, client, events, clock } = this.#options
    const outcome = compilation.outcomeOf(declared.resource.metadata.uid)
    // What it was changed to meanwhile is told of when all of it is seen to.
    const { generation } = declared.resource.metadata
    if (outcome === undefined || outcome.resource.metadata.generation > generation) return
    const before = this.#statusOf(declared)
    const known = { ...this.#known.get(key), ...this.#counts(declared.resource) }
    const status = statusOf({ outcome, progress, known, before, now: clock.now() })
    const written: Written = { status, text: canonicalJson(status) }
    if (written.text === canonicalJson(before)) return
    const patch = { metadata: identityOf(declared.resource.metadata), status: patchOf(before, status) }
    this.#written.set(key, written)
    try {
      const { metadata } = await client.mergePatch(placeOf(declared.resource, 'status'), patch, signal)
      written.resourceVersion = metadata.resourceVersion
    } catch (error) {
      // It is not known what it says now.
      this.#written.delete(key)
      if (isGone(error)) return
      throw error
    }
    await events.transition(declared.resource, { before, after: status }, signal)
  }

  async #apply(declared: Declared, metadata: object, signal: AbortSignal): Promise<void> {
    const { kind } = declared.resource
    const object = {
      apiVersion: API_VERSION,
      kind,
      metadata: { ...identityOf(declared.resource.metadata), ...metadata },
    }
    await this.#options.client
      .apply(placeOf(declared.resource), { object, manager: MANAGER }, signal)
      .catch((error: unknown) => {
        if (!isGone(error)) throw error
      })
  }

  #statusOf(declared: Declared): Status {
    return this.#written.get(keyOfResource(declared.resource))?.status ?? unpackStatus(declared.status)
  }

  #counts(resource: Resource): Known {
    const { compilation } = this.#options
    const { name } = resource.metadata
    if (resource.kind === 'Plan') return { tenants: compilation.tenantsOf(name).size }
    if (resource.kind !== 'Tenant') return {}
    const kinds = [...compilation.dependentsOf(name)].map((uid) => compilation.outcomeOf(uid)?.resource.kind)
    const templates = kinds.filter((kind) => kind === 'Template').length
    return { templates, apiKeys: kinds.length - templates }
  }

  /** Has those looked at, a little later, whose status counts a resource. */
  #count(before: Resource | undefined, after: Resource | undefined): void {
    const names = [before, after].map((resource) => resource && counterOf(resource))
    if (names[0] === names[1]) return
    for (const name of names) if (name !== undefined) this.#options.queue.addAfter(name, STATUS_COUNTS_DELAY_MS)
  }

  #keysOf(uids: Iterable<Uid>): readonly string[] {
    const { compilation } = this.#options
    const resources = Array.from(uids, (uid) => compilation.outcomeOf(uid)?.resource)
    return resources.flatMap((resource) => (resource === undefined ? [] : [keyOfResource(resource)]))
  }
}

/** Is what was read what was written, or of later? */
function isReadBack({ status, resourceVersion }: Declared, written: Written): boolean {
  if (spell(status) === written.text) return true
  return written.resourceVersion !== undefined && BigInt(resourceVersion) >= BigInt(written.resourceVersion)
}

/**
 * As what a resource that was seen to is to be in force: as it was changed to meanwhile, which may be in force already and is not taken
 * back; a template as it was seen to, since renderers must have its sources. Undefined when it is gone.
 */
function latestOf(seen: Resource, now: Declared | undefined): Resource | undefined {
  if (now === undefined || now.isDeleting || now.resource.metadata.uid !== seen.metadata.uid) return undefined
  return now.resource.kind === 'Template' ? seen : now.resource
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

function spell(packed: PackedStatus): string {
  return canonicalJson(unpackStatus(packed))
}

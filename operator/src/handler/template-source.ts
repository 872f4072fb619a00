/**
 * Prepares a template for compiling: reads its ConfigMaps, runs the publish check, and puts its sources and assets into the artifact
 * store. So nothing is published that a renderer cannot read. A template that no tenant accepts is not prepared. A running check blocks
 * no worker: workers reconcile other resources meanwhile.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { TemplateResource, Uid } from '@platen/contract/resource.ts'
import type { TemplateStatus } from '@platen/contract/schema/resource.ts'
import type { CheckFault, CheckRequest } from '@platen/contract/template-check.ts'
import { digestOf } from '@platen/settings/compile/digest.ts'
import { type ConfigMapContent, configMapNamesOf } from '@platen/settings/compile/source.ts'
import { checkRequestsOf, sampleOf } from '@platen/settings/compile/template.ts'
import type { CheckScheduler } from '@platen/settings/publish/check-scheduler.ts'
import { storeSources } from '@platen/settings/publish/store-source.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { isRecord, parseKey } from '../cluster/object.ts'
import { pathOf } from '../cluster/path.ts'
import { openMultimap } from '../compilation/conflict-index.ts'
import type { Prepared } from '../reconcile/kind-handler.ts'
import { keyOfResource } from '../reconcile/resource-view.ts'
import { isConditionTrue } from '../reconcile/status.ts'
import { CHECK_AGAIN_MS } from './limit.ts'

export interface TemplateSourceOptions {
  readonly client: Pick<ClusterClient, 'get'>
  /** The current resource version of a ConfigMap, by `namespace/name`. Undefined when there is none. */
  readonly versionOf: (configMap: string) => string | undefined
  readonly checks: CheckScheduler
  /** Tells whether the tenant that the template names accepts it. Only then is it checked and stored. */
  readonly isAccepted: (resource: TemplateResource) => boolean
  /** Called when a check has a result. The template must then be prepared again. */
  readonly onCheckDone: (resource: TemplateResource) => void
  readonly artifacts: ArtifactStore
  readonly serviceBucket: string
  readonly clock: Clock
}

export class TemplateSources implements Disposable {
  readonly #options: TemplateSourceOptions
  readonly #configMapUsers = openUsageIndex<string>((name) => this.configMaps.delete(name))
  /** A result is dropped with the last template that uses it. */
  readonly #checkUsers = openUsageIndex<Uid>((key) => {
    this.checks.delete(key)
    this.#inconclusive.delete(key)
  })
  /** Inconclusive checks, and when to repeat them. */
  readonly #inconclusive = new Map<string, Instant>()
  /**
   * Running checks, one per template. A check stays here with its result until the sources are stored, because a compiled template is
   * published at once.
   */
  readonly #running = new Map<Uid, RunningCheck>()
  /** Templates that were not prepared because no tenant accepted them. */
  readonly #unaccepted = new Set<Uid>()
  /** Read by the compilation. */
  readonly configMaps = new Map<string, FetchedConfigMap>()
  /** Read by the compilation. */
  readonly checks = new Map<string, readonly CheckFault[]>()

  constructor(options: TemplateSourceOptions) {
    this.#options = options
  }

  /** The keys of templates that use a ConfigMap, whether it exists or not. */
  usersOf(configMap: string): ReadonlySet<string> {
    return this.#configMapUsers.of(configMap)
  }

  /** Trusts a status that says the template is sound, if it uses no ConfigMap. Does not wait. */
  restore(resource: TemplateResource, status: TemplateStatus): void {
    if (configMapNamesOf(resource).length > 0 || !isSound(resource, status)) return
    for (const [key, { source }] of checkRequestsOf([resource], this.configMaps))
      if (digestOf(source) === status.digest) this.#storeFaults(resource.metadata.uid, key, [])
  }

  /** Tells whether a template was skipped because no tenant accepted it, and one accepts it now. */
  needsPreparing(resource: TemplateResource): boolean {
    return this.#unaccepted.has(resource.metadata.uid) && this.#options.isAccepted(resource)
  }

  /**
   * Prepares a template. Starts its check, but does not wait for it: the template is pending until then. Throws `ClusterError` or
   * `Unavailable`, or the signal's reason.
   */
  async prepare(resource: TemplateResource, status: TemplateStatus, signal: AbortSignal): Promise<Prepared> {
    const { uid } = resource.metadata
    this.#configMapUsers.set(keyOfResource(resource), configMapNamesOf(resource))
    // At start it is unknown which tenant accepts which template. But a template that was checked was accepted.
    if (!isSound(resource, status) && !this.#options.isAccepted(resource)) {
      this.#unaccepted.add(uid)
      return {}
    }
    this.#unaccepted.delete(uid)
    for (const configMap of configMapNamesOf(resource)) await this.#fetch(configMap, signal)
    const [check] = checkRequestsOf([resource], this.configMaps)
    this.#cancelCheck(uid, check?.[0])
    if (check === undefined) return {}
    const [key, request] = check
    const { source, assets } = request
    const digest = digestOf(source)
    const answer = this.#running.get(uid)?.faults
    const retryAt = this.#inconclusive.get(key)
    const isDue = retryAt === undefined ? !this.checks.has(key) : retryAt <= this.#options.clock.now()
    const isUnknown = answer === undefined && isDue
    const isRestored = isUnknown && isSound(resource, status) && status.digest === digest
    if (isUnknown && !isRestored) {
      this.#startCheck(resource, key, request)
      return { isPending: true }
    }
    const faults = isRestored ? [] : (answer ?? this.checks.get(key) ?? [])
    if (faults.length === 0) {
      const sample = sampleOf(resource)
      const stored = {
        sources: new Map([[digest, source]]),
        assets: new Map([...assets, ...(sample ? [sample] : [])].map((asset) => [asset.digest, asset.bytes])),
      }
      await storeSources(this.#options, stored, signal)
    }
    if (answer !== undefined) this.#running.delete(uid)
    this.#storeFaults(uid, key, faults)
    return retryAt === undefined || isRestored ? {} : { retryAt }
  }

  #startCheck(resource: TemplateResource, key: string, request: CheckRequest): void {
    const { uid } = resource.metadata
    if (this.#running.has(uid)) return
    const running = { key, canceled: new AbortController() }
    this.#running.set(uid, running)
    // Rejects when the check is canceled.
    this.#runCheck(resource, { asked: running, request }, running.canceled.signal).catch(() => undefined)
  }

  async #runCheck(
    resource: TemplateResource,
    { asked: running, request }: { readonly asked: RunningCheck; readonly request: CheckRequest },
    signal: AbortSignal,
  ): Promise<void> {
    const { checks, clock, onCheckDone } = this.#options
    const { faults, isFinal } = await checks.check(resource.spec.tenantRef.name, request, signal)
    signal.throwIfAborted()
    running.faults = faults
    if (isFinal) this.#inconclusive.delete(running.key)
    else this.#inconclusive.set(running.key, clock.now() + CHECK_AGAIN_MS)
    onCheckDone(resource)
  }

  /** Cancels the check of a template that now needs another check, or none. */
  #cancelCheck(uid: Uid, key?: string): void {
    const running = this.#running.get(uid)
    if (running === undefined || running.key === key) return
    running.canceled.abort()
    this.#running.delete(uid)
  }

  /** Cancels all running checks. */
  [Symbol.dispose](): void {
    for (const uid of this.#running.keys()) this.#cancelCheck(uid)
  }

  /** Drops everything about a template that is gone. */
  forget(resource: TemplateResource): void {
    const { uid } = resource.metadata
    this.#cancelCheck(uid)
    this.#unaccepted.delete(uid)
    this.#configMapUsers.set(keyOfResource(resource), [])
    this.#checkUsers.set(uid, [])
  }

  #storeFaults(uid: Uid, key: string, faults: readonly CheckFault[]): void {
    this.checks.set(key, faults)
    this.#checkUsers.set(uid, [key])
  }

  async #fetch(configMap: string, signal: AbortSignal): Promise<void> {
    const version = this.#options.versionOf(configMap)
    if (version !== undefined && this.configMaps.get(configMap)?.resourceVersion === version) return
    const place = { group: '', version: 'v1', plural: 'configmaps', ...parseKey(configMap) }
    const object = await this.#options.client.get(pathOf(place), signal)
    if (object === undefined) {
      this.configMaps.delete(configMap)
      return
    }
    const { data, binaryData, metadata } = object
    // The API server accepts only strings in them.
    const texts = (value: unknown) => (isRecord(value) ? (value as Readonly<Record<string, string>>) : {})
    const { resourceVersion } = metadata
    this.configMaps.set(configMap, { data: texts(data), binaryData: texts(binaryData), resourceVersion })
  }
}

interface FetchedConfigMap extends ConfigMapContent {
  readonly resourceVersion: string
}

interface RunningCheck {
  readonly key: string
  readonly canceled: AbortController
  /** Absent while the check runs. */
  faults?: readonly CheckFault[]
}

interface UsageIndex<User> {
  /** Replaces the names that one template uses. */
  readonly set: (user: User, names: readonly string[]) => void
  readonly of: (name: string) => ReadonlySet<User>
}

/** Opens an empty index. Calls `onUnused` when the last user of a name stops using it. */
function openUsageIndex<User extends string>(onUnused: (name: string) => void): UsageIndex<User> {
  const users = openMultimap<string, User>()
  const used = new Map<User, readonly string[]>()
  return {
    of: users.get,
    set(user, names) {
      const dropped = (used.get(user) ?? []).filter((name) => !names.includes(name))
      for (const name of names) users.add(name, user)
      for (const name of dropped) {
        users.delete(name, user)
        if (users.get(name).size === 0) onUnused(name)
      }
      if (names.length === 0) used.delete(user)
      else used.set(user, names)
    },
  }
}

/** Tells whether this generation was found sound. The digest of the status says with which sources. */
function isSound({ metadata }: TemplateResource, status: TemplateStatus): boolean {
  return isConditionTrue(status, 'Compiled', metadata.generation)
}

/**
 * Prepares a template for compiling: reads its ConfigMaps, runs the publish check, and puts its sources and assets into the artifact store.
 * So nothing is published that a renderer cannot read. A template that no tenant accepts is not prepared. A running check blocks no worker:
 * workers reconcile other resources meanwhile.
 */

import type { TemplateResource, Uid } from '@platen/contract/domain/resource.ts'
import type { TemplateStatus } from '@platen/contract/domain/resource-spec.ts'
import type { CheckFault, TemplateChecker } from '@platen/contract/domain/template-check.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Instant } from '@platen/lib/brand.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { openMultimap } from '@platen/settings/compilation/conflict-index.ts'
import { digestOf } from '@platen/settings/compile/digest.ts'
import { type ConfigMapContent, type ConfigMaps, configMapKeysOf } from '@platen/settings/compile/source.ts'
import { checkRequestsOf, digestSource, type PreparedSource } from '@platen/settings/compile/template.ts'
import { sourcesOf, storeSources } from '@platen/settings/publish/store-source.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { isRecord, parseKey } from '../cluster/object.ts'
import type { Prepared } from '../reconcile/kind-handler.ts'
import { keyOfResource } from '../reconcile/resource-view.ts'
import { isConditionTrue } from '../reconcile/status.ts'
import { CHECK_AGAIN_MS } from './limit.ts'

interface TemplateSourceOptions {
  readonly client: Pick<ClusterClient, 'readConfigMap'>
  /** By `namespace/name`. Undefined when there is no such ConfigMap. */
  readonly versionOf: (configMap: string) => string | undefined
  readonly checker: TemplateChecker
  /** Does the named tenant accept the template? Only then is it checked and stored. */
  readonly isAccepted: (resource: TemplateResource) => boolean
  /** Called when a check has a result. The template must then be prepared again. */
  readonly onCheckDone: (resource: TemplateResource) => void
  readonly artifacts: ArtifactStore
  readonly serviceBucket: string
  readonly clock: Clock
}

export class TemplateSources implements Disposable {
  readonly #options: TemplateSourceOptions
  readonly #configMapUsers = openUsageIndex<string>(() => undefined)
  /** A result is dropped with the last template that uses it. */
  readonly #checkUsers = openUsageIndex<Uid>((key) => {
    this.checks.delete(key)
    this.#inconclusive.delete(key)
  })
  /** Inconclusive checks, and when to repeat them. */
  readonly #inconclusive = new Map<string, Instant>()
  /**
   * Running checks, one per template. A check stays here with its result until the sources are stored, since a compiled template is
   * published at once.
   */
  readonly #running = new Map<Uid, RunningCheck>()
  /** Templates that were not prepared because no tenant accepted them. */
  readonly #unaccepted = new Set<Uid>()
  /** Read by the compilation. Digests only: the sources themselves are in the artifact store, or are read again. */
  readonly prepared = new Map<Uid, ReadSource>()
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
    if (configMapKeysOf(resource).size > 0 || !isSound(resource, status)) return
    for (const [key, { source }] of checkRequestsOf([resource], NO_CONFIG_MAPS))
      if (digestOf(source) === status.digest) this.#storeFaults(resource.metadata.uid, key, [])
  }

  /** True if the template was skipped because no tenant accepted it, and one accepts it now. */
  needsPreparing(resource: TemplateResource): boolean {
    return this.#unaccepted.has(resource.metadata.uid) && this.#options.isAccepted(resource)
  }

  /**
   * Starts the check of a template, but does not wait for it: the template is pending until then. Throws `ClusterError` or `Unavailable`,
   * or the signal's reason.
   */
  async prepare(resource: TemplateResource, status: TemplateStatus, signal: AbortSignal): Promise<Prepared> {
    const { uid } = resource.metadata
    this.#configMapUsers.set(keyOfResource(resource), [...configMapKeysOf(resource).keys()])
    // At start it is unknown which tenant accepts which template. But a template that was checked was accepted.
    if (!isSound(resource, status) && !this.#options.isAccepted(resource)) {
      this.#unaccepted.add(uid)
      return {}
    }
    this.#unaccepted.delete(uid)
    const known = this.#unchanged(resource)
    if (known !== undefined) return known
    const { versions, digested, request } = await this.#read(resource, signal)
    this.prepared.set(uid, { ...digested, versions, generation: resource.metadata.generation })
    const key = 'checkKey' in digested ? digested.checkKey : undefined
    this.#cancelCheck(uid, key)
    if (!('digest' in digested) || key === undefined || request === undefined) return {}
    const { digest } = digested
    const answer = this.#running.get(uid)?.faults
    const retryAt = this.#inconclusive.get(key)
    const isDue = retryAt === undefined ? !this.checks.has(key) : retryAt <= this.#options.clock.now()
    const isUnknown = answer === undefined && isDue
    const isRestored = isUnknown && isSound(resource, status) && status.digest === digest
    if (isUnknown && !isRestored) {
      this.#startCheck(resource, key)
      return { isPending: true }
    }
    const faults = isRestored ? [] : (answer ?? this.checks.get(key) ?? [])
    if (faults.length === 0) await storeSources(this.#options, sourcesOf(resource, { digest, request }), signal)
    if (answer !== undefined) this.#running.delete(uid)
    this.#storeFaults(uid, key, faults)
    return retryAt === undefined || isRestored ? {} : { retryAt }
  }

  /** The last answer, if neither the template nor a ConfigMap has changed since, and no check is running or due. */
  #unchanged(resource: TemplateResource): Prepared | undefined {
    const { uid, generation } = resource.metadata
    const before = this.prepared.get(uid)
    const versions = this.#versionsOf(resource)
    if (versions.length === 0 || before?.generation !== generation || this.#running.has(uid)) return undefined
    if (versions.some((version, at) => version === undefined || version !== before.versions[at])) return undefined
    if (!('checkKey' in before)) return {}
    return this.#checkUsers.of(before.checkKey).has(uid) && !this.#inconclusive.has(before.checkKey) ? {} : undefined
  }

  #versionsOf(resource: TemplateResource): readonly (string | undefined)[] {
    return Array.from(configMapKeysOf(resource).keys(), this.#options.versionOf)
  }

  #startCheck(resource: TemplateResource, key: string): void {
    const { uid } = resource.metadata
    if (this.#running.has(uid)) return
    const running = { key, canceled: new AbortController() }
    this.#running.set(uid, running)
    this.#runCheck(resource, running, running.canceled.signal).catch(() => {
      if (running.canceled.signal.aborted) return
      // The sources were away or have changed, so they are read again.
      this.#running.delete(uid)
      this.#options.onCheckDone(resource)
    })
  }

  async #runCheck(resource: TemplateResource, running: RunningCheck, signal: AbortSignal): Promise<void> {
    const { checker, clock, onCheckDone } = this.#options
    // Read when the check begins: thousands of templates may wait for their check.
    const readRequest = async () => {
      const { digested, request } = await this.#read(resource, signal)
      if (request === undefined || !('checkKey' in digested) || digested.checkKey !== running.key)
        throw new Error('the sources have changed')
      return request
    }
    const { faults, isFinal } = await checker.check(resource.spec.tenantRef.name, readRequest, signal)
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

  [Symbol.dispose](): void {
    for (const uid of this.#running.keys()) this.#cancelCheck(uid)
  }

  forget(resource: TemplateResource): void {
    const { uid } = resource.metadata
    this.#cancelCheck(uid)
    this.#unaccepted.delete(uid)
    this.#configMapUsers.set(keyOfResource(resource), [])
    this.prepared.delete(uid)
    this.#checkUsers.set(uid, [])
  }

  #storeFaults(uid: Uid, key: string, faults: readonly CheckFault[]): void {
    this.checks.set(key, faults)
    this.#checkUsers.set(uid, [key])
  }

  /** The caller keeps the sources no longer than it needs them. */
  async #read(resource: TemplateResource, signal: AbortSignal) {
    const configMaps = new Map<string, ConfigMapContent>()
    const versions: (string | undefined)[] = []
    for (const [name, keys] of configMapKeysOf(resource)) {
      const { namespace = '', name: own } = parseKey(name)
      const object = await this.#options.client.readConfigMap({ namespace, name: own }, signal)
      versions.push(object?.metadata.resourceVersion)
      if (object === undefined) continue
      const { data, binaryData } = object
      configMaps.set(name, { data: textsOf(data, keys), binaryData: textsOf(binaryData, keys) })
    }
    return { versions, ...digestSource(resource, configMaps) }
  }
}

const NO_CONFIG_MAPS: ConfigMaps = new Map()

/** The API server accepts only strings in these fields. */
function textsOf(values: unknown, keys: ReadonlySet<string>): Readonly<Record<string, string>> {
  const texts = isRecord(values) ? (values as Readonly<Record<string, string>>) : {}
  return Object.fromEntries(Object.entries(texts).filter(([key]) => keys.has(key)))
}

type ReadSource = PreparedSource & {
  /** The resource versions of its ConfigMaps when they were read. */
  readonly versions: readonly (string | undefined)[]
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

/** Calls `onUnused` when the last user of a name stops using it. */
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

/** Was this generation found sound? The digest of the status says with which sources. */
function isSound({ metadata }: TemplateResource, status: TemplateStatus): boolean {
  return isConditionTrue(status, 'Compiled', metadata.generation)
}

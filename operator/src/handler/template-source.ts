/**
 * What a template needs before it is compiled: what its ConfigMaps hold, the answer of the publish check, and its sources and assets in
 * the artifact store, so that nothing is published that a renderer cannot have. Nothing of it is done for a template that belongs to no
 * tenant, and nobody waits for a check: others are looked at meanwhile.
 */
import type { Instant } from '@platen/contract/brand.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { TemplateResource, Uid } from '@platen/contract/resource.ts'
import type { TemplateStatus } from '@platen/contract/schema/resource.ts'
import { digestOf } from '@platen/settings/compile/digest.ts'
import { type ConfigMapContent, configMapNamesOf } from '@platen/settings/compile/source.ts'
import { type CheckFault, type CheckRequest, checkRequestsOf } from '@platen/settings/compile/template.ts'
import type { CheckScheduler } from '@platen/settings/publish/check-scheduler.ts'
import { storeSources } from '@platen/settings/publish/store-source.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { isRecord, parseKey } from '../cluster/object.ts'
import { pathOf } from '../cluster/path.ts'
import { openMultimap } from '../compilation/conflict-index.ts'
import { CHECK_AGAIN_MS } from '../limit.ts'
import { keyOfResource } from '../reconcile/resource-view.ts'
import { isConditionTrue } from '../reconcile/status.ts'

export interface TemplateSourceOptions {
  readonly client: Pick<ClusterClient, 'get'>
  /** The state in which a ConfigMap is known to be, by `namespace/name`; undefined where there is none. */
  readonly versionOf: (configMap: string) => string | undefined
  readonly checks: CheckScheduler
  /** Does the tenant it names have it? Then it is checked, and stored. */
  readonly isAccepted: (resource: TemplateResource) => boolean
  /** Told that a check has come to an answer: the template is to be seen to again. */
  readonly onCheckDone: (resource: TemplateResource) => void
  readonly artifacts: ArtifactStore
  readonly serviceBucket: string
  readonly clock: Clock
}

/** What came of seeing to a template. */
export interface PreparedSource {
  /** When to do so again, where a check came to no answer. */
  readonly retryAt?: Instant
  /** A check is under way. */
  readonly isPending?: true
}

export class TemplateSources implements Disposable {
  readonly #options: TemplateSourceOptions
  readonly #versions = new Map<string, string>()
  readonly #configMapUsers = openUsageIndex<string>((name) => {
    this.configMaps.delete(name)
    this.#versions.delete(name)
  })
  /** An answer goes with the last template that has it. */
  readonly #checkUsers = openUsageIndex<Uid>((key) => {
    this.checks.delete(key)
    this.#inconclusive.delete(key)
  })
  /** Checks that came to no answer, and when to ask again. */
  readonly #inconclusive = new Map<string, Instant>()
  /** Checks under way, one of a template; with their answers until its sources are stored, as what is compiled is published. */
  readonly #running = new Map<Uid, RunningCheck>()
  /** Templates that nothing was done for, as they belonged to no tenant. */
  readonly #unaccepted = new Set<Uid>()
  /** For compiling. */
  readonly configMaps = new Map<string, ConfigMapContent>()
  /** For compiling. */
  readonly checks = new Map<string, readonly CheckFault[]>()

  constructor(options: TemplateSourceOptions) {
    this.#options = options
  }

  /** The keys of templates that take something from a ConfigMap, be there one or not. */
  usersOf(configMap: string): ReadonlySet<string> {
    return this.#configMapUsers.of(configMap)
  }

  /** Takes the word of a status for it that the template is sound, where it has no source elsewhere. Waits for nothing. */
  restore(resource: TemplateResource, status: TemplateStatus): void {
    if (configMapNamesOf(resource).length > 0 || !isSound(resource, status)) return
    for (const [key, { source }] of checkRequestsOf([resource], this.configMaps))
      if (digestOf(source) === status.digest) this.#storeFaults(resource.metadata.uid, key, [])
  }

  /** Was nothing done for it, and is there now? */
  needsPreparing(resource: TemplateResource): boolean {
    return this.#unaccepted.has(resource.metadata.uid) && this.#options.isAccepted(resource)
  }

  /** Sees to all it needs, but for a check, which it begins. Throws `ClusterError` or `Unavailable`, or the signal's reason. */
  async prepare(resource: TemplateResource, status: TemplateStatus, signal: AbortSignal): Promise<PreparedSource> {
    const { uid } = resource.metadata
    this.#configMapUsers.set(keyOfResource(resource), configMapNamesOf(resource))
    // At the beginning it is not known yet who has which templates, but that this one was checked.
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
      const stored = {
        sources: new Map([[digest, source]]),
        assets: new Map(assets.map((asset) => [asset.digest, asset.bytes])),
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
    // Rejects when nobody asks any more.
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

  /** Ends the check of a template that asks for another, or none. */
  #cancelCheck(uid: Uid, key?: string): void {
    const running = this.#running.get(uid)
    if (running === undefined || running.key === key) return
    running.canceled.abort()
    this.#running.delete(uid)
  }

  /** Ends all checks under way. */
  [Symbol.dispose](): void {
    for (const uid of this.#running.keys()) this.#cancelCheck(uid)
  }

  /** The template is gone. */
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
    if (version !== undefined && this.#versions.get(configMap) === version) return
    const place = { group: '', version: 'v1', plural: 'configmaps', ...parseKey(configMap) }
    const object = await this.#options.client.get(pathOf(place), signal)
    if (object === undefined) {
      this.configMaps.delete(configMap)
      this.#versions.delete(configMap)
      return
    }
    const { data, binaryData, metadata } = object
    // The API server lets nothing but texts into them.
    const texts = (value: unknown) => (isRecord(value) ? (value as Readonly<Record<string, string>>) : {})
    this.configMaps.set(configMap, { data: texts(data), binaryData: texts(binaryData) })
    this.#versions.set(configMap, metadata.resourceVersion)
  }
}

interface RunningCheck {
  readonly key: string
  readonly canceled: AbortController
  /** Absent as long as there is none. */
  faults?: readonly CheckFault[]
}

interface UsageIndex<User> {
  /** What one template has use of, in the place of what it had. */
  readonly set: (user: User, names: readonly string[]) => void
  readonly of: (name: string) => ReadonlySet<User>
}

/** Nobody has use of anything. Tells when nobody has any more. */
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

/** Was this generation found to be sound? The digest says by which sources. */
function isSound({ metadata }: TemplateResource, status: TemplateStatus): boolean {
  return isConditionTrue(status, 'Compiled', metadata.generation)
}

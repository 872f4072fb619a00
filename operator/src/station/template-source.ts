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
import { type CheckFault, type CheckRequest, checksOf } from '@platen/settings/compile/template.ts'
import type { CheckTurns } from '@platen/settings/publish/check-turns.ts'
import { storeSources } from '@platen/settings/publish/store-source.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { isRecord, namesOf } from '../cluster/object.ts'
import { pathOf } from '../cluster/path.ts'
import { openMultimap } from '../compilation/claim-index.ts'
import { CHECK_AGAIN_MS } from '../limit.ts'
import { keyOfResource } from '../reconcile/declared.ts'
import { holdsOf } from '../reconcile/status.ts'

export interface TemplateSourceOptions {
  readonly client: Pick<ClusterClient, 'get'>
  /** The state in which a ConfigMap is known to be, by `namespace/name`; undefined where there is none. */
  readonly versionOf: (configMap: string) => string | undefined
  readonly checks: CheckTurns
  /** Does the tenant it names have it? Then it is checked, and stored. */
  readonly isAccepted: (resource: TemplateResource) => boolean
  /** Told that a check has come to an answer: the template is to be seen to again. */
  readonly onAnswer: (resource: TemplateResource) => void
  readonly artifacts: ArtifactStore
  readonly serviceBucket: string
  readonly clock: Clock
}

/** What came of seeing to a template. */
export interface Settlement {
  /** When to do so again, where a check came to no answer. */
  readonly again?: Instant
  /** A check is under way. */
  readonly isPending?: true
}

export class TemplateSources implements Disposable {
  readonly #options: TemplateSourceOptions
  readonly #versions = new Map<string, string>()
  readonly #configMapUsers = openUsers<string>((name) => {
    this.configMaps.delete(name)
    this.#versions.delete(name)
  })
  /** An answer goes with the last template that has it. */
  readonly #checkUsers = openUsers<Uid>((key) => {
    this.checks.delete(key)
    this.#unanswered.delete(key)
  })
  /** Checks that came to no answer, and when to ask again. */
  readonly #unanswered = new Map<string, Instant>()
  /** Checks under way, one of a template; with their answers until its sources are stored, as what is compiled is published. */
  readonly #asked = new Map<Uid, Asked>()
  /** Templates that nothing was done for, as they belonged to no tenant. */
  readonly #left = new Set<Uid>()
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
  recall(resource: TemplateResource, status: TemplateStatus): void {
    if (configMapNamesOf(resource).length > 0 || !isSound(resource, status)) return
    for (const [key, { source }] of checksOf([resource], this.configMaps))
      if (digestOf(source) === status.digest) this.#keep(resource.metadata.uid, key, [])
  }

  /** Was nothing done for it, and is there now? */
  isBehind(resource: TemplateResource): boolean {
    return this.#left.has(resource.metadata.uid) && this.#options.isAccepted(resource)
  }

  /** Sees to all it needs, but for a check, which it begins. Throws `ClusterError` or `Unavailable`, or the signal's reason. */
  async settle(resource: TemplateResource, status: TemplateStatus, signal: AbortSignal): Promise<Settlement> {
    const { uid } = resource.metadata
    this.#configMapUsers.set(keyOfResource(resource), configMapNamesOf(resource))
    // At the beginning it is not known yet who has which templates, but that this one was checked.
    if (!isSound(resource, status) && !this.#options.isAccepted(resource)) {
      this.#left.add(uid)
      return {}
    }
    this.#left.delete(uid)
    for (const configMap of configMapNamesOf(resource)) await this.#fetch(configMap, signal)
    const [check] = checksOf([resource], this.configMaps)
    this.#abandon(uid, check?.[0])
    if (check === undefined) return {}
    const [key, request] = check
    const { source, assets } = request
    const digest = digestOf(source)
    const answer = this.#asked.get(uid)?.answer
    const askAgainAt = this.#unanswered.get(key)
    const isDue = askAgainAt === undefined ? !this.checks.has(key) : askAgainAt <= this.#options.clock.now()
    const isUnknown = answer === undefined && isDue
    const isRecalled = isUnknown && isSound(resource, status) && status.digest === digest
    if (isUnknown && !isRecalled) {
      this.#ask(resource, key, request)
      return { isPending: true }
    }
    const faults = isRecalled ? [] : (answer ?? this.checks.get(key) ?? [])
    if (faults.length === 0) {
      const stored = {
        sources: new Map([[digest, source]]),
        assets: new Map(assets.map((asset) => [asset.digest, asset.bytes])),
      }
      await storeSources(this.#options, stored, signal)
    }
    if (answer !== undefined) this.#asked.delete(uid)
    this.#keep(uid, key, faults)
    return askAgainAt === undefined || isRecalled ? {} : { again: askAgainAt }
  }

  #ask(resource: TemplateResource, key: string, request: CheckRequest): void {
    const { uid } = resource.metadata
    if (this.#asked.has(uid)) return
    const asked = { key, over: new AbortController() }
    this.#asked.set(uid, asked)
    // Rejects when nobody asks any more.
    this.#answer(resource, { asked, request }, asked.over.signal).catch(() => undefined)
  }

  async #answer(
    resource: TemplateResource,
    { asked, request }: { readonly asked: Asked; readonly request: CheckRequest },
    signal: AbortSignal,
  ): Promise<void> {
    const { checks, clock, onAnswer } = this.#options
    const { faults, isSettled } = await checks.answer(resource.spec.tenantRef.name, request, signal)
    signal.throwIfAborted()
    asked.answer = faults
    if (isSettled) this.#unanswered.delete(asked.key)
    else this.#unanswered.set(asked.key, clock.now() + CHECK_AGAIN_MS)
    onAnswer(resource)
  }

  /** Ends the check of a template that asks for another, or none. */
  #abandon(uid: Uid, key?: string): void {
    const asked = this.#asked.get(uid)
    if (asked === undefined || asked.key === key) return
    asked.over.abort()
    this.#asked.delete(uid)
  }

  /** Ends all checks under way. */
  [Symbol.dispose](): void {
    for (const uid of this.#asked.keys()) this.#abandon(uid)
  }

  /** The template is gone. */
  forget(resource: TemplateResource): void {
    const { uid } = resource.metadata
    this.#abandon(uid)
    this.#left.delete(uid)
    this.#configMapUsers.set(keyOfResource(resource), [])
    this.#checkUsers.set(uid, [])
  }

  #keep(uid: Uid, key: string, faults: readonly CheckFault[]): void {
    this.checks.set(key, faults)
    this.#checkUsers.set(uid, [key])
  }

  async #fetch(configMap: string, signal: AbortSignal): Promise<void> {
    const version = this.#options.versionOf(configMap)
    if (version !== undefined && this.#versions.get(configMap) === version) return
    const place = { group: '', version: 'v1', plural: 'configmaps', ...namesOf(configMap) }
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

interface Asked {
  readonly key: string
  readonly over: AbortController
  /** Absent as long as there is none. */
  answer?: readonly CheckFault[]
}

interface Users<User> {
  /** What one template has use of, in the place of what it had. */
  readonly set: (user: User, names: readonly string[]) => void
  readonly of: (name: string) => ReadonlySet<User>
}

/** Nobody has use of anything. Tells when nobody has any more. */
function openUsers<User extends string>(onUnused: (name: string) => void): Users<User> {
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
  return holdsOf(status, 'Compiled', metadata.generation)
}

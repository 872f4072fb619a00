/**
 * What a template needs before it is compiled: what its ConfigMaps hold, the answer of the publish check, and its sources and assets in
 * the artifact store, so that nothing is published that a renderer cannot have.
 */
import type { Instant } from '@platen/contract/brand.ts'
import { CHECK_AGAIN_MS } from '@platen/contract/operator-limit.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { TemplateResource, Uid } from '@platen/contract/resource.ts'
import type { TemplateStatus } from '@platen/contract/schema/resource.ts'
import type { ClusterClient } from '../cluster/client.ts'
import { isRecord, namesOf } from '../cluster/object.ts'
import { pathOf } from '../cluster/path.ts'
import { openMultimap } from '../compilation/claim-index.ts'
import { digestOf } from '../compile/digest.ts'
import { type ConfigMapContent, configMapNamesOf } from '../compile/source.ts'
import { type CheckFault, checksOf } from '../compile/template.ts'
import { answerCheck, type PublishCheck } from '../publish/answer-check.ts'
import { storeSources } from '../publish/store-source.ts'
import { holdsOf } from '../reconcile/status.ts'

export interface TemplateSourceOptions {
  readonly client: Pick<ClusterClient, 'get'>
  /** The state in which a ConfigMap is known to be, by `namespace/name`; undefined where there is none. */
  readonly versionOf: (configMap: string) => string | undefined
  readonly check: PublishCheck
  readonly artifacts: ArtifactStore
  readonly serviceBucket: string
  readonly clock: Clock
}

export class TemplateSources {
  readonly #options: TemplateSourceOptions
  readonly #versions = new Map<string, string>()
  readonly #configMapUsers = openUsers((name) => {
    this.configMaps.delete(name)
    this.#versions.delete(name)
  })
  /** An answer goes with the last template that has it. */
  readonly #checkUsers = openUsers((key) => {
    this.checks.delete(key)
    this.#unanswered.delete(key)
  })
  /** Checks that came to no answer. */
  readonly #unanswered = new Set<string>()
  /** For compiling. */
  readonly configMaps = new Map<string, ConfigMapContent>()
  /** For compiling. */
  readonly checks = new Map<string, readonly CheckFault[]>()

  constructor(options: TemplateSourceOptions) {
    this.#options = options
  }

  /** The templates that take something from a ConfigMap, be there one or not. */
  usersOf(configMap: string): ReadonlySet<Uid> {
    return this.#configMapUsers.of(configMap)
  }

  /** Takes the word of a status for it that the template is sound, where it has no source elsewhere. Waits for nothing. */
  recall(resource: TemplateResource, status: TemplateStatus): void {
    if (configMapNamesOf(resource).length > 0 || !isSound(resource, status)) return
    for (const [key, { source }] of checksOf([resource], this.configMaps))
      if (digestOf(source) === status.digest) this.#keep(resource.metadata.uid, key, [])
  }

  /** Sees to all it needs; answers when to do so again, where a check came to no answer. Throws `ClusterError` or `Unavailable`, or the signal's reason. */
  async settle(
    resource: TemplateResource,
    status: TemplateStatus,
    signal: AbortSignal,
  ): Promise<{ readonly again?: Instant }> {
    const { artifacts, serviceBucket, clock } = this.#options
    this.#configMapUsers.set(resource.metadata.uid, configMapNamesOf(resource))
    for (const configMap of configMapNamesOf(resource)) await this.#fetch(configMap, signal)
    for (const [key, request] of checksOf([resource], this.configMaps)) {
      const { source, assets } = request
      const digest = digestOf(source)
      const isKnown = this.checks.has(key) && !this.#unanswered.has(key)
      const isRecalled = !isKnown && isSound(resource, status) && status.digest === digest
      const answer = isKnown || isRecalled ? undefined : await answerCheck(request, this.#options, signal)
      if (answer?.isSettled === false) this.#unanswered.add(key)
      else this.#unanswered.delete(key)
      const faults = answer?.faults ?? this.checks.get(key) ?? []
      if (faults.length === 0) {
        const stored = {
          sources: new Map([[digest, source]]),
          assets: new Map(assets.map((asset) => [asset.digest, asset.bytes])),
        }
        await storeSources({ artifacts, serviceBucket }, stored, signal)
      }
      this.#keep(resource.metadata.uid, key, faults)
      if (this.#unanswered.has(key)) return { again: clock.now() + CHECK_AGAIN_MS }
    }
    return {}
  }

  /** The template is gone. */
  forget(uid: Uid): void {
    this.#configMapUsers.set(uid, [])
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

interface Users {
  /** What one template has use of, in the place of what it had. */
  readonly set: (uid: Uid, names: readonly string[]) => void
  readonly of: (name: string) => ReadonlySet<Uid>
}

/** Nobody has use of anything. Tells when nobody has any more. */
function openUsers(onUnused: (name: string) => void): Users {
  const users = openMultimap<string, Uid>()
  const used = new Map<Uid, readonly string[]>()
  return {
    of: users.get,
    set(uid, names) {
      const dropped = (used.get(uid) ?? []).filter((name) => !names.includes(name))
      for (const name of names) users.add(name, uid)
      for (const name of dropped) {
        users.delete(name, uid)
        if (users.get(name).size === 0) onUnused(name)
      }
      if (names.length === 0) used.delete(uid)
      else used.set(uid, names)
    },
  }
}

/** Was this generation found to be sound? The digest says by which sources. */
function isSound({ metadata }: TemplateResource, status: TemplateStatus): boolean {
  return holdsOf(status, 'Compiled', metadata.generation)
}

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
  readonly #usersOf = openMultimap<string, Uid>()
  readonly #used = new Map<Uid, readonly string[]>()
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
    return this.#usersOf.get(nameOfConfigMap(configMap))
  }

  /** Takes the word of a status for it that the template is sound, where it has no source elsewhere. Waits for nothing. */
  recall(resource: TemplateResource, status: TemplateStatus): void {
    if (configMapNamesOf(resource).length > 0 || !isSound(resource, status)) return
    this.#use(resource)
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
    this.#use(resource)
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
    for (const name of this.#used.get(uid) ?? []) this.#release(name, uid)
    this.#used.delete(uid)
  }

  #use(resource: TemplateResource): void {
    const { uid } = resource.metadata
    const names = configMapNamesOf(resource).map(nameOfConfigMap)
    for (const name of names) this.#usersOf.add(name, uid)
    const checks = (this.#used.get(uid) ?? []).filter((name) => !name.startsWith(CONFIG_MAP))
    const dropped = (this.#used.get(uid) ?? []).filter((name) => !names.includes(name) && !checks.includes(name))
    for (const name of dropped) this.#release(name, uid)
    this.#used.set(uid, [...names, ...checks])
  }

  /** The answer is one's who has it, and goes with the last of them. */
  #keep(uid: Uid, key: string, faults: readonly CheckFault[]): void {
    this.checks.set(key, faults)
    this.#usersOf.add(key, uid)
    const used = this.#used.get(uid) ?? []
    for (const name of used) if (!name.startsWith(CONFIG_MAP) && name !== key) this.#release(name, uid)
    this.#used.set(uid, [...used.filter((name) => name.startsWith(CONFIG_MAP)), key])
  }

  #release(name: string, uid: Uid): void {
    this.#usersOf.delete(name, uid)
    if (this.#usersOf.get(name).size > 0) return
    this.checks.delete(name)
    this.#unanswered.delete(name)
    this.configMaps.delete(name.slice(CONFIG_MAP.length))
    this.#versions.delete(name)
  }

  async #fetch(configMap: string, signal: AbortSignal): Promise<void> {
    const name = nameOfConfigMap(configMap)
    const version = this.#options.versionOf(configMap)
    if (version !== undefined && this.#versions.get(name) === version) return
    const place = { group: '', version: 'v1', plural: 'configmaps', ...namesOf(configMap) }
    const object = await this.#options.client.get(pathOf(place), signal)
    if (object === undefined) {
      this.configMaps.delete(configMap)
      this.#versions.delete(name)
      return
    }
    const { data, binaryData, metadata } = object
    // The API server lets nothing but texts into them.
    const texts = (value: unknown) => (isRecord(value) ? (value as Readonly<Record<string, string>>) : {})
    this.configMaps.set(configMap, { data: texts(data), binaryData: texts(binaryData) })
    this.#versions.set(name, metadata.resourceVersion)
  }
}

/** Beside the keys of checks, which are of hexadecimal digits. */
const CONFIG_MAP = 'ConfigMap '

function nameOfConfigMap(configMap: string): string {
  return `${CONFIG_MAP}${configMap}`
}

/** Was this generation found to be sound? The digest says by which sources. */
function isSound({ metadata }: TemplateResource, { conditions = [] }: TemplateStatus): boolean {
  return conditions.some(
    ({ type, status, observedGeneration }) =>
      type === 'Compiled' && status === 'True' && observedGeneration === metadata.generation,
  )
}

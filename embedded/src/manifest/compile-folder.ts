/** What the documents of a folder come to: the publish checks of their templates, then the same `compile` as in a cluster. */
import { TEMPLATE_CHECKS_AT_ONCE } from '@platen/contract/limit.ts'
import type { Clock } from '@platen/contract/port/clock.ts'
import type { Resource } from '@platen/contract/resource.ts'
import { DEFAULT_LIMITS } from '@platen/contract/tenant.ts'
import type { FoundKeys } from '@platen/operator/compile/api-key.ts'
import { type Compiled, compile, type Previous } from '@platen/operator/compile/compile.ts'
import type { ConfigMaps } from '@platen/operator/compile/source.ts'
import { type CheckAnswers, type CheckFault, type CheckRequest, checksOf } from '@platen/operator/compile/template.ts'
import type { FoundSecrets } from '@platen/operator/compile/tenant.ts'
import { answerCheck, type PublishCheck } from '@platen/operator/publish/answer-check.ts'
import { type ManifestDocument, NAMESPACE_DEFAULT } from './parse.ts'

/** The bucket of manifests, templates and, unless a tenant says otherwise, PDFs. */
export const SERVICE_BUCKET = 'platen'

export interface FolderInput {
  readonly documents: readonly ManifestDocument[]
  /** The documents' resources, identified. */
  readonly resources: readonly Resource[]
  readonly foundKeys: FoundKeys
  readonly webhookSecrets: FoundSecrets
  /** Where the PDFs of tenants go that name no bucket. */
  readonly serviceBucket: string
  readonly previous: Previous
  /** Answers that need not be asked for again. */
  readonly known: CheckAnswers
  readonly check: PublishCheck
  readonly clock: Clock
}

export interface CompiledFolder {
  readonly compiled: Compiled
  /** The answers to remember. */
  readonly settled: CheckAnswers
}

/** Compiles a folder. Rejects only when `signal` aborts. */
export async function compileFolder(input: FolderInput, signal: AbortSignal): Promise<CompiledFolder> {
  const { documents, resources, foundKeys, webhookSecrets, serviceBucket, previous, clock } = input
  const configMaps = configMapsOf(documents)
  const templates = resources.filter((resource) => resource.kind === 'Template')
  const { answers, settled } = await answerChecks(checksOf(templates, configMaps), input, signal)
  const given = { resources, configMaps, foundKeys, webhookSecrets, checks: answers, serviceBucket, previous }
  return { compiled: compile({ ...given, defaults: DEFAULT_LIMITS, now: clock.now() }), settled }
}

/** The ConfigMaps among the documents, by `namespace/name`. */
export function configMapsOf(documents: readonly ManifestDocument[]): ConfigMaps {
  const configMaps = new Map<string, NonNullable<ReturnType<ConfigMaps['get']>>>()
  for (const { written } of documents) {
    if (written.kind !== 'ConfigMap') continue
    const { name, namespace = NAMESPACE_DEFAULT } = written.metadata
    const { data, binaryData } = written
    configMaps.set(`${namespace}/${name}`, { ...(data && { data }), ...(binaryData && { binaryData }) })
  }
  return configMaps
}

/** The answer to every request, a few asked at a time; `settled` are those that need not be asked again. */
async function answerChecks(
  requests: ReadonlyMap<string, CheckRequest>,
  { known, ...ports }: Pick<FolderInput, 'known' | 'check' | 'clock'>,
  signal: AbortSignal,
): Promise<{ answers: CheckAnswers; settled: CheckAnswers }> {
  const answers = new Map<string, readonly CheckFault[]>()
  const settled = new Map<string, readonly CheckFault[]>()
  const waiting = requests.entries()
  const ask = async () => {
    // All askers draw from the one iterator, so each request is asked once.
    for (const [key, request] of waiting) {
      const faults = known.get(key)
      const answer = faults ? { faults, isSettled: true } : await answerCheck(request, ports, signal)
      answers.set(key, answer.faults)
      if (answer.isSettled) settled.set(key, answer.faults)
    }
  }
  await Promise.all(Array.from({ length: TEMPLATE_CHECKS_AT_ONCE }, ask))
  return { answers, settled }
}

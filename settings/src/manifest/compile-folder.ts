/** Compiles the documents of a folder: runs the publish checks of their templates, then the same `compile` as in a cluster. */

import { NAMESPACE_DEFAULT, type Resource } from '@platen/contract/domain/resource.ts'
import type { CheckResult } from '@platen/contract/domain/template-check.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import type { Clock } from '@platen/lib/clock.ts'
import { type Compiled, compile, type Previous } from '../compilation/compile.ts'
import type { FoundKeys } from '../compile/api-key.ts'
import type { CompileResult } from '../compile/compile-result.ts'
import type { ConfigMaps } from '../compile/source.ts'
import { type CheckFaults, checkRequestsOf } from '../compile/template.ts'
import type { AccountRefusals } from '../compile/tenant/account.ts'
import type { FoundSecrets, Reseal } from '../compile/tenant.ts'
import type { FolderChecks, WantedCheck } from './folder-checks.ts'
import type { ManifestDocument } from './text/parse.ts'

/** Bucket of manifests, templates and, unless a tenant names another, PDFs. */
export const SERVICE_BUCKET = 'platen'

interface FolderInput {
  readonly documents: readonly ManifestDocument[]
  /** The resources of the documents, with their identities. */
  readonly resources: readonly Resource[]
  readonly foundKeys: FoundKeys
  readonly webhookSecrets: FoundSecrets
  /** Absent: none. */
  readonly accountRefusals?: AccountRefusals
  /** Absent: everything is sealed with one key. */
  readonly reseal?: Reseal
  /** Bucket for PDFs of tenants that name no bucket. */
  readonly serviceBucket: string
  readonly previous: Previous
  /** Answers that are known already. */
  readonly known: CheckFaults
  readonly checks: Pick<FolderChecks, 'answer'>
  /** How long to wait for answers, in milliseconds. */
  readonly checkWaitMs: number
  readonly clock: Pick<Clock, 'now'>
}

interface CompiledFolder {
  readonly compiled: Compiled
  /** All known answers about the folder. */
  readonly answers: CheckFaults
  /** The answers to remember. The others are not final, and another try may succeed. */
  readonly finalAnswers: CheckFaults
  /** Whether checks of templates are still running. */
  readonly isWaiting: boolean
}

/** Compiles a folder with the checks answered in time. Templates without a tenant are not checked. Rejects only when `signal` aborts. */
export async function compileFolder(input: FolderInput, signal: AbortSignal): Promise<CompiledFolder> {
  const { documents, resources, clock } = input
  const configMaps = configMapsOf(documents)
  const given = { ...input, configMaps, defaults: DEFAULT_LIMITS }
  const compileWith = (checks: CheckFaults) => compile({ ...given, checks, now: clock.now() })
  const templates = resources.filter((resource) => resource.kind === 'Template')
  const here = checkRequestsOf(templates, configMaps)
  const known = new Map([...input.known].filter(([key]) => here.has(key)))
  const first = compileWith(known)
  const wanted = uncheckedIn(first, configMaps)
  const found = await input.checks.answer(wanted, input.checkWaitMs, signal)
  if (found.size === 0) return { compiled: first, answers: known, finalAnswers: known, isWaiting: wanted.size > 0 }
  const withFound = (isKept: (answer: CheckResult) => boolean): CheckFaults =>
    new Map([...known, ...[...found].flatMap(([key, each]) => (isKept(each) ? [[key, each.faults] as const] : []))])
  const answers = withFound(() => true)
  return {
    compiled: compileWith(answers),
    answers,
    finalAnswers: withFound(({ isFinal }) => isFinal),
    isWaiting: found.size < wanted.size,
  }
}

/** The missing checks of templates that have a tenant. */
function uncheckedIn({ templates }: Compiled, configMaps: ConfigMaps): ReadonlyMap<string, WantedCheck> {
  const unchecked = [...templates.values()].filter(isUnchecked)
  return new Map(
    unchecked.flatMap(({ resource }) =>
      Array.from(checkRequestsOf([resource], configMaps), ([key, request]) => {
        return [key, { tenant: resource.spec.tenantRef.name, request }] as const
      }),
    ),
  )
}

/** Whether the result of a template is not known yet. */
export function isUnchecked({ conditions }: Pick<CompileResult<Resource, unknown>, 'conditions'>): boolean {
  return conditions.some(({ reason }) => reason === 'NotChecked')
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

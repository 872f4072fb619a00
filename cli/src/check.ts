/**
 * A folder of manifests as the service would read it, without the service: the same reading, compiling and publish check, and
 * nothing written. Keys that the service would generate are taken as there.
 */
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { isErrno } from '@platen/adapters/fs/durable-folder.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { sha256 } from '@platen/contract/canonical-json.ts'
import { TEMPLATE_CHECKS_AT_ONCE } from '@platen/contract/limit.ts'
import type { Condition, Resource, Uid } from '@platen/contract/resource.ts'
import { resourceReader } from '@platen/contract/schema/resource.ts'
import type { KeyHash } from '@platen/contract/tenant.ts'
import { compileFolder, SERVICE_BUCKET } from '@platen/embedded/manifest/compile-folder.ts'
import { EMPTY_FOLDER, type FolderState, readFolder } from '@platen/embedded/manifest/folder.ts'
import { identify } from '@platen/embedded/manifest/identity.ts'
import { type Compiled, NOTHING, outcomesOf } from '@platen/operator/compile/compile.ts'
import { labelOf } from '@platen/operator/compile/condition.ts'
import { inertFieldsOf } from '@platen/operator/compile/inert.ts'
import { openThreadPool, type ThreadPool } from '@platen/renderer/engine/thread-pool.ts'

/** The folder cannot be listed; `message` names it. */
export class FolderUnreadable extends Error {
  override readonly name = 'FolderUnreadable'
}

interface Finding {
  readonly file: string
  readonly line?: number
  /** As `Template team-acme/invoice`. */
  readonly resource?: string
  /** The place in the resource, or the reason of the condition. */
  readonly place?: string
  readonly message: string
  /** Worth knowing, and nothing wrong. */
  readonly isWarning: boolean
}

export interface Report {
  /** By file and line. */
  readonly findings: readonly Finding[]
  readonly files: number
  readonly resources: number
  /** The findings that are no warnings. */
  readonly faults: number
}

/** Checks a folder. Throws `FolderUnreadable`. */
export async function checkFolder(dir: string): Promise<Report> {
  const folder = await readFolder(dir, EMPTY_FOLDER, resourceReader()).catch((cause: unknown) => {
    throw isErrno(cause) ? new FolderUnreadable(`the folder ${dir} cannot be read (${cause.code})`, { cause }) : cause
  })
  const compiled = await compileAll(folder)
  const findings = [...faultsOf(folder), ...findingsOf(folder, compiled)].sort(byPlace)
  return {
    findings,
    files: folder.files.size,
    resources: outcomesOf(compiled).length,
    faults: findings.filter(({ isWarning }) => !isWarning).length,
  }
}

/** A report as lines of text, the last of which sums it up. */
export function spell({ findings, files, resources, faults }: Report, dir: string): string {
  const lines = findings.map(({ file, line, resource, place, message, isWarning }) => {
    const at = line === undefined ? join(dir, file) : `${join(dir, file)}:${line}`
    const parts = [at, isWarning ? 'warning' : undefined, resource, place, message]
    // Messages may hold what a template's author threw.
    return parts
      .filter((part) => part !== undefined)
      .join(': ')
      .replace(/\p{Cc}+/gu, ' ')
  })
  const sum = `${count(files, 'file')}, ${count(resources, 'resource')}: ${faults === 0 ? 'no faults' : count(faults, 'fault')}`
  return `${[...lines, sum].join('\n')}\n`
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

async function compileAll({ documents }: FolderState): Promise<Compiled> {
  const clock = systemClock()
  const { resources } = identify({ documents, known: {}, isComplete: false, now: clock.now() }, systemIds())
  await using stack = new AsyncDisposableStack()
  let pool: ThreadPool | undefined
  // Without a template there is nothing to start threads for.
  const open = () =>
    stack.use(openThreadPool({ size: Math.min(availableParallelism(), TEMPLATE_CHECKS_AT_ONCE), clock }))
  const input = {
    documents,
    resources,
    keyHashes: assumedKeys(resources),
    serviceBucket: SERVICE_BUCKET,
    previous: NOTHING,
  }
  const check: Parameters<typeof compileFolder>[0]['check'] = (request, signal) => {
    pool ??= open()
    return pool.run({ kind: 'check', check: request }, signal)
  }
  const { compiled } = await compileFolder({ ...input, known: new Map(), check, clock }, new AbortController().signal)
  return compiled
}

/** Keys stand in files by namespace and name; two ApiKeys that name the same file have the same key. */
function assumedKeys(resources: readonly Resource[]): ReadonlyMap<Uid, KeyHash> {
  const keys = resources.filter((resource) => resource.kind === 'ApiKey')
  return new Map(
    keys.flatMap(({ metadata, spec }) =>
      // Of the form of a hash, and of nothing in particular.
      spec.secretName === undefined
        ? []
        : [[metadata.uid, sha256(`${metadata.namespace}.${spec.secretName}`) as KeyHash]],
    ),
  )
}

function faultsOf({ files, faults }: FolderState): readonly Finding[] {
  const found = faults.map(({ place, path, ...fault }) => ({
    ...fault,
    ...(place !== undefined && { resource: place }),
    ...(path !== undefined && { place: path }),
    isWarning: false,
  }))
  const nothing = { file: '', message: 'the folder holds no *.yaml', isWarning: false }
  return files.size === 0 ? [nothing] : found
}

function findingsOf({ documents }: FolderState, compiled: Compiled): readonly Finding[] {
  const places = new Map(documents.map(({ place, file, line }) => [place, { file, line }]))
  return outcomesOf(compiled).flatMap(({ resource, conditions }) => {
    const label = labelOf(resource)
    const where = { file: '', ...places.get(label), resource: label }
    const inert = inertFieldsOf(resource).map((field) => ({
      ...where,
      place: field,
      message: 'has no effect yet',
      isWarning: true,
    }))
    return [...conditions.flatMap((condition) => told(condition, where)), ...inert]
  })
}

function told(
  { type, status, reason, message }: Condition,
  where: Pick<Finding, 'file' | 'resource'>,
): readonly Finding[] {
  if (type === 'Ready' && status === 'False') return [{ ...where, place: reason, message, isWarning: false }]
  const isReady = type === 'EngineAllowed' && status === 'False'
  return isReady ? [{ ...where, place: reason, message, isWarning: true }] : []
}

function byPlace(one: Finding, other: Finding): number {
  if (one.file !== other.file) return one.file < other.file ? -1 : 1
  return (one.line ?? 0) - (other.line ?? 0)
}

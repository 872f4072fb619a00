/**
 * Reads, compiles and publish-checks a folder of manifests as the service does, but without the service. Then renders every template with
 * its sample data. Writes nothing. Keys that the service would generate count as present.
 */
import { availableParallelism } from 'node:os'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import type { Condition, Resource, TemplateResource } from '@platen/contract/domain/resource.ts'
import type { CheckFault } from '@platen/contract/domain/template-check.ts'
import type { KeyHash } from '@platen/contract/domain/tenant.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { forEachConcurrently } from '@platen/lib/for-each-concurrently.ts'
import { type Compiled, NO_PREVIOUS, resultsOf } from '@platen/settings/compilation/compile.ts'
import type { FoundKeys } from '@platen/settings/compile/api-key.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { ignoredFieldsOf } from '@platen/settings/compile/ignored-fields.ts'
import type { ConfigMaps } from '@platen/settings/compile/source.ts'
import { type CheckFaults, checkRequestsOf } from '@platen/settings/compile/template.ts'
import type { FoundSecrets } from '@platen/settings/compile/tenant.ts'
import { compileFolder, configMapsOf, isUnchecked, SERVICE_BUCKET } from '@platen/settings/manifest/compile-folder.ts'
import type { FolderState } from '@platen/settings/manifest/folder.ts'
import { openFolderChecks } from '@platen/settings/manifest/folder-checks.ts'
import { referencedIn, secretsIn } from '@platen/settings/manifest/webhook-secret.ts'
import { byLocation, count, type Diagnostic, formatDiagnostics } from './diagnostic/diagnostic.ts'
import { type Locations, locationsIn } from './diagnostic/location.ts'
import { conditionDiagnostic, folderReader, manifestDiagnostics, resourcesOf } from './folder.ts'
import { NO_CHROMIUM, openRenderer, type Renderer, type RendererPorts } from './renderer.ts'
import {
  enginesByDefault,
  previewDiagnostics,
  previewInputOf,
  sampleDiagnostics,
  schemaDiagnostic,
  sourceDiagnostic,
  sourceWarning,
} from './template.ts'

export interface CheckOptions {
  readonly dir: string
  readonly isRendering: boolean
}

interface Report {
  /** By file and line. */
  readonly diagnostics: readonly Diagnostic[]
  readonly files: number
  readonly resources: number
  /** Documents rendered from sample data. Absent when rendering was off. */
  readonly previews?: number
  /** Html sources were skipped because there is no browser. */
  readonly isWithoutHtml: boolean
}

/** Templates checked and rendered at once: enough for a few threads, few enough that each has its time. */
const TEMPLATES_AT_ONCE_MAX = 4

/** Throws `UsageError`; rejects with the signal's reason. */
export async function checkFolder(
  { dir, isRendering }: CheckOptions,
  ports: RendererPorts,
  signal: AbortSignal,
): Promise<Report> {
  const folder = await folderReader(dir)()
  const slots = Math.min(availableParallelism(), TEMPLATES_AT_ONCE_MAX)
  await using renderer = openRenderer(isRendering ? ports : { ...ports, chromium: 'none' }, { slots })
  const configMaps = configMapsOf(folder.documents)
  const { compiled, answers } = await compileAll({ folder, renderer, ports }, signal)
  const locations = locationsIn(folder, dir)
  const context: CheckContext = { configMaps, compiled, answers, locations, renderer }
  const previewed = isRendering ? await previewAll(context, slots, signal) : undefined
  const printed = previewed?.printed ?? new Set()
  const findings = [
    ...folderDiagnostics({ folder, dir, compiled, answers, locations, printed }),
    ...(previewed?.diagnostics ?? []),
  ]
  return {
    diagnostics: findings.sort(byLocation),
    files: folder.files.size,
    resources: resultsOf(compiled).length,
    isWithoutHtml: previewed?.isWithoutHtml ?? false,
    ...(previewed && { previews: previewed.previews }),
  }
}

export function faultsIn({ diagnostics }: Report): number {
  return diagnostics.filter(({ isWarning }) => !isWarning).length
}

/** The last line is the summary. */
export function formatReport(report: Report): string {
  const { diagnostics, files, resources, previews, isWithoutHtml } = report
  const faults = faultsIn(report)
  const note = isWithoutHtml ? [`note: ${NO_CHROMIUM}`] : []
  const counts = [count(files, 'file'), count(resources, 'resource')]
  if (previews !== undefined) counts.push(count(previews, 'preview'))
  const sum = `${counts.join(', ')}: ${faults === 0 ? 'no faults' : count(faults, 'fault')}`
  return `${[...formatDiagnostics(diagnostics), ...note, sum].join('\n')}\n`
}

interface CheckContext {
  readonly configMaps: ConfigMaps
  readonly compiled: Compiled
  readonly answers: CheckFaults
  readonly locations: Locations
  readonly renderer: Renderer
}

async function compileAll(
  { folder, renderer, ports }: { folder: FolderState; renderer: Renderer; ports: RendererPorts },
  signal: AbortSignal,
): Promise<{ compiled: Compiled; answers: CheckFaults }> {
  const { documents } = folder
  const resources = resourcesOf(documents, ports)
  // Asked before the checks, because a wrong browser path is not a fault of a template.
  if (resources.some(({ kind }) => kind === 'Template')) await renderer.hasHtml()
  const assumed = { foundKeys: assumedKeys(resources), webhookSecrets: assumedSecrets(resources, documents) }
  const input = { documents, resources, ...assumed, serviceBucket: SERVICE_BUCKET }
  using checks = openFolderChecks(renderer, ports.clock)
  const asked = { previous: NO_PREVIOUS, known: new Map(), checks, checkWaitMs: Number.POSITIVE_INFINITY }
  const { compiled, finalAnswers } = await compileFolder({ ...input, ...asked, clock: ports.clock }, signal)
  return { compiled, answers: finalAnswers }
}

/** Keys are stored in files by namespace and name, so two ApiKeys that name the same file have the same key. */
function assumedKeys(resources: readonly Resource[]): FoundKeys {
  const keys = resources.filter((resource) => resource.kind === 'ApiKey')
  return new Map(
    keys.flatMap(({ metadata, spec }) =>
      // The hash of a name, not of a key.
      spec.secretName === undefined
        ? []
        : [[metadata.uid, { hash: sha256(`${metadata.namespace}.${spec.secretName}`) as KeyHash }]],
    ),
  )
}

/** Only faults of webhook secrets that tenants reference. No check needs the value of a secret. */
function assumedSecrets(resources: readonly Resource[], documents: FolderState['documents']): FoundSecrets {
  const secrets = secretsIn(documents)
  const tenants = resources.filter((resource) => resource.kind === 'Tenant')
  return new Map(
    tenants.flatMap(({ metadata, spec }) => {
      const found = spec.webhookSecretRef && referencedIn(secrets, spec.webhookSecretRef)
      return found !== undefined && 'fault' in found ? [[metadata.uid, found]] : []
    }),
  )
}

interface CheckedFolder {
  readonly folder: FolderState
  readonly dir: string
  readonly compiled: Compiled
  readonly answers: CheckFaults
  readonly locations: Locations
  /** Templates whose html was printed. Absent = none. */
  readonly printed?: ReadonlySet<string>
}

/** Renders nothing. Skips resources whose check has not ended. */
export function folderDiagnostics(checked: CheckedFolder): readonly Diagnostic[] {
  const { folder, dir, compiled, answers, locations, printed = new Set<string>() } = checked
  const context = { configMaps: configMapsOf(folder.documents), answers, locations, printed }
  const known = resultsOf(compiled).filter((outcome) => !isUnchecked(outcome))
  const diagnostics = known.flatMap(({ resource, conditions }) => resourceDiagnostics(resource, conditions, context))
  return [...manifestDiagnostics(folder, locations, dir), ...diagnostics]
}

type ReportContext = Pick<CheckContext, 'configMaps' | 'answers' | 'locations'> &
  Required<Pick<CheckedFolder, 'printed'>>

function resourceDiagnostics(
  resource: Resource,
  conditions: readonly Condition[],
  context: ReportContext,
): readonly Diagnostic[] {
  const label = labelOf(resource)
  const ready = conditions.find(({ type }) => type === 'Ready')
  const failed = conditions.flatMap((condition): readonly Diagnostic[] => {
    const { type, status, reason, message } = condition
    const isFault = type === 'Ready'
    const isWarning = type === 'EngineAllowed' && reason !== ready?.reason
    if (status === 'True' || !(isFault || isWarning)) return []
    if (resource.kind === 'Template' && isFault && reason === 'CompileError')
      return compileDiagnostics(resource, message, context)
    if (resource.kind === 'Template' && reason === 'SchemaInvalid')
      return [schemaDiagnostic(resource, message, context.locations)]
    return [{ ...conditionDiagnostic(resource, condition, context.locations), isWarning }]
  })
  const ignored = ignoredFieldsOf(resource).map(({ path, message }) => ({
    ...context.locations.ofField(label, path),
    resource: label,
    subject: path,
    message,
    isWarning: true,
  }))
  return [...failed, ...ignored, ...(resource.kind === 'Template' ? sourceWarnings(resource, context) : [])]
}

function sourceWarnings(template: TemplateResource, context: ReportContext): readonly Diagnostic[] {
  // A printed document brings these warnings itself, and from Chromium, which knows more.
  const isTold = context.printed.has(labelOf(template))
  const warnings = answersOf(template, context).filter(({ isWarning, code }) => isWarning === true && !(isTold && code))
  return warnings.map((warning) => sourceWarning(template, warning, context.locations))
}

function answersOf(template: TemplateResource, { configMaps, answers }: ReportContext): readonly CheckFault[] {
  const [key = ''] = checkRequestsOf([template], configMaps).keys()
  return answers.get(key) ?? []
}

/** Splits a compile error into the faults of each engine. A template that could not be checked has only the message of its condition. */
function compileDiagnostics(
  template: TemplateResource,
  message: string,
  context: ReportContext,
): readonly Diagnostic[] {
  const [own = 'react_pdf'] = enginesByDefault(template)
  const faults: readonly CheckFault[] = answersOf(template, context).filter(({ isWarning }) => isWarning !== true)
  return (faults.length === 0 ? [{ message }] : faults).map(({ engine = own, message: fault }) =>
    sourceDiagnostic(template, { message: fault, engine, subject: 'CompileError' }, context.locations),
  )
}

interface PreviewedFolder {
  readonly diagnostics: readonly Diagnostic[]
  readonly previews: number
  readonly printed: ReadonlySet<string>
  readonly isWithoutHtml: boolean
}

/** Renders every template that compiles, with every engine it has a source for, `slots` at a time. */
async function previewAll(context: CheckContext, slots: number, signal: AbortSignal): Promise<PreviewedFolder> {
  const diagnostics: Diagnostic[] = []
  const printed = new Set<string>()
  let previews = 0
  let isWithoutHtml = false
  const jobs = jobsOf(context, (found) => diagnostics.push(...found))
  await forEachConcurrently(jobs, slots, async ({ template, engine }) => {
    if (engine === 'html' && !(await context.renderer.hasHtml())) {
      isWithoutHtml = true
      return
    }
    const subject = previewInputOf(template.resource, context)
    // The template compiled, so its sources exist.
    if ('refusal' in subject) return
    const data = template.resource.spec.sampleData ?? {}
    const preview = await context.renderer.render({ ...subject, data }, engine, signal)
    previews += 1
    if (engine === 'html' && 'pdf' in preview) printed.add(labelOf(template.resource))
    diagnostics.push(...previewDiagnostics({ ...template, limits: subject.limits, engine, preview }, context.locations))
  })
  return { diagnostics, previews, printed, isWithoutHtml }
}

interface PreviewJob {
  readonly template: { readonly resource: TemplateResource; readonly conditions: readonly Condition[] }
  readonly engine: Engine
}

function* jobsOf(
  { compiled, locations }: CheckContext,
  report: (diagnostics: readonly Diagnostic[]) => void,
): Generator<PreviewJob> {
  for (const template of compiled.templates.values()) {
    const { resource, conditions } = template
    const isCompiled = conditions.some(({ type, status }) => type === 'Compiled' && status === 'True')
    if (!isCompiled || resource.spec.sampleData === undefined) continue
    const mismatches = sampleDiagnostics(resource, locations)
    report(mismatches)
    if (mismatches.length > 0) continue
    for (const engine of enginesByDefault(resource)) yield { template, engine }
  }
}

/**
 * Renders one template of a folder to a PDF, with the engines of the service but without the service. Each round reads all files again.
 * Faults are reported, and leave the last PDF as it is.
 */
import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import type { Engine } from '@platen/contract/domain/render-options.ts'
import { type Condition, NAMESPACE_DEFAULT, type TemplateResource } from '@platen/contract/domain/resource.ts'
import type { CheckFault } from '@platen/contract/domain/template-check.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { raceAbort } from '@platen/lib/race.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { type Compiled, compile } from '@platen/settings/compilation/compile.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { type ConfigMaps, codeOf } from '@platen/settings/compile/source.ts'
import { checkRequestsOf } from '@platen/settings/compile/template.ts'
import { configMapsOf, SERVICE_BUCKET } from '@platen/settings/manifest/compile-folder.ts'
import type { FolderState } from '@platen/settings/manifest/folder.ts'
import type { ManifestDocument } from '@platen/settings/manifest/text/parse.ts'
import { byLocation, count, type Diagnostic, formatDiagnostics, UsageError } from './diagnostic/diagnostic.ts'
import { type Locations, locationsIn } from './diagnostic/location.ts'
import { conditionDiagnostic, folderReader, manifestDiagnostics, resourcesOf } from './folder.ts'
import { dataReader, type GivenData, readData } from './preview/data.ts'
import { requireOutput, writePdf } from './preview/output.ts'
import { openRenderer, type Renderer, type RendererPorts } from './renderer.ts'
import {
  enginesByDefault,
  type PreviewedTemplate,
  previewDiagnostics,
  previewInputOf,
  sampleDiagnostics,
  schemaDiagnostic,
  schemaFaultOf,
  sourceDiagnostic,
  sourceWarning,
} from './template.ts'

export interface PreviewOptions {
  readonly dir: string
  /** The template's code, name, or `namespace/name`. */
  readonly template: string
  /** A JSON file to use instead of the sample data, or `-` for standard input. */
  readonly data?: string
  readonly engine?: Engine
  /** Absent = a file in the current folder, named by the template's code. */
  readonly output?: string
}

interface PreviewPorts extends RendererPorts {
  readonly stdin: Readable
}

interface PreviewResult {
  /** A PDF was written, and the service would make it, too. */
  readonly isRendered: boolean
  /** Ends with a newline. */
  readonly text: string
}

export interface Previewer extends AsyncDisposable {
  /** Throws `UsageError`; rejects with the signal's reason. */
  render(signal: AbortSignal): Promise<PreviewResult>
}

/** Lives until `signal` aborts or it is disposed of. Engines stay warm between rounds. */
export function openPreview(options: PreviewOptions, ports: PreviewPorts, signal: AbortSignal): Previewer {
  const renderer = openRenderer(ports, { slots: 1 })
  const readFolder = folderReader(options.dir)
  const readGiven = options.data === undefined ? undefined : dataReader(options.data, ports.stdin, signal)

  async function render(signal: AbortSignal): Promise<PreviewResult> {
    const given = readGiven && (await raceAbort(readGiven(), signal))
    const folder = await readFolder()
    const locations = locationsIn(folder, options.dir)
    const selected = select(folder, locations, options)
    if ('findings' in selected) return refusedWith(selected.findings)
    const selectedTemplate = compileSelected(selected.document, { folder, ports })
    const engine = chooseEngine(selectedTemplate.template, options.engine)
    const data = dataToRender({ ...selectedTemplate, locations, engine }, given)
    if ('diagnostics' in data) return refusedWith([...data.diagnostics].sort(byLocation))
    const subject = previewInputOf(selectedTemplate.template, selectedTemplate)
    if ('refusal' in subject)
      return refusedWith([conditionDiagnostic(selectedTemplate.template, subject.refusal, locations)])
    const output = options.output ?? `${codeOf(selectedTemplate.template)}.pdf`
    await requireOutput(output)
    const preview = await renderer.render({ ...subject, data: data.data }, engine, signal)
    const previewed = {
      ...selectedTemplate,
      resource: selectedTemplate.template,
      limits: subject.limits,
      engine,
      preview,
    }
    const found = engine === 'react_pdf' ? await checkSource(selectedTemplate, renderer, signal) : []
    if ('failure' in preview) return refusedWith([...failureDiagnostics(previewed, found, locations), ...data.warnings])
    const diagnostics = [
      ...found.map((each) => sourceWarning(selectedTemplate.template, each, locations)),
      ...previewDiagnostics(previewed, locations),
    ]
    await writePdf(output, preview.pdf)
    const facts = [count(preview.pages, 'page'), kibibytes(preview.pdf), `${Math.round(preview.durationMs)} ms`]
    const line = `${output}: ${facts.join(', ')} (${engineNote(selectedTemplate.template, engine, options)})`
    return {
      isRendered: diagnostics.every(({ isWarning }) => isWarning),
      text: joinLines([line, ...formatDiagnostics([...data.warnings, ...diagnostics])]),
    }
  }

  return { render, [Symbol.asyncDispose]: () => renderer[Symbol.asyncDispose]() }
}

/** The publish check of the source alone, without data. It may explain a fault better than the failed render. */
async function checkSource(
  { template, configMaps }: SelectedTemplate,
  { check }: Pick<Renderer, 'check'>,
  signal: AbortSignal,
): Promise<readonly CheckFault[]> {
  const [request] = checkRequestsOf([template], configMaps).values()
  if (request === undefined) return []
  const { sampleData: _, ...withoutData } = request
  const { faults } = await check(template.spec.tenantRef.name, withoutData, signal)
  return faults.filter(({ engine }) => engine === 'react_pdf')
}

function failureDiagnostics(
  previewed: PreviewedTemplate,
  found: readonly CheckFault[],
  locations: Locations,
): readonly Diagnostic[] {
  const { resource, engine, preview } = previewed
  const subject = 'failure' in preview ? preview.failure.code : undefined
  const faults = subject === 'template_error' ? found.filter(({ isWarning }) => isWarning !== true) : []
  if (subject === undefined || faults.length === 0) return previewDiagnostics(previewed, locations)
  return faults.map(({ message }) => sourceDiagnostic(resource, { subject, message, engine }, locations))
}

function refusedWith(diagnostics: readonly Diagnostic[]): PreviewResult {
  return { isRendered: false, text: joinLines(formatDiagnostics(diagnostics)) }
}

function joinLines(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

function kibibytes({ byteLength }: Uint8Array): string {
  return `${Math.ceil(byteLength / 1024)} KiB`
}

/** When the caller has not chosen an engine, also says how to use the other. */
function engineNote(template: TemplateResource, engine: Engine, { engine: asked }: PreviewOptions): string {
  const [other] = asked === undefined ? enginesByDefault(template).filter((name) => name !== engine) : []
  return other === undefined ? engine : `${engine}; --engine ${other} renders its other source`
}

type Selection = { readonly document: ManifestDocument } | { readonly findings: readonly Diagnostic[] }

/** Throws `UsageError` when more than one template matches, or when none matches and every file could be read. */
function select(folder: FolderState, locations: Locations, { dir, template: name }: PreviewOptions): Selection {
  const templates = folder.documents.filter(({ written }) => written.kind === 'Template')
  const found = templates.filter((document) => namesOf(document).includes(name))
  const [document, ...others] = found
  if (others.length > 0) {
    const candidates = found.map((document) => namesOf(document)[0]).join(', ')
    throw new UsageError(`${name} is the name of more than one template; say which: ${candidates}`)
  }
  const diagnostics = manifestDiagnostics(folder, locations, dir)
  if (document !== undefined) {
    const own = diagnostics.filter(({ resource }) => resource === document.place)
    return own.length > 0 ? { findings: own } : { document }
  }
  const refused = diagnostics.filter(
    ({ resource }) => resource?.startsWith('Template ') === true && isNamed(resource, name),
  )
  if (refused.length > 0) return { findings: refused }
  const known = templates.flatMap(namesOf).filter((known) => known.includes('/') === name.includes('/'))
  const message = `there is no template ${name} in ${dir}${suggestion(name, known)}`
  // The template may be in a file that cannot be read.
  const unreadable = diagnostics.filter(({ resource }) => resource === undefined)
  if (unreadable.length === 0) throw new UsageError(message)
  return { findings: [...unreadable, { file: dir, message, isWarning: false }] }
}

/** Only the first name is unique. */
function namesOf({ written }: ManifestDocument): readonly string[] {
  if (written.kind !== 'Template') return []
  const { name, namespace = NAMESPACE_DEFAULT } = written.metadata
  const { code } = written.spec
  return [`${namespace}/${name}`, name, ...(code === undefined ? [] : [code])]
}

function isNamed(place: string, name: string): boolean {
  return place === `Template ${name}` || place.endsWith(`/${name}`)
}

interface SelectedTemplate {
  readonly template: TemplateResource
  readonly configMaps: ConfigMaps
  readonly compiled: Compiled
  readonly conditions: readonly Condition[]
}

/** Compiles the template only with plans and tenants, not with hundreds of other templates. The render itself checks the sources. */
function compileSelected(
  document: ManifestDocument,
  { folder, ports }: { folder: FolderState; ports: RendererPorts },
): SelectedTemplate {
  const around = folder.documents.filter(({ written }) => written.kind === 'Plan' || written.kind === 'Tenant')
  const resources = resourcesOf([...around, document], ports)
  const [template] = resources.filter((resource) => resource.kind === 'Template')
  assert(template !== undefined, 'a document of a template is a template')
  const configMaps = configMapsOf(folder.documents)
  const checks = new Map([...checkRequestsOf([template], configMaps).keys()].map((key) => [key, []]))
  const asked = { checks, defaults: DEFAULT_LIMITS, serviceBucket: SERVICE_BUCKET, now: ports.clock.now() }
  const compiled = compile({ resources, configMaps, foundKeys: new Map(), webhookSecrets: new Map(), ...asked })
  const conditions = compiled.templates.get(template.metadata.uid)?.conditions ?? []
  return { template, configMaps, compiled, conditions }
}

/** Returns `asked`, else the template's default. Throws `UsageError` when the template has no source for it. */
function chooseEngine(template: TemplateResource, asked: Engine | undefined): Engine {
  const engines = enginesByDefault(template)
  const engine = engines.find((name) => asked === undefined || name === asked)
  if (engine !== undefined) return engine
  throw new UsageError(`${labelOf(template)} has no ${asked} source: it has ${engines.join(' and ')}`)
}

interface DataInput extends SelectedTemplate {
  readonly locations: Locations
  readonly engine: Engine
}

type DataToRender =
  | { readonly data: JsonObject; readonly warnings: readonly Diagnostic[] }
  | { readonly diagnostics: readonly Diagnostic[] }

/** Warns of everything for which the service would refuse the data. */
function dataToRender(
  { template, conditions, locations, engine }: DataInput,
  given: GivenData | undefined,
): DataToRender {
  const failed = conditions.filter(({ status }) => status === 'False')
  const unsound = failed.find(({ reason }) => reason === 'SchemaInvalid')?.message ?? schemaFaultOf(template)
  if (unsound !== undefined) return { diagnostics: [schemaDiagnostic(template, unsound, locations)] }
  const warnings = failed
    .filter(({ type }) => type === 'Accepted' || (type === 'EngineAllowed' && engine === 'html'))
    .map((condition) => ({ ...conditionDiagnostic(template, condition, locations), isWarning: true }))
  const { sampleData } = template.spec
  if (given === undefined && sampleData === undefined) {
    const resource = labelOf(template)
    const message = 'has no sampleData: add it, or pass data with --data <file>'
    return { diagnostics: [{ ...locations.ofField(resource, '/spec'), resource, message, isWarning: false }] }
  }
  const read = given === undefined ? checkedSampleData(template, locations) : readData(template, given)
  return 'diagnostics' in read ? read : { data: read.data, warnings }
}

function checkedSampleData(template: TemplateResource, locations: Locations): ReturnType<typeof readData> {
  const diagnostics = sampleDiagnostics(template, locations)
  return diagnostics.length > 0 ? { diagnostics } : { data: template.spec.sampleData ?? {} }
}

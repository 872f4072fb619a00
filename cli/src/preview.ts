/**
 * One template of a folder as a PDF, by the engines of the service and without the service. Each round reads everything anew,
 * so that a preview shows what the files say now; what is wrong with them is said, and leaves the last PDF as it is.
 */
import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import type { JsonObject } from '@platen/contract/brand.ts'
import { raceAbort } from '@platen/contract/notifier.ts'
import type { Engine } from '@platen/contract/render-options.ts'
import type { Condition, TemplateResource } from '@platen/contract/resource.ts'
import { DEFAULT_LIMITS } from '@platen/contract/tenant.ts'
import { suggestion } from '@platen/renderer/template/element/primitive.ts'
import { type Compiled, compile } from '@platen/settings/compile/compile.ts'
import { labelOf } from '@platen/settings/compile/condition.ts'
import { type ConfigMaps, codeOf } from '@platen/settings/compile/source.ts'
import { checksOf } from '@platen/settings/compile/template.ts'
import { configMapsOf, SERVICE_BUCKET } from '@platen/settings/manifest/compile-folder.ts'
import type { FolderState } from '@platen/settings/manifest/folder.ts'
import { type ManifestDocument, NAMESPACE_DEFAULT } from '@platen/settings/manifest/text/parse.ts'
import { byPlace, CalledWrongly, count, type Finding, spell } from './finding/finding.ts'
import { type Places, placesIn } from './finding/place.ts'
import { conditionFinding, faultsOf, folderReader, resourcesOf } from './folder.ts'
import { dataReader, type GivenData, readData } from './preview/data.ts'
import { pagesOf, requireOutput, writePdf } from './preview/output.ts'
import { openRenderer, type RendererPorts } from './renderer.ts'
import { enginesOf, previewFindings, sampleFindings, schemaFaultOf, schemaFinding, subjectOf } from './template.ts'

export interface PreviewOptions {
  readonly dir: string
  /** Its code, its name, or `namespace/name`. */
  readonly template: string
  /** A file of JSON in place of the sample data, or `-` for the standard input. */
  readonly data?: string
  readonly engine?: Engine
  /** Where the PDF goes; absent = into the current folder, named by the template's code. */
  readonly output?: string
}

export interface PreviewPorts extends RendererPorts {
  readonly stdin: Readable
}

/** What a round came to. */
export interface Round {
  /** Was a PDF written? */
  readonly isRendered: boolean
  /** What to print, ending with a line end. */
  readonly text: string
}

export interface Previewer extends AsyncDisposable {
  /** Throws `CalledWrongly`; rejects with the signal's reason. */
  round(signal: AbortSignal): Promise<Round>
}

/** Opens a preview, which keeps engines warm from one round to the next, until `signal` aborts or it is disposed. */
export function openPreview(options: PreviewOptions, ports: PreviewPorts, signal: AbortSignal): Previewer {
  const renderer = openRenderer(ports, { slots: 1 })
  const readFolder = folderReader(options.dir)
  const readGiven = options.data === undefined ? undefined : dataReader(options.data, ports.stdin, signal)

  async function round(signal: AbortSignal): Promise<Round> {
    const given = readGiven && (await raceAbort(readGiven(), signal))
    const folder = await readFolder()
    const places = placesIn(folder, options.dir)
    const selected = select(folder, places, options)
    if ('findings' in selected) return refused(selected.findings)
    const look = lookAt(selected.document, { folder, ports })
    const engine = chooseEngine(look.template, options.engine)
    const ready = prepare({ ...look, places, engine }, given)
    if ('findings' in ready) return refused([...ready.findings].sort(byPlace))
    const subject = subjectOf(look.template, look)
    if ('refusal' in subject) return refused([conditionFinding(look.template, subject.refusal, places)])
    const output = options.output ?? `${codeOf(look.template)}.pdf`
    await requireOutput(output)
    const preview = await renderer.render({ ...subject, data: ready.data }, engine, signal)
    const findings = previewFindings({ ...look, resource: look.template, engine, preview }, places)
    if ('failure' in preview) return refused([...findings, ...ready.warnings])
    await writePdf(output, preview.pdf)
    const facts = [count(pagesOf(preview.pdf), 'page'), kibibytes(preview.pdf), `${Math.round(preview.durationMs)} ms`]
    const line = `${output}: ${facts.join(', ')} (${engineNote(look.template, engine, options)})`
    return { isRendered: true, text: told([line, ...spell([...ready.warnings, ...findings])]) }
  }

  return { round, [Symbol.asyncDispose]: () => renderer[Symbol.asyncDispose]() }
}

function refused(findings: readonly Finding[]): Round {
  return { isRendered: false, text: told(spell(findings)) }
}

function told(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

function kibibytes({ byteLength }: Uint8Array): string {
  return `${Math.ceil(byteLength / 1024)} KiB`
}

/** Which engine it was, and how to have the other where nobody has chosen. */
function engineNote(template: TemplateResource, engine: Engine, { engine: asked }: PreviewOptions): string {
  const [other] = asked === undefined ? enginesOf(template).filter((name) => name !== engine) : []
  return other === undefined ? engine : `${engine}; --engine ${other} renders its other source`
}

type Selection = { readonly document: ManifestDocument } | { readonly findings: readonly Finding[] }

/** The template that was named. Throws `CalledWrongly` when there is none, or more than one, and nothing in the folder is broken. */
function select(folder: FolderState, places: Places, { dir, template: name }: PreviewOptions): Selection {
  const templates = folder.documents.filter(({ written }) => written.kind === 'Template')
  const found = templates.filter((document) => namesOf(document).includes(name))
  const [document, ...others] = found
  if (others.length > 0) {
    const candidates = found.map((document) => namesOf(document)[0]).join(', ')
    throw new CalledWrongly(`${name} is the name of more than one template; say which: ${candidates}`)
  }
  const findings = faultsOf(folder, places, dir)
  if (document !== undefined) {
    const own = findings.filter(({ resource }) => resource === document.place)
    return own.length > 0 ? { findings: own } : { document }
  }
  const refused = findings.filter(
    ({ resource }) => resource?.startsWith('Template ') === true && isNamed(resource, name),
  )
  if (refused.length > 0) return { findings: refused }
  const known = templates.flatMap(namesOf).filter((known) => known.includes('/') === name.includes('/'))
  const message = `there is no template ${name} in ${dir}${suggestion(name, known)}`
  // It may be what cannot be read.
  const unreadable = findings.filter(({ resource }) => resource === undefined)
  if (unreadable.length === 0) throw new CalledWrongly(message)
  return { findings: [...unreadable, { file: dir, message, isWarning: false }] }
}

/** How a template may be named; the first is nobody else's. */
function namesOf({ written }: ManifestDocument): readonly string[] {
  if (written.kind !== 'Template') return []
  const { name, namespace = NAMESPACE_DEFAULT } = written.metadata
  const { code } = written.spec
  return [`${namespace}/${name}`, name, ...(code === undefined ? [] : [code])]
}

function isNamed(place: string, name: string): boolean {
  return place === `Template ${name}` || place.endsWith(`/${name}`)
}

interface Look {
  readonly template: TemplateResource
  readonly configMaps: ConfigMaps
  readonly compiled: Compiled
  readonly conditions: readonly Condition[]
}

/** The template among the plans and tenants alone: of hundreds of others nothing is asked. Its sources are judged by the render itself. */
function lookAt(document: ManifestDocument, { folder, ports }: { folder: FolderState; ports: RendererPorts }): Look {
  const around = folder.documents.filter(({ written }) => written.kind === 'Plan' || written.kind === 'Tenant')
  const resources = resourcesOf([...around, document], ports)
  const [template] = resources.filter((resource) => resource.kind === 'Template')
  assert(template !== undefined, 'a document of a template is a template')
  const configMaps = configMapsOf(folder.documents)
  const checks = new Map([...checksOf([template], configMaps).keys()].map((key) => [key, []]))
  const asked = { checks, defaults: DEFAULT_LIMITS, serviceBucket: SERVICE_BUCKET, now: ports.clock.now() }
  const compiled = compile({ resources, configMaps, foundKeys: new Map(), webhookSecrets: new Map(), ...asked })
  const conditions = compiled.templates.get(template.metadata.uid)?.conditions ?? []
  return { template, configMaps, compiled, conditions }
}

/** The one asked for, else the template's own, else react_pdf. Throws `CalledWrongly` for one it has no source for. */
function chooseEngine(template: TemplateResource, asked: Engine | undefined): Engine {
  const engines = enginesOf(template)
  const engine = engines.find((name) => asked === undefined || name === asked)
  if (engine !== undefined) return engine
  throw new CalledWrongly(`${labelOf(template)} has no ${asked} source: it has ${engines.join(' and ')}`)
}

interface Preparing extends Look {
  readonly places: Places
  readonly engine: Engine
}

type Ready =
  | { readonly data: JsonObject; readonly warnings: readonly Finding[] }
  | { readonly findings: readonly Finding[] }

/** The data to render, and what the service would hold against rendering it. */
function prepare({ template, conditions, places, engine }: Preparing, given: GivenData | undefined): Ready {
  const failed = conditions.filter(({ status }) => status === 'False')
  const unsound = failed.find(({ reason }) => reason === 'SchemaInvalid')?.message ?? schemaFaultOf(template)
  if (unsound !== undefined) return { findings: [schemaFinding(template, unsound, places)] }
  const warnings = failed
    .filter(({ type }) => type === 'Accepted' || (type === 'EngineAllowed' && engine === 'html'))
    .map((condition) => ({ ...conditionFinding(template, condition, places), isWarning: true }))
  const { sampleData } = template.spec
  if (given === undefined && sampleData === undefined) {
    const resource = labelOf(template)
    const message = 'has no sampleData: add it, or bring data with --data <file>'
    return { findings: [{ ...places.ofField(resource, '/spec'), resource, message, isWarning: false }] }
  }
  const read = given === undefined ? sampleOf(template, places) : readData(template, given)
  return 'findings' in read ? read : { data: read.data, warnings }
}

function sampleOf(template: TemplateResource, places: Places): ReturnType<typeof readData> {
  const findings = sampleFindings(template, places)
  return findings.length > 0 ? { findings } : { data: template.spec.sampleData ?? {} }
}

/**
 * Fills Liquid: a tenant's html template and its data in, HTML out. Runs in a render thread, which a deadline can end from outside. Here
 * every resource has its own limit: source, allocations, time, output. A template cannot read files or other templates. Of an object it can
 * read only the object's own properties. Pure: equal work gives equal HTML.
 */
import assert from 'node:assert/strict'
import type { JsonObject } from '@platen/contract/brand.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/limit.ts'
import { openLruCache, tenantPart } from '@platen/contract/lru-cache.ts'
import { suggestion } from '@platen/contract/suggestion.ts'
import type { Warning } from '@platen/contract/warning.ts'
import { type Emitter, Liquid, LiquidError, type Template } from 'liquidjs'
import type { RenderWork } from '../../port/engine.ts'
import type { FontFace } from '../asset/font/default-fonts.ts'
import { type RemoteImages, remoteImagesOf, requireFetched } from '../asset/remote-images.ts'
import { FigureFault } from '../figure/figure.ts'
import { registerFigures } from '../figure/tag.ts'
import {
  HTML_BYTES_MAX,
  LIQUID_ALLOCATIONS_MAX,
  LIQUID_CHARS_MIN,
  LIQUID_KEPT_CHARS_MAX,
  LIQUID_MS_MAX,
} from '../limit.ts'
import { type Coverage, openGlyphScan } from './coverage.ts'
import { FilterError, IMPURE_FILTERS, localeFilters } from './filter.ts'
import { absentWatcher, type WatchAbsent } from './liquid/absent.ts'
import { marginFaultOf } from './page-css.ts'
import { isPlain } from './plain.ts'
import {
  type Part,
  refuseLoading,
  unloadedIn,
  withAssetsInside,
  withDigests,
  withFonts,
  withRemoteInside,
} from './reference.ts'
import { withTargetPages } from './target-counter.ts'

/** The HTML for the browser. Header and footer are Chromium's print templates: Chromium fills `class="pageNumber"` and the like. */
export interface FilledHtml {
  readonly html: string
  /** Whether links name the page of their target. Then the document is printed twice. */
  readonly hasTargetPages?: boolean
  readonly header?: string
  readonly footer?: string
}

/** With the facts about its characters. */
export interface ScannedHtml extends FilledHtml {
  /** Absent if no character of the document can be missing. */
  readonly coverage?: Coverage
  /** Whether its text may need fonts for other scripts. */
  readonly isMultiscript: boolean
  /** The characters of header and footer that no font has. */
  readonly missing: string
  /** About the variables that were printed and had no value. */
  readonly absent: readonly Warning[]
  /** The addresses in header and footer that Chromium loads nothing from. */
  readonly unloaded: readonly string[]
}

/** Tags that would read another file. A template is a single file, whatever other files exist. */
const FILE_TAGS = ['include', 'render', 'layout', 'block']

/** Fills the template of a render, and scans the result. */
export type FillHtml = (work: RenderWork) => Promise<ScannedHtml>

/**
 * Returns a function that fills as `fillHtml` does, and finds characters that no font has. The function caches parsed templates, and what it
 * read of fonts. It throws `FilesNeeded` if header or footer have images that must be fetched.
 */
export function openHtmlFiller(faces?: readonly FontFace[]): FillHtml {
  const scan = openGlyphScan(faces)
  const kept = openLruCache<LiquidProgram>(LIQUID_KEPT_CHARS_MAX, ({ chars }) => chars)
  return async (work) => {
    const own = tenantPart(kept, work.tenant)
    const key = `${work.digest} ${work.options.time_zone ?? ''}`
    const parts = fillParts(work, () => own.get(key) ?? own.set(key, programOf(work)))
    const remote = remoteImagesOf(work)
    const filled = withFiles(parts, work, remote)
    requireFetched(remote)
    const coverage = await scan.coverageFor(parts.body.html, work)
    const missing = await Promise.all(parts.edges.map(({ html }) => scan.missingIn(html)))
    const unloaded = [filled.header, filled.footer].flatMap((edge) => (edge === undefined ? [] : unloadedIn(edge)))
    return {
      ...filled,
      isMultiscript: !isPlain(parts.body.html),
      missing: missing.join(''),
      absent: parts.absent,
      unloaded,
      ...(coverage === undefined ? {} : { coverage }),
    }
  }
}

/**
 * Fills the html source of `work`. The fields of its data are the top-level variables. `options` is the render's options and hides a field
 * of that name. Every value is escaped unless its expression ends with the filter `raw`.
 *
 * Throws `ServiceError` with `template_error`; the message begins with the position: `template.html:3:14: …`. Throws `asset_unavailable`
 * for an asset that the template does not have. References to files of hosts that are not fetched stay unchanged.
 */
export function fillHtml(work: RenderWork): FilledHtml {
  return withFiles(
    fillParts(work, () => programOf(work)),
    work,
    remoteImagesOf(work),
  )
}

interface Parts {
  readonly body: Part
  readonly edges: readonly (Part & { readonly edge: Edge })[]
  readonly absent: readonly Warning[]
}

type Edge = 'header' | 'footer'

/** A source of a template, parsed. */
export interface ParsedSource {
  readonly name: string
  /** Absent for the document itself. */
  readonly edge?: Edge
  readonly templates: Template[]
}

/** Parses the Liquid of a template: the document, then its header and footer. Throws as `fillHtml` does. */
export function parseHtml(template: RenderWork['template']): readonly ParsedSource[] {
  return parseWith(openLiquid(template.locale, undefined), template)
}

function parseWith(liquid: Liquid, { html: source }: RenderWork['template']): readonly ParsedSource[] {
  if (source === undefined) throw new ServiceError('template_error', 'the template has no html source')
  const parse = (text: string, name: string) => {
    const why = (error: unknown) => reasonOf(error, liquid)
    return { name, templates: attempt(() => liquid.parse(text), { name, why }) }
  }
  return [
    parse(source.template, 'template.html'),
    ...(['header', 'footer'] as const).flatMap((edge) => {
      const text = source[edge]
      return text === undefined ? [] : [{ edge, ...parse(text, `${edge}.html`) }]
    }),
  ]
}

/** A parsed template with its filters, for one time zone. Fills one document at a time. */
interface LiquidProgram {
  readonly liquid: Liquid
  readonly sources: readonly (ParsedSource & { readonly watchAbsent: WatchAbsent })[]
  /** How much of `LIQUID_KEPT_CHARS_MAX` it takes. */
  readonly chars: number
}

function programOf({ template, options }: RenderWork): LiquidProgram {
  const liquid = openLiquid(template.locale, options.time_zone)
  const sources = parseWith(liquid, template).map((source) => ({
    ...source,
    watchAbsent: absentWatcher(source.templates, source.name),
  }))
  const texts = [template.html?.template, template.html?.header, template.html?.footer]
  return { liquid, sources, chars: texts.reduce((sum, text = '') => sum + text.length, LIQUID_CHARS_MIN) }
}

function fillParts(work: RenderWork, program: () => LiquidProgram): Parts {
  // Check this before anything that takes time. If the source sets the size, only Chromium knows it.
  const fault = work.options.page_size === undefined ? undefined : marginFaultOf(work.options)
  if (fault !== undefined) throw new ServiceError('invalid_options', fault)
  const { liquid, sources } = program()
  const [document, ...edges] = sources
  assert(document !== undefined, 'a template has a document')
  const data = JSON.parse(new TextDecoder().decode(work.data)) as JsonObject
  const scope = { ...data, options: work.options }
  const absent: Warning[] = []
  const fill = ({ name, templates, watchAbsent }: LiquidProgram['sources'][number]): Part => {
    watchAbsent(absent)
    return { name, html: withDigests({ name, html: fillOne(liquid, { name, templates, scope }) }, work.assets) }
  }
  return {
    body: fill(document),
    edges: edges.flatMap((part) => (part.edge === undefined ? [] : [{ edge: part.edge, ...fill(part) }])),
    absent,
  }
}

/** Adds the template's own files to the HTML. */
function withFiles({ body, edges }: Parts, { template, assets }: RenderWork, remote: RemoteImages): FilledHtml {
  const inside = edges.map(({ edge, ...part }) => {
    refuseLoading(part)
    const html = withRemoteInside({ ...part, html: withAssetsInside(part, assets) }, remote)
    return [edge, html]
  })
  const html = withFonts(body, assets, template.fonts ?? [])
  const numbered = withTargetPages(html)
  return {
    html: numbered ?? html,
    ...(numbered !== undefined && { hasTargetPages: true }),
    ...Object.fromEntries(inside),
  }
}

function fillOne(liquid: Liquid, { name, templates, scope }: ParsedSource & { readonly scope: object }): string {
  const fill = () => {
    const html = String(liquid.renderSync(templates, scope))
    if (Buffer.byteLength(html) > HTML_BYTES_MAX) throw new RangeError(tooLong)
    return html
  }
  return attempt(fill, { name, why: fillFaultOf })
}

interface Attempt {
  readonly name: string
  readonly why: (error: unknown) => string
}

function attempt<Result>(act: () => Result, { name, why }: Attempt): Result {
  try {
    return act()
  } catch (cause) {
    throw new ServiceError('template_error', `${placeOf(cause, name)}: ${why(cause)}`, { cause })
  }
}

function openLiquid(locale: string | undefined, timeZone: string | undefined): Liquid {
  const liquid = new Liquid({
    // An empty set of named templates. So nothing can reach a file system, even if the list of tags had a gap.
    templates: {},
    outputEscape: 'escape',
    ownPropertyOnly: true,
    strictFilters: true,
    timezoneOffset: 0,
    locale: 'en-US',
    parseLimit: TEMPLATE_SOURCE_BYTES_MAX,
    renderLimit: LIQUID_MS_MAX,
    memoryLimit: LIQUID_ALLOCATIONS_MAX,
  })
  for (const [name, filter] of Object.entries(localeFilters(locale, timeZone))) liquid.registerFilter(name, filter)
  for (const name of IMPURE_FILTERS) liquid.unregisterFilter(name)
  for (const name of FILE_TAGS) {
    liquid.registerTag(name, {
      parse: () => {
        throw new Error(`the tag ${name} is not available: a template is one file`)
      },
      render: () => '',
    })
  }
  registerFigures(liquid, locale)
  boundOutput(liquid)
  return liquid
}

/**
 * LiquidJS limits the allocations of filters and ranges, but not the output: nested loops could fill the memory of the thread. All output
 * passes through this one method, also that of `capture`.
 */
function boundOutput(liquid: Liquid): void {
  const { renderer } = liquid
  const render = renderer.renderTemplates.bind(renderer)
  renderer.renderTemplates = (templates: Template[], context, emitter = boundedEmitter()) =>
    render(templates, context, emitter)
}

const tooLong = `the HTML is longer than ${HTML_BYTES_MAX / 1024 / 1024} MiB`

function boundedEmitter(): Emitter {
  return {
    buffer: '',
    write(value: unknown) {
      this.buffer += textOf(value)
      if (this.buffer.length > HTML_BYTES_MAX) throw new RangeError(tooLong)
    },
  }
}

/** A value as Liquid prints it, but JSON instead of `[object Object]`. Only with `raw` can a value that is not a string arrive here. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(textOf).join('') : (JSON.stringify(value) ?? '')
}

function placeOf(error: unknown, name: string): string {
  if (!LiquidError.is(error)) return name
  const [line, column] = error.token.getPosition()
  return `${name}:${line}:${column}`
}

/** LiquidJS puts the position at the end of its messages; ours have it at the front. It also names its limits without their values. */
const LIMIT_REASONS: Readonly<Record<string, string>> = {
  'parse length limit exceeded': `the source is longer than ${TEMPLATE_SOURCE_BYTES_MAX / 1024} KiB`,
  'template render limit exceeded': `filling took longer than ${LIQUID_MS_MAX / 1000} seconds`,
  'memory alloc limit exceeded': `filling made more than ${LIQUID_ALLOCATIONS_MAX} characters and list elements`,
  'Maximum call stack size exceeded': 'tags are nested too deeply',
}

function reasonOf(error: unknown, { filters, tags }: Liquid): string {
  const message = error instanceof Error ? error.message.replace(/, line:\d+, col:\d+$/, '') : 'the template failed'
  const [, filter] = /^undefined filter: (.+)$/.exec(message) ?? []
  if (filter !== undefined) return `there is no filter ${filter}${suggestion(filter, Object.keys(filters))}`
  const [, tag] = /^tag "(.+)" not found$/.exec(message) ?? []
  if (tag !== undefined) return misplaced(tag, tags) ?? `there is no tag ${tag}${suggestion(tag, namesOf(tags))}`
  return unclosed(message) ?? LIMIT_REASONS[message] ?? message
}

/** LiquidJS finds a tag only where it may be: an inner or closing tag elsewhere is unknown to it. */
function misplaced(tag: string, tags: object): string | undefined {
  const parents = INNER_TAGS[tag]
  if (parents !== undefined) return `${tag} is not inside of ${parents}, or a tag before it is still open`
  const opening = tag.replace(/^end/, '')
  if (opening === tag || !Object.hasOwn(tags, opening)) return undefined
  return `there is no ${opening} to close, or a tag inside of it is still open`
}

/** LiquidJS quotes the source, of an open output up to the end of the file. The position at the front says the same. */
function unclosed(message: string): string | undefined {
  const [, kind, begin] = /^(tag|output|raw) ([^]*) not closed$/.exec(message) ?? []
  if (kind === 'output') return 'the output is not closed: }} is missing'
  const name = kind === 'raw' ? kind : /^\{%-?\s*(\w+)[^]*%\}$/.exec(begin ?? '')?.[1]
  if (name !== undefined) return `${name} is not closed: {% end${name} %} is missing`
  return kind === 'tag' ? 'the tag is not closed: %} is missing' : undefined
}

/**
 * Why filling failed. Does not pass on messages of LiquidJS and JavaScript that may quote data: `where_exp` parses a value as an
 * expression, and a `RangeError` contains a negative count.
 */
function fillFaultOf(error: unknown): string {
  const cause = LiquidError.is(error) ? error.originalError : error
  if (!(cause instanceof Error)) return UNFIT
  if (cause instanceof FilterError || cause instanceof FigureFault) return `${expressionOf(error)}${cause.message}`
  if (cause.message === tooLong) return tooLong
  return LIMIT_REASONS[cause.message] ?? UNFIT
}

const UNFIT = 'a value does not fit its filter or tag'

/** The expression whose value a filter refuses, as the source has it: one line may have several. */
function expressionOf(error: unknown): string {
  if (!LiquidError.is(error)) return ''
  const text = error.token.getText().replaceAll(/\s+/g, ' ')
  return `${text.length > EXPRESSION_CHARS_MAX ? `${text.slice(0, EXPRESSION_CHARS_MAX)}…` : text}: `
}

const EXPRESSION_CHARS_MAX = 60

/** Tags that may only be inside of others. */
const INNER_TAGS: Readonly<Record<string, string>> = {
  else: 'if, unless, case or for',
  elsif: 'if or unless',
  when: 'case',
}

/** LiquidJS does not list inner and closing tags as tags of their own. */
function namesOf(tags: object): string[] {
  const names = Object.keys(tags).filter((tag) => !FILE_TAGS.includes(tag))
  return [...names, ...Object.keys(INNER_TAGS), ...names.map((name) => `end${name}`)]
}

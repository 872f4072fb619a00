/**
 * Fills a tenant's html template with its data by Liquid. Runs in a render thread, which a deadline can end from outside. Source,
 * allocations, time and output each have a limit. A template cannot read files or other templates, and of an object only its own
 * properties. Pure: equal work gives equal HTML.
 */
import assert from 'node:assert/strict'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { TEMPLATE_SOURCE_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import type { Warning } from '@platen/contract/domain/warning.ts'
import { openLruCache, tenantPart } from '@platen/lib/lru-cache.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { type Emitter, Liquid, LiquidError, type Template } from 'liquidjs'
import type { RenderWork } from '../../port/engine.ts'
import { openLiterals } from '../absent-value.ts'
import type { FontFace } from '../asset/font/default-fonts.ts'
import { type RemoteImages, remoteImagesOf, requireFetched } from '../asset/remote-images.ts'
import { FigureFault } from '../figure/figure.ts'
import { registerFigures } from '../figure/tag.ts'
import { HTML_BYTES_MAX, LIQUID_MS_MAX } from '../limit.ts'
import { type Coverage, openGlyphScan } from './coverage.ts'
import { dataOf } from './data.ts'
import { type DamagedImage, damagedImages } from './data-image.ts'
import { FilterError } from './filter/fault.ts'
import { IMPURE_FILTERS, localeFilters } from './filter.ts'
import type { Linted, SourceLint } from './lint/lint.ts'
import { absentWatcher, type WatchAbsent } from './liquid/absent.ts'
import { filterFor } from './liquid/habit.ts'
import { type MarkupSupport, openMarkup } from './liquid/markup.ts'
import { syntaxFaults } from './liquid/syntax.ts'
import { earlyMarginFaultOf, withPageSizes } from './page-css.ts'
import { isPlain } from './plain.ts'
import { withRenderDate } from './print-class.ts'
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
import { absentImageInHtml, type IgnoredStyle } from './unprinted-css.ts'

const KIB = 1024
/** The least that a template counts as: its filters and their formats take some hundred kilobytes. So at most 32 are cached. */
const LIQUID_CHARS_MIN = 8 * KIB

/**
 * Characters of source whose parsed form a thread caches: two dozen usual templates. The parsed form may take two hundred times as much
 * memory, which is a twentieth of what a thread may have.
 */
const LIQUID_KEPT_CHARS_MAX = 256 * KIB

const MIB = 1024 * KIB
/** Memory Liquid may allocate for one template, as LiquidJS counts it (characters and elements): three passes over the largest HTML. */
const LIQUID_ALLOCATIONS_MAX = 64 * MIB

/** The HTML for the browser. Header and footer are print templates: Chromium fills `class="pageNumber"` and the like. */
export interface FilledHtml {
  readonly html: string
  /** Links name the page of their target, so the document is printed twice. */
  readonly hasTargetPages?: boolean
  readonly header?: string
  readonly footer?: string
}

export interface ScannedHtml extends FilledHtml {
  /** Absent if no character of the document can be missing. */
  readonly coverage?: Coverage
  /** The text may need fonts for other scripts. */
  readonly isMultiscript: boolean
  /** The characters of header and footer that no font has. */
  readonly missing: string
  readonly absent: readonly Warning[]
  /** Addresses in header and footer from which Chromium loads nothing. */
  readonly unloaded: readonly string[]
  /** In `data:` URLs of the document, shown or not. */
  readonly damaged: readonly DamagedImage[]
  readonly damagedInEdges: readonly DamagedImage[]
  /** An image without an address in the document's styles. */
  readonly absentImage: IgnoredStyle | undefined
  readonly linted: Linted
}

/** These would read another file, but a template is one file. */
const FILE_TAGS = ['include', 'render', 'layout', 'block']

export type FillHtml = (work: RenderWork) => Promise<ScannedHtml>

/**
 * Fills as `fillHtml` does, scans the result, and caches parsed templates and the characters of fonts. The function throws `FilesNeeded` if
 * header or footer have images that must be fetched.
 */
export function openHtmlFiller(faces?: readonly FontFace[]): FillHtml {
  const scan = openGlyphScan(faces)
  const kept = openLruCache<LiquidProgram>(LIQUID_KEPT_CHARS_MAX, ({ chars }) => chars)
  const lint = openLint()
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
      linted: await lint(work, parts),
      isMultiscript: !isPlain(parts.body.html),
      missing: missing.join(''),
      absent: parts.absent,
      unloaded,
      damaged: damagedImages(parts.body.html),
      damagedInEdges: parts.edges.flatMap(({ html }) => damagedImages(html)),
      absentImage: absentImageInHtml(parts.body.html),
      ...(coverage === undefined ? {} : { coverage }),
    }
  }
}

/** Reads the sources of each template once. The readers are loaded with the first template. */
function openLint(): (work: RenderWork, parts: Parts) => Promise<Linted> {
  const kept = openLruCache<readonly SourceLint[]>(LIQUID_KEPT_CHARS_MAX, (lints) =>
    lints.reduce((sum, { source }) => sum + source.text.length, LIQUID_CHARS_MIN),
  )
  return async ({ tenant, digest, template }, { body, edges }) => {
    const { linted, lintSources } = await import('./lint/lint.ts')
    const own = tenantPart(kept, tenant)
    const lints = own.get(digest) ?? own.set(digest, lintSources(template))
    return linted(lints, [body, ...edges])
  }
}

/**
 * The fields of the data are the top-level variables. `options` is the render's options, and hides a field of that name. Every value is
 * escaped unless its expression ends with the filter `raw`.
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

export interface ParsedSource {
  readonly name: string
  /** Absent for the document itself. */
  readonly edge?: Edge
  readonly text: string
  readonly templates: Template[]
}

/** The document, then its header and footer. Throws as `fillHtml` does. */
export function parseHtml(template: RenderWork['template']): readonly ParsedSource[] {
  return parseWith(openLiquid(template.locale, undefined, openMarkup()), template)
}

function parseWith(liquid: Liquid, { html: source }: RenderWork['template']): readonly ParsedSource[] {
  if (source === undefined) throw new ServiceError('template_error', 'the template has no html source')
  const parse = (text: string, name: string) => {
    const parsed = () => {
      try {
        return liquid.parse(text)
      } catch (cause) {
        const [fault] = syntaxFaults(text)
        if (fault === undefined) throw cause
        throw new ServiceError('template_error', `${name}:${fault.position.join(':')}: ${fault.message}`, { cause })
      }
    }
    const why = (error: unknown) => reasonOf(error, liquid)
    return { name, text, templates: attempt(parsed, { name, why }) }
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
  /** Its share of `LIQUID_KEPT_CHARS_MAX`. */
  readonly chars: number
}

function programOf({ template, options }: RenderWork): LiquidProgram {
  const markup = openMarkup()
  const liquid = openLiquid(template.locale, options.time_zone, markup)
  const sources = parseWith(liquid, template).map((source) => {
    markup.prepare(source.templates)
    return { ...source, watchAbsent: absentWatcher(source.templates, source.name) }
  })
  const texts = [template.html?.template, template.html?.header, template.html?.footer]
  return { liquid, sources, chars: texts.reduce((sum, text = '') => sum + text.length, LIQUID_CHARS_MIN) }
}

function fillParts(work: RenderWork, program: () => LiquidProgram): Parts {
  // Before anything that takes time.
  const fault = earlyMarginFaultOf(work.options)
  if (fault !== undefined) throw new ServiceError('invalid_options', fault)
  const { liquid, sources } = program()
  const [document, ...edges] = sources
  assert(document !== undefined, 'a template has a document')
  const dataText = new TextDecoder().decode(work.data)
  const data = dataOf(dataText)
  const scope = { ...data, options: work.options }
  const absent: Warning[] = []
  const { html } = work.template
  const isLiteral = openLiterals(() => [html?.template, html?.header, html?.footer, dataText].map((text) => text ?? ''))
  const fill = ({ name, templates, watchAbsent }: LiquidProgram['sources'][number]): Part => {
    watchAbsent(absent, isLiteral)
    return { name, html: withDigests({ name, html: fillOne(liquid, { name, templates, scope }) }, work.assets) }
  }
  return {
    body: fill(document),
    edges: edges.flatMap((part) => (part.edge === undefined ? [] : [{ edge: part.edge, ...fill(part) }])),
    absent,
  }
}

/** Adds the template's own files, page sizes and page numbers of links to the HTML. */
function withFiles({ body, edges }: Parts, work: RenderWork, remote: RemoteImages): FilledHtml {
  const { template, assets } = work
  const inside = edges.map(({ edge, ...part }) => {
    refuseLoading(part)
    const dated = { ...part, html: withRenderDate(part.html, () => dateOf(work)) }
    return [edge, withRemoteInside({ ...dated, html: withAssetsInside(dated, assets) }, remote)]
  })
  const fonts = withFonts(body, assets, template.fonts ?? [])
  const html = withPageSizes(fonts) ?? fonts
  const numbered = withTargetPages(html)
  return {
    html: numbered ?? html,
    ...(numbered !== undefined && { hasTargetPages: true }),
    ...Object.fromEntries(inside),
  }
}

/** In the form that Chromium prints its own date in. */
function dateOf({ date, template, options }: RenderWork): string {
  const form = { dateStyle: 'short', timeStyle: 'short', timeZone: options.time_zone ?? 'UTC' } as const
  return new Intl.DateTimeFormat(template.locale ?? 'en-US', form).format(date)
}

function fillOne(
  liquid: Liquid,
  { name, templates, scope }: Omit<ParsedSource, 'text'> & { readonly scope: object },
): string {
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
    if (cause instanceof ServiceError) throw cause
    throw new ServiceError('template_error', `${placeOf(cause, name)}: ${why(cause)}`, { cause })
  }
}

function openLiquid(locale: string | undefined, timeZone: string | undefined, markup: MarkupSupport): Liquid {
  const liquid = new Liquid({
    // No named templates, so nothing can reach a file system, even if the list of tags had a gap.
    templates: {},
    outputEscape: markup.print,
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
  markup.register(liquid)
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

/** As Liquid prints a value, but JSON instead of `[object Object]`. Values that are not strings come only from `raw`. */
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

/** LiquidJS names its limits without their values. */
const REASONS: Readonly<Record<string, string>> = {
  'illegal tag syntax, tag name expected': 'the name of a tag is missing after {%',
  'parse length limit exceeded': `the source is longer than ${TEMPLATE_SOURCE_BYTES_MAX / 1024} KiB`,
  'template render limit exceeded': `filling took longer than ${LIQUID_MS_MAX / 1000} seconds`,
  'memory alloc limit exceeded': `filling made more than ${LIQUID_ALLOCATIONS_MAX} characters and list elements`,
  'Maximum call stack size exceeded': 'tags are nested too deeply',
}

function reasonOf(error: unknown, { filters, tags }: Liquid): string {
  const message = error instanceof Error ? error.message.replace(/, line:\d+, col:\d+$/, '') : 'the template failed'
  const [, filter] = /^undefined filter: (.+)$/.exec(message) ?? []
  if (filter !== undefined) {
    const known = filterFor(filter)
    const hint = known === undefined ? suggestion(filter, Object.keys(filters)) : `: write ${known}`
    return `there is no filter ${filter}${hint}`
  }
  const [, tag] = /^tag "(.+)" not found$/.exec(message) ?? []
  if (tag !== undefined) return misplaced(tag, tags) ?? `there is no tag ${tag}${suggestion(tag, namesOf(tags))}`
  return unclosed(message) ?? REASONS[message] ?? message
}

/** LiquidJS knows an inner or closing tag only in its right place. */
function misplaced(tag: string, tags: object): string | undefined {
  const parents = INNER_TAGS[tag]
  if (parents !== undefined) return `${tag} is not inside of ${parents}, or a tag before it is still open`
  const opening = tag.replace(/^end/, '')
  if (opening === tag || !Object.hasOwn(tags, opening)) return undefined
  return `there is no ${opening} to close, or a tag inside of it is still open`
}

/** LiquidJS would quote the source up to the end of the file. The position at the front says enough. */
function unclosed(message: string): string | undefined {
  const [, kind, begin] = /^(tag|output|raw) ([^]*) not closed$/.exec(message) ?? []
  if (kind === 'output') return 'the output is not closed: }} is missing'
  const name = kind === 'raw' ? kind : /^\{%-?\s*(\w+)[^]*%\}$/.exec(begin ?? '')?.[1]
  if (name !== undefined) return `${name} is not closed: {% end${name} %} is missing`
  return kind === 'tag' ? 'the tag is not closed: %} is missing' : undefined
}

/**
 * Hides messages of LiquidJS and JavaScript, because they may quote data: `where_exp` parses a value as an expression, and a `RangeError`
 * contains a negative count.
 */
function fillFaultOf(error: unknown): string {
  const cause = LiquidError.is(error) ? error.originalError : error
  if (!(cause instanceof Error)) return UNFIT
  if (cause instanceof FilterError || cause instanceof FigureFault) return `${expressionOf(error)}${cause.message}`
  if (cause.message === tooLong) return tooLong
  return REASONS[cause.message] ?? UNFIT
}

export function isRefusedValue(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : undefined
  return LiquidError.is(cause) && cause.originalError instanceof FilterError
}

const UNFIT = 'a value does not fit its filter or tag'

/** The source of the expression, because one line may have several. */
function expressionOf(error: unknown): string {
  if (!LiquidError.is(error)) return ''
  const text = error.token.getText().replaceAll(/\s+/g, ' ')
  return `${text.length > EXPRESSION_CHARS_MAX ? `${text.slice(0, EXPRESSION_CHARS_MAX)}…` : text}: `
}

const EXPRESSION_CHARS_MAX = 60

const INNER_TAGS: Readonly<Record<string, string>> = {
  else: 'if, unless, case or for',
  elsif: 'if or unless',
  when: 'case',
}

/** Adds inner and closing tags, which LiquidJS does not list. */
function namesOf(tags: object): string[] {
  const names = Object.keys(tags).filter((tag) => !FILE_TAGS.includes(tag))
  return [...names, ...Object.keys(INNER_TAGS), ...names.map((name) => `end${name}`)]
}

/**
 * Fills Liquid: a tenant's html template and its data in, HTML out. Runs in a render thread, which a deadline can end from outside. Here
 * every resource has its own limit: source, allocations, time, output. A template cannot read files or other templates. Of an object it can
 * read only the object's own properties. Pure: equal work gives equal HTML.
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
/** What the shortest template counts as: its filters and their formats take some hundred kilobytes. So at most 32 are kept. */
const LIQUID_CHARS_MIN = 8 * KIB

/**
 * Characters of the sources whose parsed form a thread keeps: two dozen usual templates. What is parsed may take two hundred times as much,
 * which is a twentieth of the memory that a thread may have.
 */
const LIQUID_KEPT_CHARS_MAX = 256 * KIB

const MIB = 1024 * KIB
/** Memory Liquid may allocate for one template, as LiquidJS counts it (characters and elements): three passes over the largest HTML. */
const LIQUID_ALLOCATIONS_MAX = 64 * MIB

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
  /** The damaged images in `data:` URLs of the document, shown or not, and those of header and footer. */
  readonly damaged: readonly DamagedImage[]
  readonly damagedInEdges: readonly DamagedImage[]
  /** An image without an address in its styles. */
  readonly absentImage: IgnoredStyle | undefined
  /** About its styles, fonts and tags. */
  readonly linted: Linted
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

/** Returns a function that reads the sources of each template once. What it reads them with is loaded with the first of them. */
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
  readonly text: string
  readonly templates: Template[]
}

/** Parses the Liquid of a template: the document, then its header and footer. Throws as `fillHtml` does. */
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
  /** How much of `LIQUID_KEPT_CHARS_MAX` it takes. */
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

/** Adds the template's own files to the HTML. */
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
    // An empty set of named templates. So nothing can reach a file system, even if the list of tags had a gap.
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
  return REASONS[cause.message] ?? UNFIT
}

/** Whether filling ended because a filter refused a value. */
export function isRefusedValue(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : undefined
  return LiquidError.is(cause) && cause.originalError instanceof FilterError
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

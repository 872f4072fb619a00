/**
 * Makes one react_pdf document, from source to bytes. It loads react-pdf, so only render threads may use it: layout blocks its thread, and
 * some layouts never end.
 */

import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Asset, TemplateDigest } from '@platen/contract/domain/tenant.ts'
import type { Json } from '@platen/lib/brand.ts'
import { type Cache, openLruCache, tenantPart } from '@platen/lib/lru-cache.ts'
import layOut from '@react-pdf/layout'
import { PDF_PAGES_MAX } from '../limit.ts'
import { finishPdf } from '../pdf/finish.ts'
import type { Rendering, RenderWork } from '../port/engine.ts'
import { startPhaseTimer } from '../port/phase.ts'
import { openLiterals } from '../template/absent-value.ts'
import type { FontFace } from '../template/asset/font/default-fonts.ts'
import { remoteImagesOf, requireFetched } from '../template/asset/remote-images.ts'
import { keptImages, openImages } from '../template/element/image.ts'
import { EndlessPagination, openPaginationGuard } from '../template/element/pagination/pagination-guard.ts'
import { type Translation, translate } from '../template/elements.ts'
import type { Evaluate } from '../template/evaluate.ts'
import { type Program, TEMPLATE_FILE, transpile } from '../template/tsx/transpile.ts'
import { drawPdf } from './layout/drawing.ts'
import { type FontReader, openFontStore } from './layout/font-store.ts'
import { type InspectedLayout, inspectLayout } from './layout/inspect/inspect-layout.ts'
import type { LayoutNode } from './layout/inspect/layout-node.ts'
import { openIgnoredStyles } from './layout/inspect/warning-list.ts'
import { type Instance, instanceOf } from './layout/instance.ts'
import { isIncomplete, needsPlain, wantsPlain } from './layout/pagination/plain.ts'
import { expectedPages, paddingFault, type RoomFault, roomFault, unwrapped } from './layout/pagination/room.ts'
import { strandedSection } from './layout/pagination/stranded.ts'
import { openTotals, type PageCounts, type Totals } from './layout/pagination/totals.ts'

/** Sections that move to the next page because only their head had room. Each costs one more layout. */
const HEADS_MOVED_MAX = 10

/** Transpiled templates that a thread keeps. A tenant with many renders uses one or two. */
const PROGRAMS_MAX = 32

/**
 * Makes the PDF of `work`. One call at a time. Throws `ServiceError` with `template_error`, `asset_unavailable` or `page_limit`. Throws
 * `FilesNeeded` if images must be fetched first.
 */
export type RenderDocument = (work: RenderWork) => Promise<Rendering<Uint8Array<ArrayBuffer>>>

/**
 * Loads the default font and the layout engine for boxes. The returned function is ready, and runs templates in the sandbox behind
 * `evaluate`. `monotonic` returns milliseconds.
 */
export async function openDocumentRenderer(
  evaluate: Evaluate,
  { faces, monotonic }: { readonly faces: readonly FontFace[]; readonly monotonic: () => number },
): Promise<RenderDocument> {
  const fonts = openFontStore(faces)
  await layOutNodes({ type: 'DOCUMENT', children: [] }, fonts.reader)
  const programs = openLruCache<Program>(PROGRAMS_MAX)
  const counts = openLruCache<PageCounts>(PROGRAMS_MAX)
  const kept = keptImages()
  return async (work) => {
    const { tenant, digest, template, assets, data, options, date, isSandbox, onConsole } = work
    if (template.reactPdf === undefined)
      throw new ServiceError('template_error', 'the template has no react_pdf source')
    const timer = startPhaseTimer(monotonic)
    const dataText = new TextDecoder().decode(data)
    const ownPrograms = tenantPart(programs, tenant)
    const program = ownPrograms.get(digest) ?? ownPrograms.set(digest, transpile(template.reactPdf))
    using own = await fonts.register(template.fonts ?? [], { assets, tenant, locale: template.locale })
    const { nodes, call } = await evaluate(program, { data: dataText, options, locale: template.locale, onConsole })
    timer.end('evaluate')
    const remote = remoteImagesOf(work)
    const image = openImages(assets, tenantPart(kept, tenant), remote)
    const ignored = openIgnoredStyles(program.find)
    const { find } = program
    const translation = { template, options, call, find, image, families: own.families, onIgnored: ignored.add }
    let isTranslated = false
    const onTranslated = () => {
      isTranslated = true
      requireFetched(remote)
    }
    const layingOut = layOutWithHeads(
      { nodes, translation, onTranslated, fonts: fonts.reader },
      tenantPart(counts, tenant),
      digest,
    )
    // Functions that run during layout may show more images, so check again after it. Check also when layout fails: it may fail only
    // because stand-ins replace the images.
    const layout = await layingOut.finally(() => isTranslated && requireFetched(remote))
    const isLiteral = openLiterals(() => [template.reactPdf ?? '', dataText])
    const laidOut = inspectLayout(layout, {
      fonts: { faces, locale: template.locale },
      missing: fonts.missing,
      find: program.find,
      isLiteral,
    })
    refuseUnreadableImages(laidOut, assets, remote.fetched)
    timer.end('layout')
    const pdf = finishPdf(await withLayoutError(() => drawPdf(layout, date)), { isSandbox })
    timer.end('print')
    return { pdf, pages: pagesOf(layout), warnings: [...laidOut.warnings, ...ignored.warnings()], phases: timer.phases }
  }
}

interface Tree {
  readonly nodes: Json
  readonly translation: Translation
  /** Throws if the translation asked for files that must be fetched before layout. */
  readonly onTranslated: () => void
  readonly fonts: FontReader
}

/**
 * Lays a document out. If the head of a section stands alone at the end of a page, lays it out again with the section on the next page.
 * Content before the section stays where it is.
 */
async function layOutWithHeads(tree: Tree, counts: Cache<PageCounts>, digest: TemplateDigest): Promise<LayoutNode> {
  const breaks = new Set<number>()
  for (;;) {
    const layout = await layOutTree({ ...tree, translation: { ...tree.translation, breaks } }, counts, digest)
    const section = strandedSection(layout)
    if (section === undefined || breaks.has(section) || breaks.size === HEADS_MOVED_MAX) return layout
    breaks.add(section)
  }
}

async function layOutTree(tree: Tree, counts: Cache<PageCounts>, digest: TemplateDigest): Promise<LayoutNode> {
  const fast = await layOutFast(tree, counts.get(digest))
  if (fast === undefined || isIncomplete(fast.layout)) return await layOutOnlyPlain(tree)
  counts.set(digest, fast.counts)
  refuseTooManyPages(fast.layout)
  const wantsIt = wantsPlain(fast.layout, (tree.translation.breaks?.size ?? 0) > 0)
  return (wantsIt && (await layOutPlain(tree, pagesOf(fast.layout)))) || fast.layout
}

/** Lays out a document that the fast pagination cannot. Throws an error that names the cause if the pagination would have no end. */
async function layOutOnlyPlain(tree: Tree): Promise<LayoutNode> {
  const natural = await layOutNodesOf(tree, unwrapped)
  const fault = paddingFault(natural)
  if (fault !== undefined) throw unfit(fault, tree)
  const layout = await layOutPlain(tree, Math.min(PDF_PAGES_MAX, expectedPages(natural)))
  if (layout === undefined) throw unfit(roomFault(natural), tree)
  return layout
}

/** Uses react-pdf's own pagination. Returns undefined if it makes many more pages than expected, and so has no end. */
async function layOutPlain(tree: Tree, pagesExpected: number): Promise<LayoutNode | undefined> {
  try {
    const layout = await layOutNodesOf(tree, (document) => document, pagesExpected)
    refuseTooManyPages(layout)
    return layout
  } catch (error) {
    if (error instanceof ServiceError && error.cause instanceof EndlessPagination) return undefined
    throw error
  }
}

async function layOutNodesOf(
  tree: Tree,
  change: (document: Instance) => Instance,
  pagesExpected = PDF_PAGES_MAX,
): Promise<LayoutNode> {
  const translation = { ...tree.translation, paginationGuard: openPaginationGuard(pagesExpected) }
  return await withLayoutError(() => layOutNodes(change(translatedOf({ ...tree, translation })), tree.fonts))
}

function unfit({ message, source }: RoomFault, { translation: { find } }: Tree): ServiceError {
  const place = source === undefined ? undefined : find?.(source)
  return new ServiceError('template_error', `${place ?? TEMPLATE_FILE}: the document cannot be laid out: ${message}`)
}

/**
 * Uses the fast pagination, and guesses the page count of the last document of the template. Returns undefined for a document that only the
 * plain one can lay out.
 */
async function layOutFast(tree: Tree, guess: PageCounts = [1]): Promise<FastLayout | undefined> {
  const guessed = openTotals(guess)
  try {
    return await layOutWithTotals(guessed, tree)
  } catch (error) {
    if (!(error instanceof ServiceError)) return undefined
    // A function of the template may have failed because of the guessed totals.
    if (!guessed.wereGuessesUsed()) throw error
    return await layOutWithTotals(openTotals(undefined), tree)
  }
}

interface FastLayout {
  readonly layout: LayoutNode
  readonly counts: PageCounts
}

async function layOutWithTotals(totals: Totals, tree: Tree): Promise<FastLayout | undefined> {
  const { translation, fonts } = tree
  const call: Translation['call'] = (id, page) => translation.call(id, totals.withTotals(page))
  const document = translatedOf({ ...tree, translation: { ...translation, call } })
  if (needsPlain(document)) return undefined
  return { layout: await layOutNodes(totals.track(document), fonts), counts: totals.counts }
}

/** Fails for a file that passed all our checks but that react-pdf cannot read as an image. */
function refuseUnreadableImages(
  { unreadableImages: [digest] }: InspectedLayout,
  assets: readonly Asset[],
  fetched: readonly Asset[],
): void {
  if (digest === undefined) return
  const name = assets.find((asset) => asset.digest === digest)?.name
  const url = fetched.find((file) => file.digest === digest)?.name
  const far = url === undefined ? 'an image' : `image of ${new URL(url).hostname}`
  const image = name === undefined ? far : `image asset:${name}`
  throw new ServiceError('asset_unavailable', `template.tsx: ${image}: the image is damaged`)
}

function refuseTooManyPages(layout: LayoutNode): void {
  const pages = pagesOf(layout)
  if (pages <= PDF_PAGES_MAX) return
  throw new ServiceError('page_limit', `the document has ${pages} pages; at most ${PDF_PAGES_MAX} are allowed`)
}

function pagesOf({ children }: LayoutNode): number {
  return children?.length ?? 0
}

function translatedOf({ nodes, translation, onTranslated }: Tree): Instance {
  const document = translate(nodes, translation)
  onTranslated()
  return instanceOf(document)
}

/** With our types: react-pdf's own are larger and do not include fonts. */
const layOutNodes = layOut as unknown as (document: Instance, fonts: FontReader) => Promise<LayoutNode>

/** Errors of react-pdf are caused by what the template asked for. */
async function withLayoutError<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ServiceError('template_error', `${TEMPLATE_FILE}: the document cannot be laid out: ${reason}`, { cause })
  }
}

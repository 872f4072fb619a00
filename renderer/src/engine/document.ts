/**
 * One react_pdf document, from source to bytes. Loads react-pdf, so it is for render threads only: layout holds its thread from
 * start to end, and some layouts never end.
 */
import assert from 'node:assert/strict'
import type { Json } from '@platen/contract/brand.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { PDF_PAGES_MAX } from '@platen/contract/limit.ts'
import type { Asset, TemplateDigest } from '@platen/contract/tenant.ts'
import layOut from '@react-pdf/layout'
import { Font } from '@react-pdf/renderer'
import { type LruCache, openLruCache, tenantPart } from '../lru-cache.ts'
import { finishPdf } from '../pdf/finish.ts'
import type { Rendering, RenderWork } from '../port/engine.ts'
import { missingGlyphs } from '../template/asset/glyph.ts'
import { keptImages, openImages } from '../template/element/image.ts'
import { EndlessPagination, openPaginationGuard } from '../template/element/pagination-guard.ts'
import { type Translation, translate } from '../template/elements.ts'
import type { Evaluate } from '../template/evaluate.ts'
import { remoteImagesOf, requireFetched } from '../template/remote-images.ts'
import { type Program, transpile } from '../template/transpile.ts'
import { drawPdf } from './layout/drawing.ts'
import { openFontStore } from './layout/font-store.ts'
import { type InspectedLayout, inspectLayout, type LayoutNode } from './layout/inspect-layout.ts'
import { type Instance, instancesOf } from './layout/instance.ts'
import { wantsPlain } from './layout/pagination.ts'
import { openTotals, type PageCounts, type Totals } from './layout/totals.ts'

/** Transpiled templates kept by a thread; a tenant in a hurry uses one or two. */
const PROGRAMS_MAX = 32

/**
 * Makes the PDF of `work`; one call at a time. Throws `ServiceError` with `template_error`, `asset_unavailable` or `page_limit`, and
 * `FilesNeeded` where it has images that are to be fetched.
 */
export type RenderDocument = (work: RenderWork) => Promise<Rendering<Uint8Array<ArrayBuffer>>>

/** Loads the default font and what lays out boxes; what it returns is ready to work, in a sandbox it may share. */
export async function openDocumentRenderer(evaluate: Evaluate): Promise<RenderDocument> {
  // A soft hyphen says where a word may break, and nothing else does.
  Font.registerHyphenationCallback((word) => word.split('\u00ad'))
  const fonts = openFontStore()
  await layOutNodes({ type: 'DOCUMENT', children: [] }, FONTS)
  const programs = openLruCache<Program>(PROGRAMS_MAX, () => 1)
  const counts = openLruCache<PageCounts>(PROGRAMS_MAX, () => 1)
  const kept = keptImages()
  return async (work) => {
    const { tenant, digest, template, assets, data, options, isSandbox } = work
    if (template.reactPdf === undefined)
      throw new ServiceError('template_error', 'the template has no react_pdf source')
    const ownPrograms = tenantPart(programs, tenant)
    const program = ownPrograms.get(digest) ?? ownPrograms.set(digest, transpile(template.reactPdf))
    using own = fonts.register(template.fonts ?? [], { assets, tenant })
    const { nodes, call } = await evaluate(program, {
      data: new TextDecoder().decode(data),
      options,
      locale: template.locale,
    })
    const remote = remoteImagesOf(work)
    const image = openImages(assets, tenantPart(kept, tenant), remote)
    const translation = { template, options, call, find: program.find, image, families: own.families }
    let isTranslated = false
    const onTranslated = () => {
      isTranslated = true
      requireFetched(remote)
    }
    const layingOut = layOutTree({ nodes, translation, onTranslated }, tenantPart(counts, tenant), digest)
    // Functions that are called during layout may show images that nothing else does; and with stand-ins for its images a document
    // may fail that is sound with them.
    const layout = await layingOut.finally(() => isTranslated && requireFetched(remote))
    const laidOut = inspectLayout(layout, fonts.missing)
    refuseUnreadableImages(laidOut, assets, remote.fetched)
    const warning = missingGlyphs(laidOut.missing)
    const pdf = await withLayoutError(() => drawPdf(layout))
    return { pdf: finishPdf(pdf, { isSandbox }), warnings: warning === undefined ? [] : [warning] }
  }
}

/** A document before it is laid out. */
interface Tree {
  readonly nodes: Json
  readonly translation: Translation
  /** Throws where what the translation has asked for is to be fetched before anything is laid out. */
  readonly onTranslated: () => void
}

/** Lays a document out, as the pagination does that suits it. */
async function layOutTree(tree: Tree, counts: LruCache<PageCounts>, digest: TemplateDigest): Promise<LayoutNode> {
  const fast = await layOutFast(tree, counts.get(digest))
  counts.set(digest, fast.counts)
  refuseTooManyPages(fast.layout)
  if (!wantsPlain(fast.layout)) return fast.layout
  const translation = { ...tree.translation, paginationGuard: openPaginationGuard(pagesOf(fast.layout)) }
  const plain = await unlessEndless(() => layOutOnce({ ...tree, translation }))
  if (plain !== undefined) refuseTooManyPages(plain)
  return plain ?? fast.layout
}

/** By the fast pagination, taking the document to have as many pages as the last one of its template had. */
async function layOutFast(tree: Tree, guess: PageCounts = [1]): Promise<FastLayout> {
  const guessed = openTotals(guess)
  try {
    return await layOutWithTotals(guessed, tree)
  } catch (error) {
    // A function may fail on totals that are not true.
    if (!guessed.wereGuessesUsed()) throw error
    return await layOutWithTotals(openTotals(undefined), tree)
  }
}

interface FastLayout {
  readonly layout: LayoutNode
  readonly counts: PageCounts
}

async function layOutWithTotals(totals: Totals, tree: Tree): Promise<FastLayout> {
  const { translation } = tree
  const call: Translation['call'] = (id, page) => translation.call(id, totals.withTotals(page))
  const layout = await layOutOnce({ ...tree, translation: { ...translation, call } }, totals)
  return { layout, counts: totals.counts }
}

/** The document of react-pdf's own pagination, or none where that comes to no end. */
async function unlessEndless(action: () => Promise<LayoutNode>): Promise<LayoutNode | undefined> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof ServiceError && error.cause instanceof EndlessPagination) return undefined
    throw error
  }
}

/** A file that passed every look of ours, and is still not an image to react-pdf. */
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

async function layOutOnce({ nodes, translation, onTranslated }: Tree, totals?: Totals): Promise<LayoutNode> {
  const [document] = instancesOf(translate(nodes, translation))
  onTranslated()
  assert(document !== undefined, 'an element of a document is one')
  return await withLayoutError(() => layOutNodes(totals?.track(document) ?? document, FONTS))
}

/** With parameters and result as they are here: its own types of them are larger, and know nothing of fonts. */
const layOutNodes = layOut as unknown as (document: Instance, fonts: object) => Promise<LayoutNode>

/** react-pdf's own, whose fonts are all there: it would wait for those of each element, twice. */
const FONTS = Object.assign(Object.create(Font) as object, { load: () => undefined })

/** What react-pdf throws comes of what the template asked for. */
async function withLayoutError<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    const hint = reason.includes('leaves no room') ? '; paddings and what is fixed take all of it' : ''
    throw new ServiceError('template_error', `template.tsx: the document cannot be laid out: ${reason}${hint}`, {
      cause,
    })
  }
}

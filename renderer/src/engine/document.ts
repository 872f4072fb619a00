/**
 * One react_pdf document, from source to bytes. Loads react-pdf, so it is for render threads only: layout holds its thread from
 * start to end, and some layouts never end.
 */

import { ServiceError } from '@platen/contract/error.ts'
import { PDF_BYTES_MAX, PDF_PAGES_MAX } from '@platen/contract/limit.ts'
import type { Asset } from '@platen/contract/tenant.ts'
import { type DocumentProps, Font, renderToStream } from '@react-pdf/renderer'
import { cloneElement, type ReactElement } from 'react'
import { finishPdf } from '../pdf/finish.ts'
import { recentlyUsed } from '../recently-used.ts'
import { missingGlyphs } from '../template/asset/glyph.ts'
import { keptImages, openImages } from '../template/element/image.ts'
import { OutOfPatience, openPatience } from '../template/element/patience.ts'
import type { Props } from '../template/element/prop.ts'
import { translate } from '../template/elements.ts'
import type { Evaluate } from '../template/evaluate.ts'
import { type Program, transpile } from '../template/transpile.ts'
import type { Rendering, RenderWork } from './engine.ts'
import { type FontStore, openFontStore } from './layout/font-store.ts'
import { inspectLayout, type LaidOut, type LayoutNode, layoutOf } from './layout/laid-out.ts'
import { wantsPlain } from './layout/pagination.ts'

/** Transpiled templates kept by a thread; a tenant in a hurry uses one or two. */
const PROGRAMS_MAX = 32

/** Makes the PDF of `work`; one call at a time. Throws `ServiceError` with `template_error`, `asset_unavailable` or `page_limit`. */
export type RenderDocument = (work: RenderWork) => Promise<Rendering<Uint8Array<ArrayBuffer>>>

/** Loads fonts; what it returns is ready to work, in a sandbox it may share. */
export async function openDocumentRenderer(evaluate: Evaluate): Promise<RenderDocument> {
  // A soft hyphen says where a word may break, and nothing else does.
  Font.registerHyphenationCallback((word) => word.split('\u00ad'))
  const fonts = await openFontStore()
  const programs = recentlyUsed<Program>(PROGRAMS_MAX, () => 1)
  const kept = keptImages()
  return async ({ digest, template, assets, data, options, isSandbox }) => {
    if (template.reactPdf === undefined)
      throw new ServiceError('template_error', 'the template has no react_pdf source')
    const program = programs.get(digest) ?? programs.set(digest, transpile(template.reactPdf))
    using own = fonts.lend(template.fonts ?? [], assets)
    const { nodes, call } = await evaluate(program, { data, options, locale: template.locale })
    const image = openImages(assets, kept)
    const translation = { template, options, call, find: program.find, image, families: own.families }
    const fast = await print(translate(nodes, translation), fonts)
    const plain = wantsPlain(fast.layout)
      ? await patiently(() =>
          print(translate(nodes, { ...translation, patience: openPatience(fast.laidOut.pages) }), fonts),
        )
      : undefined
    const { pdf, laidOut } = plain ?? fast
    refuseGaps(laidOut, assets)
    const warning = missingGlyphs(laidOut.missing)
    return { pdf: finishPdf(pdf, { isSandbox }), warnings: warning === undefined ? [] : [warning] }
  }
}

/** The document of react-pdf's own pagination, or none where that comes to no end. */
async function patiently(action: () => Promise<Printed>): Promise<Printed | undefined> {
  try {
    return await action()
  } catch (error) {
    if (error instanceof ServiceError && error.cause instanceof OutOfPatience) return undefined
    throw error
  }
}

/** A file that passed every look of ours, and is still not an image to react-pdf. */
function refuseGaps({ gaps: [digest] }: LaidOut, assets: readonly Asset[]): void {
  if (digest === undefined) return
  const name = assets.find((asset) => asset.digest === digest)?.name
  const image = name === undefined ? 'an image' : `image asset:${name}`
  throw new ServiceError('asset_unavailable', `template.tsx: ${image}: the image is damaged`)
}

interface Printed {
  readonly pdf: Uint8Array<ArrayBuffer>
  readonly layout: LayoutNode
  readonly laidOut: LaidOut
}

async function print(document: ReactElement<Props>, fonts: FontStore): Promise<Printed> {
  let layout: LayoutNode = {}
  const onRender = (rendered: unknown) => {
    layout = layoutOf(rendered)
  }
  const stream = await drawn(cloneElement(document, { onRender }))
  const laidOut = inspectLayout(layout, fonts.missing)
  if (laidOut.pages > PDF_PAGES_MAX) {
    throw new ServiceError(
      'page_limit',
      `the document has ${laidOut.pages} pages; at most ${PDF_PAGES_MAX} are allowed`,
    )
  }
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > PDF_BYTES_MAX) throw new ServiceError('template_error', `the PDF has more than ${PDF_BYTES_MAX} bytes`)
  }
  // Memory of its own, as it is handed to another thread whole.
  const pdf = new Uint8Array(bytes)
  let at = 0
  for (const chunk of chunks) {
    pdf.set(chunk, at)
    at += chunk.length
  }
  return { pdf, layout, laidOut }
}

/** Lays the document out and draws it. What react-pdf throws while doing so comes of what the template asked for. */
async function drawn(document: ReactElement<DocumentProps>): Promise<AsyncIterable<Buffer>> {
  try {
    // Its streams give buffers, whatever the type of the interface says.
    return (await renderToStream(document)) as unknown as AsyncIterable<Buffer>
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    const hint = reason.includes('leaves no room') ? '; paddings and what is fixed take all of it' : ''
    throw new ServiceError('template_error', `template.tsx: the document cannot be laid out: ${reason}${hint}`, {
      cause,
    })
  }
}

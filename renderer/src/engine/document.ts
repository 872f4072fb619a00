/**
 * One react_pdf document, from source to bytes. Loads react-pdf, so it is for render threads only: layout holds its thread from
 * start to end, and some layouts never end.
 */

import { ServiceError } from '@platen/contract/error.ts'
import { PDF_BYTES_MAX, PDF_PAGES_MAX } from '@platen/contract/limit.ts'
import type { TemplateDigest } from '@platen/contract/tenant.ts'
import { type DocumentProps, Font, renderToStream } from '@react-pdf/renderer'
import { cloneElement, type ReactElement } from 'react'
import { fontFaces, plainText } from '../template/asset/fonts.ts'
import type { Props } from '../template/element/prop.ts'
import { translate } from '../template/elements.ts'
import { openSandbox } from '../template/evaluate.ts'
import { type Program, transpile } from '../template/transpile.ts'
import type { Rendering, RenderWork } from './engine.ts'

/** Transpiled templates kept by a thread; a tenant in a hurry uses one or two. */
const PROGRAMS_MAX = 32

/** Makes the PDF of `work`; one call at a time. Throws `ServiceError` with `template_error`, `asset_unavailable` or `page_limit`. */
export type RenderDocument = (work: RenderWork) => Promise<Rendering<Uint8Array<ArrayBuffer>>>

/** Loads fonts and QuickJS; what it returns is ready to work. */
export async function openDocumentRenderer(): Promise<RenderDocument> {
  const [evaluate] = await Promise.all([openSandbox(), loadFonts()])
  const programs = new Map<TemplateDigest, Program>()
  return async ({ digest, template, data, options }) => {
    if (template.reactPdf === undefined)
      throw new ServiceError('template_error', 'the template has no react_pdf source')
    const program = programs.get(digest) ?? transpile(template.reactPdf)
    // Set anew, so that the first key is the one used longest ago.
    programs.delete(digest)
    programs.set(digest, program)
    for (const oldest of programs.keys()) if (programs.size > PROGRAMS_MAX) programs.delete(oldest)
    const { nodes, call } = await evaluate(program, { data, options })
    return { pdf: await print(translate(nodes, { template, options, call })), warnings: [] }
  }
}

/** Registers and reads all fonts: react-pdf loads those it finds in the tree, but not those of what `render` functions return. */
async function loadFonts(): Promise<void> {
  for (const { family, file, weight, style } of fontFaces()) {
    Font.register({ family, src: file, fontWeight: weight, fontStyle: style })
  }
  Font.registerHyphenationCallback((word) => [word])
  for (const source of Object.values(Font.getRegisteredFonts()).flatMap(({ sources }) => sources)) {
    await source.load()
    // react-pdf's type of a font is built on that of a library without types.
    const font = source.data as FontFile | null
    if (font !== null) nameGlyphs(font)
  }
}

interface FontFile {
  readonly characterSet: readonly number[]
  glyphForCodePoint(codePoint: number): { codePoints: readonly number[]; isLigature: boolean }
}

/**
 * A font keeps each glyph with the characters it was first asked for, and a glyph first met as a part of another (the s of ś,
 * when a document is written out) is kept with none: in every later document of the thread that letter could be seen but not
 * copied or searched. So every glyph is given its characters here, before any document can.
 */
function nameGlyphs(font: FontFile): void {
  for (const codePoint of font.characterSet) {
    const glyph = font.glyphForCodePoint(codePoint)
    const letters = Array.from(
      plainText(String.fromCodePoint(codePoint)),
      (letter) => letter.codePointAt(0) ?? codePoint,
    )
    glyph.codePoints = letters
    glyph.isLigature = letters.length > 1
  }
}

async function print(document: ReactElement<Props>): Promise<Uint8Array<ArrayBuffer>> {
  let pages = 0
  const onRender = (rendered: unknown) => {
    pages = pagesOf(rendered)
  }
  const stream = await laidOut(cloneElement(document, { onRender }))
  if (pages > PDF_PAGES_MAX) {
    throw new ServiceError('page_limit', `the document has ${pages} pages; at most ${PDF_PAGES_MAX} are allowed`)
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
  return pdf
}

/** Lays the document out and draws it. What react-pdf throws while doing so comes of what the template asked for. */
async function laidOut(document: ReactElement<DocumentProps>): Promise<AsyncIterable<Buffer>> {
  try {
    // Its streams give buffers, whatever the type of the interface says.
    return (await renderToStream(document)) as unknown as AsyncIterable<Buffer>
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new ServiceError('template_error', `template.tsx: the document cannot be laid out: ${reason}`, { cause })
  }
}

/** react-pdf tells the laid-out tree to `onRender`, under a name that says it may change: then there is no count, and no limit but size. */
function pagesOf(rendered: unknown): number {
  const { _INTERNAL__LAYOUT__DATA_: layout } = (rendered ?? {}) as {
    _INTERNAL__LAYOUT__DATA_?: { children?: unknown[] }
  }
  return layout?.children?.length ?? 0
}

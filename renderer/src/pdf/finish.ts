/** What the service adds to a PDF after the engine made it: the metadata that Chromium does not write, and the sandbox watermark. */
import assert from 'node:assert/strict'
import { textString } from './syntax.ts'
import { openUpdate } from './update.ts'
import { addWatermark } from './watermark.ts'

/** Entries of the document information, and the language of the catalog (BCP 47). An absent entry stays as the engine wrote it. */
export interface Metadata {
  readonly title?: string
  readonly author?: string
  readonly subject?: string
  readonly keywords?: string
  readonly creator?: string
  readonly producer?: string
  readonly language?: string
}

interface PdfAdditions {
  readonly metadata?: Metadata
  readonly isSandbox: boolean
}

/** The keys of these entries in the document information. */
const KEYS = {
  title: 'Title',
  author: 'Author',
  subject: 'Subject',
  keywords: 'Keywords',
  creator: 'Creator',
  producer: 'Producer',
} as const satisfies Record<Exclude<keyof Metadata, 'language'>, string>

/**
 * Returns `pdf` itself if there is nothing to add, else a new file. Equal input gives equal bytes. Fails on a PDF that neither engine would
 * write.
 */
export function finishPdf<Bytes extends Uint8Array>(
  pdf: Bytes,
  { metadata = {}, isSandbox }: PdfAdditions,
): Bytes | Uint8Array<ArrayBuffer> {
  const texts = Object.entries(KEYS).flatMap(([name, key]) => {
    const text = metadata[name as keyof typeof KEYS]
    return text === undefined ? [] : [[key, textString(text)] as const]
  })
  const { language } = metadata
  if (texts.length === 0 && language === undefined && !isSandbox) return pdf
  const update = openUpdate(pdf)
  if (texts.length > 0) {
    assert(update.info !== undefined, 'both engines write document information')
    update.replace(update.info, new Map([...update.read(update.info), ...texts]))
  }
  if (language !== undefined) {
    update.replace(update.root, new Map([...update.read(update.root), ['Lang', textString(language)]]))
  }
  if (isSandbox) addWatermark(update)
  return update.finish()
}

/** Reads and repairs parts of a PDF from Chromium, without parsing more than necessary. Pure. */
import { constants, inflateSync } from 'node:zlib'
import type { Instant } from '@platen/lib/brand.ts'
import { arrayOf, type Dictionary, referenceOf } from '../pdf/syntax.ts'
import { openUpdate, type PdfUpdate } from '../pdf/update.ts'

const DATE_KEYS = ['/CreationDate (D:', '/ModDate (D:']

/**
 * The page, from 1, of each destination that links of the document lead to. The keys are Chromium's names: the part of an address after its
 * `#`, as written there.
 */
export function destinationPages(pdf: Uint8Array): ReadonlyMap<string, number> {
  const update = openUpdate(pdf)
  const catalog = update.read(update.root)
  const [named, tree] = [catalog.get('Dests'), referenceOf(catalog.get('Pages') ?? '')]
  if (named === undefined || tree === undefined) return new Map()
  const pages = new Map(pagesBelow(update, tree).map((object, index) => [object, index + 1]))
  return new Map(
    Array.from(update.dictionary(named)).flatMap(([name, destination]) => {
      const page = pages.get(referenceOf(arrayOf(destination)[0] ?? '') ?? -1)
      return page === undefined ? [] : [[unescaped(name), page] as const]
    }),
  )
}

function pagesBelow(update: PdfUpdate, node: number): readonly number[] {
  const kids = update.read(node).get('Kids')
  if (kids === undefined) return [node]
  return arrayOf(kids).flatMap((kid) => pagesBelow(update, referenceOf(kid) ?? node))
}

/** A PDF name writes some characters as `#` and two digits. */
function unescaped(name: string): string {
  return name.replaceAll(/#([\da-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

export interface PageScale {
  /** 1, or less if Chromium shrank the document to the width of its page. */
  readonly scale: number
  /** The width of the page between its margins, in CSS pixels. */
  readonly width: number
}

/**
 * Guesses the scale from the first instructions of the first page: its units, then a clip area, and the size of a CSS pixel from its corner
 * on. The area is the space between the margins, or a drawing at the top of the page. Undefined if the page is empty, or is drawn in
 * another way.
 */
export function firstPageScale(pdf: Uint8Array): PageScale | undefined {
  const update = openUpdate(pdf)
  const contents = referenceOf(firstPage(update)?.get('Contents') ?? '')
  if (contents === undefined) return undefined
  const head = beginningOf(update.stream(contents).subarray(0, HEAD_BYTES))
  const unit = Number(DRAWS_IN_UNITS.exec(head)?.[1])
  const [, , , width, pixel] = DRAWS_CONTENT.exec(head) ?? []
  if (Number.isNaN(unit) || width === undefined || pixel === undefined) return undefined
  return { scale: (unit * Number(pixel)) / POINTS_PER_PIXEL, width: (Number(width) * unit) / POINTS_PER_PIXEL }
}

function firstPage(update: PdfUpdate): Dictionary | undefined {
  for (let next = update.read(update.root).get('Pages'); ; ) {
    const object = referenceOf(next ?? '')
    if (object === undefined) return undefined
    const node = update.read(object)
    const kids = node.get('Kids')
    if (kids === undefined) return node
    next = arrayOf(kids)[0]
  }
}

const POINTS_PER_PIXEL = 72 / 96

/** Room for the page background, the boxes in the margins, and the beginning of the content, all compressed. */
const HEAD_BYTES = 4096

const DRAWS_IN_UNITS = /^([\d.]+) 0 0 -[\d.]+ 0 [\d.]+ cm\n/
const DRAWS_CONTENT = /\nq\n([\d.]+) ([\d.]+) ([\d.]+) [\d.]+ re\nW\*? n\nq\n([\d.]+) 0 0 \4 \1 \2 cm\n/

/** '' if the stream is not deflated. */
function beginningOf(bytes: Uint8Array): string {
  try {
    return inflateSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: HEAD_BYTES * 1100 }).toString(
      'latin1',
    )
  } catch {
    return ''
  }
}

/** Overwrites the dates in `pdf` in place, digit by digit, so that no offset moves. Chromium writes them in UTC. */
export function setDates(pdf: Buffer, date: Instant): Buffer {
  const digits = new Date(date).toISOString().slice(0, 'yyyy-mm-ddThh:mm:ss'.length).replaceAll(/\D/g, '')
  for (const key of DATE_KEYS) {
    const at = pdf.indexOf(key)
    // Texts in a PDF escape their parentheses, so text of an author cannot match.
    if (at !== -1 && /^\d{14}/.test(pdf.toString('latin1', at + key.length, at + key.length + 14))) {
      pdf.write(digits, at + key.length, 'latin1')
    }
  }
  return pdf
}

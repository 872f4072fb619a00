/**
 * Says of a document that Chromium printed smaller, because something in it is wider than its page. The PDF tells that it did, and by how
 * much, so nothing has to be laid out again for the many documents that fit.
 */
import type { Session } from '../connection.ts'
import { QUOTE_CHARS_MAX } from '../limit.ts'
import { firstPageScale } from '../pdf.ts'
import type { Finding } from './finding.ts'
import type { LoadedDocument } from './load.ts'

/** Chromium rounds: a page of a few points is a thousandth off. */
const SHRUNK_BELOW = 0.995

/** Chromium shrinks no further. What is still wider is cut off. */
const SCALE_MIN = 2 / 3

/** The layout of a screen and that of a page differ by a scroll bar at most. */
const TOLERANCE = 0.02

/** Lays the document out once more at the width of its page, and finds what is too wide. Undefined if the document fits. */
export async function shrinkage(
  session: Session,
  { run }: Pick<LoadedDocument, 'run'>,
  pdf: Uint8Array,
): Promise<Finding | undefined> {
  const page = firstPageScale(pdf)
  if (page === undefined || page.scale > SHRUNK_BELOW || page.scale < SCALE_MIN - TOLERANCE) return undefined
  const width = Math.round(page.width)
  await session.send('Emulation.setDeviceMetricsOverride', { width, height: 1000, deviceScaleFactor: 1, mobile: false })
  const { reach, name } = await run<Widest>(`(${FIND_WIDEST})()`)
  await session.send('Emulation.clearDeviceMetricsOverride')
  // Only a guess was made from the PDF. It is right if the layout says the same.
  if (Math.abs(Math.max(width / reach, SCALE_MIN) - page.scale) > TOLERANCE) return undefined
  const isCut = reach * SCALE_MIN > width + 1
  const effect = `all of it is printed at ${Math.round(page.scale * 100)} %${isCut ? ', and its right side is cut off' : ''}`
  return {
    code: 'page_shrunk',
    message: `the page is ${width} px wide between its margins, and ${name} is wider: ${effect}`,
  }
}

interface Widest {
  /** How far it reaches, in CSS pixels from the left margin. 0 if nothing is too wide. */
  readonly reach: number
  /** The element, as in `<td class="name"> “first words”`. */
  readonly name: string
}

/** Of the elements that reach furthest, the innermost is the cause. What an ancestor clips does not count. */
const FIND_WIDEST = `() => {
  const own = (prototype, name, of) => Object.getOwnPropertyDescriptor(prototype, name).get.call(of)
  const rect = (element) => Element.prototype.getBoundingClientRect.call(element)
  const parentOf = (element) => own(Node.prototype, 'parentElement', element)
  const isClipped = (element) => {
    for (let outer = parentOf(element); outer !== null && parentOf(outer) !== null; outer = parentOf(outer))
      if (getComputedStyle(outer).overflowX !== 'visible') return true
    return false
  }
  let reach = own(Element.prototype, 'clientWidth', own(Document.prototype, 'documentElement', document)) + 0.5, widest = null
  for (const element of Document.prototype.querySelectorAll.call(document, 'body, body *')) {
    const { left, right, width } = rect(element)
    const here = Math.max(right, left + own(Element.prototype, 'scrollWidth', element))
    if (width === 0 || here < reach - 0.01 || isClipped(element) || (right < reach && getComputedStyle(element).overflowX !== 'visible')) continue
    reach = here
    widest = element
  }
  if (widest === null) return JSON.stringify({ reach: 0, name: '' })
  // Each row of a table is as wide as the table, and its widest cell is the reason.
  const cells = Array.from(Element.prototype.querySelectorAll.call(widest, 'td, th'))
  if (Element.prototype.matches.call(widest, 'table, thead, tbody, tfoot, tr')) widest = cells.reduce((one, other) => rect(other).width > rect(one).width ? other : one, cells[0] ?? widest)
  const name = own(Element.prototype, 'localName', widest)
  const classes = (Element.prototype.getAttribute.call(widest, 'class') ?? '').trim().slice(0, ${QUOTE_CHARS_MAX / 2})
  const text = own(Node.prototype, 'textContent', widest)?.trim().replace(/\\s+/g, ' ').slice(0, 40) ?? ''
  return JSON.stringify({ reach, name: '<' + name + (classes === '' ? '' : ' class="' + classes + '"') + '>' + (text === '' ? '' : ' “' + text + '”') })
}`

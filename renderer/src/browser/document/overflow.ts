/**
 * Says what of a document does not fit: that Chromium printed it smaller, because something in it is wider than its page, and what is cut off
 * by a box or by the page. For both the document is laid out once more as large as its page: after its print, if the PDF tells that Chromium
 * shrank it; before, if any of its styles can cut anything off.
 */

import type { CDPSession } from 'puppeteer'
import { firstPageScale, type PageScale } from '../pdf.ts'
import type { Finding } from './finding.ts'
import type { LoadedDocument, PrintDocument } from './load.ts'
import {
  type Cut,
  FIND_CUTS_EARLY,
  FIND_CUTS_IN_WINDOW,
  FIND_PAGE_AREA,
  FIND_WIDEST,
  type Widest,
} from './script/overflow-script.ts'

/** Chromium rounds: a page of a few points is a thousandth off. */
const SHRUNK_BELOW = 0.995

/** Chromium shrinks no further. What is still wider is cut off. */
const SCALE_MIN = 2 / 3

/** The layout of a screen and that of a page differ by a scroll bar at most. */
const TOLERANCE = 0.02

/** Finds what is cut off. Of a document, either of them finds nothing, and costs nothing. */
interface CutFinder {
  /** While it is still laid out. */
  beforePrint(): Promise<readonly Finding[]>
  /** Where the size of the window matters, or the document would notice. */
  afterPrint(session: CDPSession): Promise<readonly Finding[]>
}

/** Nothing is looked at if no style can cut anything off, as far as the HTML tells, which is untrusted: the time is linear in its length. */
export function openCutFinder(
  document: Pick<PrintDocument, 'html' | 'isScripted' | 'remote'>,
  loaded: Pick<LoadedDocument, 'run'>,
): CutFinder {
  const { html, isScripted, remote } = document
  // Style sheets of hosts are not read here.
  const isUnknown = isScripted || remote !== undefined
  const mayCut = isUnknown || CUTS.test(html)
  const isLate = isUnknown || MEASURES.test(html)
  return {
    beforePrint: async () => (mayCut && !isLate ? (await loaded.run<readonly Cut[]>(FIND_CUTS_EARLY)).map(cutOff) : []),
    async afterPrint(session) {
      if (!mayCut || !isLate) return []
      const area = await loaded.run<Size>(FIND_PAGE_AREA)
      return (await inWindow(session, area, () => loaded.run<readonly Cut[]>(FIND_CUTS_IN_WINDOW))).map(cutOff)
    },
  }
}

const CUTS =
  /overflow|position\s{0,9}:|transform|translate|\bcontain\s{0,9}:|calc\(|-[\d.]{1,9}(?:px|pt|mm|cm|in|r?em|ch|v[wh]|%)|rtl|<(?:text|input|iframe)/i

const MEASURES =
  /\d[sld]?v(?:[whib]|min|max)\b|height\s{0,9}:\s{0,9}[\d.]{1,9}%|@media[^{]{0,200}(?:width|height|orientation)|transition/i

interface Size {
  readonly width: number
  readonly height: number
}

/** Lays the document out once more at the width of its page, and finds what is too wide. Undefined if the document fits. */
export async function findShrinking(
  session: CDPSession,
  { run }: Pick<LoadedDocument, 'run'>,
  pdf: Uint8Array,
): Promise<Finding | undefined> {
  const page = firstPageScale(pdf)
  if (page === undefined || page.scale > SHRUNK_BELOW || page.scale < SCALE_MIN - TOLERANCE) return undefined
  const size = { width: page.width, height: 1000 }
  return shrunk(page, await inWindow(session, size, () => run<Widest>(`(${FIND_WIDEST})()`)))
}

/** Sends all at once: Chromium obeys in this order. */
async function inWindow<Result>(session: CDPSession, size: Size, act: () => Promise<Result>): Promise<Result> {
  const [width, height] = [Math.round(size.width), Math.round(size.height)]
  const [, result] = await Promise.all([
    session.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false }),
    act(),
    session.send('Emulation.clearDeviceMetricsOverride'),
  ])
  return result
}

function shrunk(page: PageScale, { reach, name }: Widest): Finding | undefined {
  const width = Math.round(page.width)
  // Only a guess was made from the PDF. It is right if the layout says the same.
  if (Math.abs(Math.max(width / reach, SCALE_MIN) - page.scale) > TOLERANCE) return undefined
  const isCut = reach * SCALE_MIN > width + 1
  const effect = `all of it is printed at ${Math.round(page.scale * 100)} %${isCut ? ', and its right side is cut off' : ''}`
  return {
    code: 'page_shrunk',
    message: `the page is ${width} px wide between its margins, and ${name} is wider: ${effect}`,
  }
}

function cutOff({ what, others, by }: Cut): Finding {
  const more = others === 0 ? '' : ` and ${others} more`
  const verb = others === 0 ? 'is' : 'are'
  const reason = by === '' ? 'outside of the page between its margins, so not printed there' : `cut off by ${by}`
  return { code: 'text_overflow', message: `${what}${more} ${verb} ${reason}` }
}

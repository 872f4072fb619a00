/**
 * Finds what does not fit: a document that Chromium shrank because something in it is wider than its page, and content that a box or the
 * page cuts off. Both need one more layout at the size of the page: after the print, if the PDF shows that Chromium shrank the document;
 * before it, if any style can cut content off.
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

/** Chromium rounds: the scale of a page of a few points is a thousandth off. */
const SHRUNK_BELOW = 0.995

/** Chromium shrinks no further, and cuts off content that is still wider. */
const SCALE_MIN = 2 / 3

/** The layouts for the screen and for the page differ by a scroll bar at most. */
const TOLERANCE = 0.02

/** For each document at least one of the two finds nothing, at no cost. */
interface CutFinder {
  /** Looks while the document is still laid out for the screen. */
  beforePrint(): Promise<readonly Finding[]>
  /** For documents whose layout depends on the size of the window, or that would notice the change. */
  afterPrint(session: CDPSession): Promise<readonly Finding[]>
}

/** Does nothing if no style can cut content off, as far as the HTML shows. The HTML is untrusted, so the time is linear in its length. */
export function openCutFinder(
  document: Pick<PrintDocument, 'html' | 'isScripted' | 'remote'>,
  loaded: Pick<LoadedDocument, 'run'>,
): CutFinder {
  const { html, isScripted, remote } = document
  // The style sheets of hosts are unknown here.
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

/** Sends all commands at once: Chromium obeys in this order. */
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
  // The PDF allows only a guess of the scale. It is right if the layout confirms it.
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

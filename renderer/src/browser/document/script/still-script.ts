/**
 * Stops what moves in a document without scripts. Otherwise the print would depend on how fast the machine was. An animation that ends is
 * printed at its end, as a reader would find it, and an endless one at its beginning.
 */
import { withFirst } from '../../../template/html/reference.ts'

/** Whether anything in a document may move. Linear in the length of the HTML, which is untrusted. */
export function mayMove(html: string): boolean {
  return MOVES.test(html)
}

const MOVES = /animat|transition|<(?:set|marquee|video|audio|progress)\b/i

/** The document without elements that move by themselves and that no script can stop. */
export function withoutMotion(html: string): string {
  return withFirst(html.replaceAll(/<(\/?)marquee\b/gi, '<$1div'), `<style>${STILL}</style>`)
}

const STILL =
  'progress:not([value]){appearance:none!important}video::-webkit-media-controls,audio::-webkit-media-controls{display:none!important}'

/** A script that ends animations. It puts endless ones and moving drawings back to their beginning. */
export const HOLD_STILL = `(() => {
  const all = (selector) => Document.prototype.querySelectorAll.call(document, selector)
  for (const animation of Document.prototype.getAnimations.call(document)) {
    try { animation.finish() } catch { animation.pause(), animation.currentTime = 0 }
  }
  for (const drawing of all('svg')) {
    if (drawing.ownerSVGElement === null) SVGSVGElement.prototype.pauseAnimations.call(drawing), SVGSVGElement.prototype.setCurrentTime.call(drawing, 0)
  }
  return 'true'
})()`

/**
 * Finds styles that Chromium ignores or prints differently: footnotes, page counters outside of the margin boxes of `@page`, breaks to a
 * right or left page, and images without an address. Style sheets of hosts are searched for all of these, filled HTML only for the images.
 * Linear in their length. Pure.
 */

export interface IgnoredStyle {
  readonly what: 'footnote' | 'counter' | 'break' | 'image'
  readonly declaration: string
}

/** Only the first one. The lint reports the other ignored styles of a document. */
export function absentImageInHtml(html: string): IgnoredStyle | undefined {
  if (!NO_ADDRESS.test(html)) return undefined
  const styles = html.split(/<style\b[^<>]*>/i).slice(1)
  const sheet = styles.map((part) => part.split(/<\/style/i, 1)[0] ?? '').join('\n')
  const attributes = Array.from(html.matchAll(ATTRIBUTE), ([, double, single]) => `x{${double ?? single ?? ''}}`)
  const css = [sheet, ...attributes].map((text) => text.replaceAll(/&(?:quot|#39);/g, "'")).join('\n')
  return ignoredInCss(css).find(({ what }) => what === 'image')
}

/** At most one of each kind. */
export function ignoredInCss(css: string): readonly IgnoredStyle[] {
  if (!SUSPECT.test(css)) return []
  const own = withoutPages(withoutComments(css))
  return KINDS.flatMap(([what, pattern]) => {
    const [declaration] = pattern.exec(own) ?? []
    if (declaration === undefined || (what === 'counter' && OWN_COUNTER.test(own))) return []
    return [{ what, declaration: declaration.replaceAll(/\s+/g, ' ') }]
  })
}

/** Matches where a source may have one of this kind. */
export function patternOf(what: IgnoredStyle['what']): RegExp | undefined {
  return KINDS.find(([kind]) => kind === what)?.[1]
}

const FOOTNOTE = /float\s{0,9}:\s{0,9}footnote/i
const COUNTER = /counters?\(\s{0,9}pages?\s{0,9}[,)]/i
const BREAK = /break-(?:before|after)\s{0,9}:\s{0,9}(?:left|right|recto|verso)/i
const NO_ADDRESS = /url\(\s{0,9}(?:""|'')?\s{0,9}\)/i
const KINDS = [
  ['footnote', FOOTNOTE],
  ['counter', COUNTER],
  ['break', BREAK],
  ['image', NO_ADDRESS],
] as const

const SUSPECT = new RegExp(KINDS.map(([, { source }]) => source).join('|'), 'i')
const ATTRIBUTE = /\sstyle\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)')/gi
/** An author's own counter of this name does not count pages. */
const OWN_COUNTER = /counter-(?:reset|increment|set)\s{0,9}:[^;{}]{0,200}\bpages?\b/i

function withoutComments(css: string): string {
  const parts: string[] = []
  for (let from = 0; from < css.length; ) {
    const start = css.indexOf('/*', from)
    parts.push(css.slice(from, start === -1 ? css.length : start))
    const end = start === -1 ? -1 : css.indexOf('*/', start + 2)
    from = end === -1 ? css.length : end + 2
  }
  return parts.join(' ')
}

/** Removes `@page`, because page counters work in its boxes. */
function withoutPages(css: string): string {
  const parts: string[] = []
  let from = 0
  for (const { index } of css.matchAll(/@page\b/gi)) {
    if (index < from) continue
    parts.push(css.slice(from, index))
    from = endOfBlock(css, index)
  }
  return parts.join('') + css.slice(from)
}

function endOfBlock(css: string, start: number): number {
  const brackets = /[{}]/g
  brackets.lastIndex = start
  let depth = 0
  for (let found = brackets.exec(css); found !== null; found = brackets.exec(css)) {
    depth += found[0] === '{' ? 1 : -1
    if (depth <= 0) return found.index + 1
  }
  return css.length
}

/**
 * Lets style sheets of a document use `target-counter(attr(href), page)`, the page on which the target of a link is. Chromium does not know
 * it. It knows attributes in `content`, so the function becomes an attribute, which is filled in after a first print (`numbered.ts` of the
 * browser). Pure.
 */

/** The attribute of a link that has the page of its target. */
export const TARGET_PAGE = 'data-target-page'

const FUNCTION = /target-counter\(\s{0,9}attr\(\s{0,9}href(?:\s{1,9}url)?\s{0,9}\)\s{0,9},\s{0,9}page\s{0,9}\)/gi

/** The HTML with attributes instead, or undefined if none of its style elements uses the function. Linear in its length. */
export function withTargetPages(html: string): string | undefined {
  if (!html.includes('target-counter')) return undefined
  const parts: string[] = []
  const tag = /<(\/?)style(?=[\s>/])/gi
  let [from, isStyle] = [0, false]
  for (const { 1: slash, index } of html.matchAll(tag)) {
    if ((slash === '/') !== isStyle) continue
    const part = html.slice(from, index)
    parts.push(isStyle ? part.replaceAll(FUNCTION, `attr(${TARGET_PAGE})`) : part)
    ;[from, isStyle] = [index, !isStyle]
  }
  const replaced = `${parts.join('')}${html.slice(from)}`
  return replaced === html ? undefined : replaced
}

/**
 * Lets style sheets of a document use `target-counter(attr(href), page)`, the page on which the target of a link is. Chromium does not know
 * it. It knows attributes in `content`, so the function becomes an attribute, which is filled in after a first print (`numbered.ts` of the
 * browser). Pure.
 */
import { withStyles } from './style-element.ts'

/** The attribute of a link that has the page of its target. */
export const TARGET_PAGE = 'data-target-page'

const FUNCTION = /target-counter\(\s{0,9}attr\(\s{0,9}href(?:\s{1,9}url)?\s{0,9}\)\s{0,9},\s{0,9}page\s{0,9}\)/gi

/** The HTML with attributes instead, or undefined if none of its style elements uses the function. Linear in its length. */
export function withTargetPages(html: string): string | undefined {
  return html.includes('target-counter') ? withStyles(html, replaceTargetPages) : undefined
}

/** The same for CSS. */
export function replaceTargetPages(css: string): string {
  return css.replaceAll(FUNCTION, `attr(${TARGET_PAGE})`)
}

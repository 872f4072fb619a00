/**
 * Lets style sheets use `target-counter(attr(href), page)`, the page of a link's target, which Chromium does not know. It knows attributes
 * in `content`, so the function becomes an attribute, which is filled in after a first print (`page-numbers.ts` of the browser). Pure.
 */
import { withStyles } from './style-element.ts'

/** This attribute of a link has the page of its target. */
export const TARGET_PAGE = 'data-target-page'

const FUNCTION = /target-counter\(\s{0,9}attr\(\s{0,9}href(?:\s{1,9}url)?\s{0,9}\)\s{0,9},\s{0,9}page\s{0,9}\)/gi

/** Undefined if no style element uses the function. Linear in the length of `html`. */
export function withTargetPages(html: string): string | undefined {
  return html.includes('target-counter') ? withStyles(html, replaceTargetPages) : undefined
}

export function replaceTargetPages(css: string): string {
  return css.replaceAll(FUNCTION, `attr(${TARGET_PAGE})`)
}

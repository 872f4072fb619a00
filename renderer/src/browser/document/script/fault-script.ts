/** Finds what of a document was not printed as its source means it. Like `script.ts`: expressions for the page, on the prototypes. */
import { FINDINGS_MAX, QUOTE_CHARS_MAX } from '../../limit.ts'

/** What the page knows of its own faults. Each text is cut. */
export interface DocumentFaults {
  /** The addresses of images that cannot be decoded. */
  readonly images: readonly string[]
  /** Families of fonts in `data:` URLs that cannot be read. */
  readonly fonts: readonly string[]
  /** Addresses that Chromium requests nothing from: relative ones, files of the machine, those with a password. */
  readonly unrequested: readonly string[]
  /** Whether it has a script. */
  readonly hasScript: boolean
}

/** A style that may have a relative address. Linear in the length of the HTML, which is untrusted. */
export function mayStyleRelatively(html: string): boolean {
  return RELATIVE_STYLE.test(html)
}

const RELATIVE_STYLE = /(?:\burl\(|@import)\s{0,9}["']?(?![\s"'#)]|[a-z][a-z0-9+.-]{0,20}:|url\()/i

/**
 * Returns the `DocumentFaults` and changes nothing. Most documents have few elements that load anything, and nothing else is looked at. Images
 * that are not shown leave no gap.
 */
export const FIND_FAULTS = String.raw`(images, fonts, eachRule, { isScripted, mayStyleRelatively }) => {
  const all = (selector) => Array.from(Document.prototype.querySelectorAll.call(document, selector))
  const base = Object.getOwnPropertyDescriptor(Node.prototype, 'baseURI').get.call(document)
  const few = (texts) => Array.from(new Set(texts)).slice(0, ${FINDINGS_MAX}).map((text) => text.slice(0, 2 * ${QUOTE_CHARS_MAX}))
  const isShown = (element) => Element.prototype.checkVisibility.call(element)
  const isUnrequested = (address, at = base) => {
    // These are long, and need no request.
    if (/^\s*(?:data:|$)/i.test(address)) return false
    const url = URL.parse(address, at)
    return url === null || url.protocol === 'file:' || url.username !== '' || url.password !== ''
  }
  const unrequested = []
  const loading = 'img[src],iframe[src],embed[src],object[data],input[type="image" i][src],link[rel~="stylesheet" i][href]'
  for (const element of all(isScripted ? loading + ',script[src]' : loading)) {
    const address = ['src', 'href', 'data'].map((name) => element.getAttribute(name)).find((value) => value !== null)
    if (isUnrequested(address)) unrequested.push(address)
  }
  const style = (css, at) => {
    for (const [, address] of css.matchAll(/url\(\s*["']?([^"')]*)/g)) if (isUnrequested(address, at)) unrequested.push(address)
  }
  const isUsed = (selector) => {
    try { return all(selector.replace(/::?(?:before|after|marker|first-line|first-letter)\b/g, '')).length > 0 } catch { return false }
  }
  const failed = new Set(Array.from(fonts).filter(({ status }) => status === 'error').map(({ family }) => family))
  const damaged = []
  if (mayStyleRelatively) for (const element of all('[style*="url("]')) style(element.getAttribute('style'))
  if (failed.size > 0 || mayStyleRelatively) eachRule((rule) => {
    const at = rule.parentStyleSheet?.href ?? base
    if (rule instanceof CSSFontFaceRule) {
      const family = rule.style.getPropertyValue('font-family'), source = rule.style.getPropertyValue('src')
      if (failed.has(family) && source.includes('url("data:')) damaged.push(family)
      if (failed.has(family)) style(source, at)
    }
    else if (rule instanceof CSSImportRule) isUnrequested(rule.href, at) && unrequested.push(rule.href)
    else if (mayStyleRelatively && rule instanceof CSSStyleRule && rule.style.cssText.includes('url(') && isUsed(rule.selectorText)) style(rule.style.cssText, at)
  })
  return {
    images: few(images.filter((image) => image.complete && image.naturalWidth === 0 && isShown(image)).map((image) => image.currentSrc).filter((url) => /^(?:data|blob):/.test(url))),
    fonts: few(damaged),
    unrequested: few(unrequested),
    hasScript: all('script').some(({ type }) => /^(?:|module|(?:text|application)\/(?:x-)?(?:java|ecma)script.*)$/i.test(type.trim())),
  }
}`

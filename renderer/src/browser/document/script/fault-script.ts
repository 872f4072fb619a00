/** Finds content that was not printed as its source means it. Like `script.ts`: expressions for the page, on the prototypes. */
import { ELEMENTS_LOOKED_AT_MAX, FINDINGS_MAX, QUOTE_CHARS_MAX } from '../../limit.ts'
import { NAME_OF } from './name-script.ts'

/** Each text is cut. */
export interface DocumentFaults {
  readonly images: readonly string[]
  /** Families of fonts in `data:` URLs that cannot be read. */
  readonly fonts: readonly string[]
  /** Addresses that Chromium sends no request for: relative ones, files of the machine, those with a password. */
  readonly unrequested: readonly string[]
  readonly unaddressed: readonly string[]
  readonly links: readonly { readonly address: string; readonly name: string }[]
  /** Texts that may show an absent value, if scripts may have written them. */
  readonly texts: readonly string[]
  /** Indexes of the damaged images in `data:` URLs that it shows. */
  readonly damaged: readonly number[]
  readonly hasScript: boolean
}

export type AddressEnds = readonly [string, string]

/** At each end of an address: enough to tell two images of one kind apart. */
export const ADDRESS_END_CHARS = 200

/** Whether a style may have a relative address. Linear in the length of the HTML, which is untrusted. */
export function mayStyleRelatively(html: string): boolean {
  return RELATIVE_STYLE.test(html)
}

const RELATIVE_STYLE = /(?:\burl\(|@import)\s{0,9}["']?(?![\s"'#)]|[a-z][a-z0-9+.-]{0,20}:|url\()/i

/**
 * Returns the `DocumentFaults` and changes nothing. Most documents have few elements that load anything, and it looks only at these. Images
 * that are not shown leave no gap, and links without content cannot be followed.
 */
export const FIND_FAULTS = String.raw`(images, fonts, eachRule, { isScripted, mayStyleRelatively, damagedAddresses }) => {
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
  const attribute = (element, name) => (element.getAttribute(name) ?? '').trim()
  const isUnaddressed = (image) => ['src', 'srcset', 'href', 'xlink:href'].every((name) => attribute(image, name) === '') && !image.currentSrc
  const unaddressed = all('img,svg image,input[type="image" i]').filter((image) => isUnaddressed(image) && isShown(image)).slice(0, ${FINDINGS_MAX})
  const links = new Map()
  let names
  const isHere = (address) => {
    if (/^#top$/i.test(address)) return true
    names ??= new Set(all('a[name],[id]').flatMap((element) => ['id', 'name'].map((name) => element.getAttribute(name))))
    let decoded = address
    try { decoded = decodeURIComponent(address) } catch {}
    return address !== '#' && (names.has(address.slice(1)) || names.has(decoded.slice(1)))
  }
  const leads = (address) => {
    if (address.startsWith('#') && base.startsWith('about:')) return isHere(address)
    return address !== '' && /^(?!about|blob|data|file|javascript)/i.test(URL.parse(address, base)?.protocol ?? 'about:')
  }
  for (const link of all('a[*|href],area[href]')) {
    if (links.size === ${FINDINGS_MAX}) break
    const address = attribute(link, link.hasAttribute('href') ? 'href' : 'xlink:href')
    if (links.has(address) || leads(address) || !isShown(link)) continue
    if (link.localName === 'area' || /\S/.test(link.textContent) || link.querySelector('img,svg,canvas') !== null) links.set(address, link)
  }
  const texts = []
  if (isScripted) {
    const walker = Document.prototype.createTreeWalker.call(document, document, NodeFilter.SHOW_TEXT)
    while (texts.length < ${FINDINGS_MAX} && walker.nextNode()) {
      const { data, parentElement } = walker.currentNode
      const at = data.search(/NaN|undefined|Invalid Date|\[object Object\]/)
      if (at !== -1 && parentElement !== null && isShown(parentElement)) texts.push(data.slice(Math.max(0, at - 50), at + 100))
    }
  }
  const shownDamaged = new Set()
  const look = (value) => {
    for (const [index, [head, tail]] of damagedAddresses.entries()) if (value.includes(head) && value.includes(tail)) shownDamaged.add(index)
  }
  if (damagedAddresses.length > 0) for (const element of all('body, body *').slice(0, ${ELEMENTS_LOOKED_AT_MAX})) {
    if (!isShown(element)) continue
    for (const name of ['src', 'srcset', 'href', 'xlink:href', 'data', 'poster']) look(element.getAttribute(name) ?? '')
    for (const part of [null, '::before', '::after', '::marker']) {
      const style = getComputedStyle(element, part)
      for (const name of ['background-image', 'list-style-image', 'border-image-source', 'mask-image', 'content']) look(style.getPropertyValue(name))
    }
  }
  const nameOf = ${NAME_OF}
  return {
    unaddressed: few(unaddressed.map(nameOf)),
    links: Array.from(links, ([address, link]) => ({ address: address.slice(0, 2 * ${QUOTE_CHARS_MAX}), name: nameOf(link) })),
    texts: few(texts),
    damaged: Array.from(shownDamaged),
    images: few(images.filter((image) => image.complete && image.naturalWidth === 0 && isShown(image)).map((image) => image.currentSrc).filter((url) => /^(?:data|blob):/.test(url))),
    fonts: few(damaged),
    unrequested: few(unrequested),
    hasScript: all('script').some(({ type }) => /^(?:|module|(?:text|application)\/(?:x-)?(?:java|ecma)script.*)$/i.test(type.trim())),
  }
}`

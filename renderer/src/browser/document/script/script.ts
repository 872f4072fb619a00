/**
 * Our scripts for the page of a document, as expressions that return JSON text. They call methods of the prototypes: an image named "title"
 * would replace `document.title`.
 */
import { MISSING_GLYPHS_COUNTED_MAX } from '../../../limit.ts'
import type { Coverage } from '../../../template/html/coverage.ts'
import { ASSET_ORIGIN } from '../../../template/html/reference.ts'
import { METADATA_CHARS_MAX } from '../../limit.ts'
import { type AddressEnds, type DocumentFaults, FIND_FAULTS } from './fault-script.ts'

export const EACH_RULE = `(visit) => {
  const look = (rules) => {
    for (const rule of rules) {
      visit(rule)
      if (rule.cssRules) look(rule.cssRules)
    }
  }
  for (const sheet of Object.getOwnPropertyDescriptor(Document.prototype, 'styleSheets').get.call(document)) {
    try { look(sheet.cssRules) } catch { /* a sheet from elsewhere, which did not load either */ }
  }
}`

/** Returns the `SourcePage` with all its margins, from the last `@page` rules that apply to all pages. */
export const READ_SOURCE_PAGE = `() => {
  const page = { size: '', left: '', right: '', top: '', bottom: '' };
  (${EACH_RULE})((rule) => {
    if (!(rule instanceof CSSPageRule) || rule.selectorText !== '') return
    page.size = rule.style.size || page.size
    for (const side of ['left', 'right', 'top', 'bottom']) page[side] = rule.style.getPropertyValue('margin-' + side) || page[side]
  })
  return page
}`

export const SOURCE_PAGE = `JSON.stringify((${READ_SOURCE_PAGE})())`

interface FinishOptions {
  readonly title: string
  readonly css: string
  /** Whether to load fonts that no text on the pages uses. Boxes in the margins request fonts too late. */
  readonly needsAllFonts: boolean
  readonly isScripted: boolean
  readonly hosts: readonly string[]
  /** Whether its scripts took time after its load, so that images may have come since. */
  readonly hasWaited: boolean
}

/**
 * Makes a document ready to print and cuts its title to the metadata limit. Returns the families of the template's fonts that could not be
 * loaded.
 */
export function finishScript(finish: FinishOptions): string {
  return `(${FINISH})(${JSON.stringify({ ...finish, assetOrigin: ASSET_ORIGIN })})`
}

/**
 * The rules are added first and last: of two important declarations in `@page`, Chromium takes the first, while CSS says that the last
 * wins. Layout requests fonts, so it runs before the wait for fonts.
 */
const FINISH = `async ({ title, css, needsAllFonts, isScripted, hasWaited, assetOrigin, hosts }) => {
  const own = (name) => Object.getOwnPropertyDescriptor(Document.prototype, name)
  const make = (name) => Document.prototype.createElement.call(document, name)
  // Only a script can have taken it away.
  const root = Document.prototype.querySelector.call(document, ':root') ?? Node.prototype.appendChild.call(document, make('html'))
  const name = own('title').get.call(document)
  if (name === '' || name.length > ${METADATA_CHARS_MAX}) own('title').set.call(document, name.slice(0, ${METADATA_CHARS_MAX}) || title)
  const styles = css === '' ? [] : [0, 1].map(() => make('style'))
  for (const style of styles) style.textContent = css
  if (css !== '') root.prepend(styles[0]), root.append(styles[1])
  root.getBoundingClientRect()
  const fonts = own('fonts').get.call(document)
  if (needsAllFonts) await Promise.allSettled(Array.from(fonts, (font) => font.load()))
  const images = hasWaited ? Array.from(own('images').get.call(document)) : []
  await Promise.allSettled(images.filter(({ complete, loading }) => !complete && loading !== 'lazy').map((image) => image.decode()))
  await fonts.ready
  // What is drawn frame by frame is drawn in the first of these, and on the page in the second.
  const frame = () => new Promise((drawn) => requestAnimationFrame(drawn))
  if (isScripted) await frame(), await frame()
  const bare = (family) => family.replace(/^["']|["']$/g, '')
  const failed = new Set(Array.from(fonts).filter((font) => font.status === 'error').map((font) => bare(font.family)))
  const families = new Set()
  if (failed.size > 0) (${EACH_RULE})((rule) => {
    if (!(rule instanceof CSSFontFaceRule)) return
    const source = rule.style.getPropertyValue('src')
    if (!source.includes(assetOrigin) && !hosts.some((host) => source.includes('//' + host + '/'))) return
    const family = bare(rule.style.getPropertyValue('font-family'))
    if (failed.has(family)) families.add(family)
  })
  return JSON.stringify(Array.from(families))
}`

export interface DocumentFacts {
  readonly author: string
  readonly subject: string
  readonly keywords: string
  readonly language: string
  /** The name or digest of an asset, or the host of a file, that is used as an image and is not one. '' if there is none. */
  readonly broken: string
  /** The characters that no font has. */
  readonly missing: string
  readonly faults: DocumentFaults
}

interface InspectOptions {
  /** Absent means that no character is missing. */
  readonly coverage: Coverage | undefined
  /** The hosts from which it may fetch files. Besides assets, only their files can be broken. */
  readonly hosts: readonly string[]
  readonly isScripted: boolean
  readonly mayStyleRelatively: boolean
  readonly damagedAddresses: readonly AddressEnds[]
}

/** Returns the `DocumentFacts` and changes nothing. */
export function inspectScript({ coverage, hosts, ...finding }: InspectOptions): string {
  const missing = coverage === undefined ? `''` : `(${FIND_MISSING})(${JSON.stringify(coverage)})`
  return `(${INSPECT})(${missing}, ${JSON.stringify(hosts)}, ${JSON.stringify(finding)})`
}

const INSPECT = `(missing, hosts, finding) => {
  const all = (selector) => Array.from(Document.prototype.querySelectorAll.call(document, selector))
  const meta = (name) => (all('meta[name="' + name + '" i]')[0]?.content ?? '').trim().slice(0, ${METADATA_CHARS_MAX})
  const images = Array.from(Object.getOwnPropertyDescriptor(Document.prototype, 'images').get.call(document))
  const nameOf = (url) => {
    if (/^asset:/i.test(url)) return url.slice('asset:'.length).replace(/#.*/, '')
    const host = hosts.length > 0 && /^https?:/i.test(url) ? new URL(url).hostname : ''
    return hosts.includes(host) ? host : ''
  }
  const broken = images.filter((image) => image.complete && image.naturalWidth === 0).map((image) => nameOf(image.currentSrc))
  return JSON.stringify({
    author: meta('author'),
    subject: meta('description'),
    keywords: meta('keywords'),
    language: (all(':root')[0]?.getAttribute('lang') ?? '').trim().slice(0, ${METADATA_CHARS_MAX}),
    broken: broken.find((name) => name !== '') ?? '',
    missing,
    faults: (${FIND_FAULTS})(images, Object.getOwnPropertyDescriptor(Document.prototype, 'fonts').get.call(document), ${EACH_RULE}, finding),
  })
}`

/**
 * Checks the text on the pages. It ignores text that CSS makes (`::before`, markers) and text in frames. A family from a rule of the
 * document itself is unknown here and counts as complete.
 */
const FIND_MISSING = `({ defaults, fonts }) => {
  const isStrange = new RegExp('^[^' + defaults + ']', 'u')
  const bare = (family) => family.trim().replace(/^["']|["']$/g, '').toLowerCase()
  const had = new Map()
  for (const { families, characters, blanks } of fonts) {
    const font = { has: new RegExp('^[' + characters + ']', 'u'), isBlank: new RegExp('^[' + blanks + ']', 'u') }
    for (const family of families) had.set(bare(family), [...(had.get(bare(family)) ?? []), font])
  }
  const looked = new RegExp('[^' + defaults + ']|[' + fonts.map(({ blanks }) => blanks).join('') + ']', 'gu')
  // The first family that claims the character draws it. Of a family before it that is not the template's, nobody knows.
  const isBlank = (character, listed) => {
    for (const family of listed) {
      const faces = (had.get(family) ?? [{ has: /^/ , isBlank: /(?!)/ }]).filter(({ has }) => has.test(character))
      if (faces.length > 0) return faces.every(({ isBlank }) => isBlank.test(character))
    }
    return false
  }
  const brought = new Set(
    Array.from(Object.getOwnPropertyDescriptor(Document.prototype, 'fonts').get.call(document), ({ family }) => bare(family)),
  )
  const walker = Document.prototype.createTreeWalker.call(document, document, NodeFilter.SHOW_TEXT)
  const isShown = (element) => Element.prototype.checkVisibility.call(element, { visibilityProperty: true })
  const missing = new Set()
  while (missing.size < ${MISSING_GLYPHS_COUNTED_MAX} && walker.nextNode()) {
    const { data, parentElement: parent } = walker.currentNode
    const strangers = new Set()
    for (const [character] of data.matchAll(looked)) if (!missing.has(character)) strangers.add(character)
    if (strangers.size === 0 || parent === null || !isShown(parent)) continue
    const listed = getComputedStyle(parent).fontFamily.split(',').map(bare)
    if (listed.some((family) => brought.has(family) && !had.has(family))) continue
    const own = listed.flatMap((family) => had.get(family) ?? [])
    const isMissing = (character) => isStrange.test(character) && !own.some(({ has }) => has.test(character))
    for (const stranger of strangers) if (isMissing(stranger) || isBlank(stranger, listed)) missing.add(stranger)
  }
  return Array.from(missing).slice(0, ${MISSING_GLYPHS_COUNTED_MAX}).join('')
}`

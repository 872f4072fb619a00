/**
 * Resolves references of filled HTML to the template's own files. Chromium requests `asset:logo.png`, and `browser/document/request.ts`
 * answers. A header or footer cannot make requests, so its assets are embedded. In the document, names are replaced by digests, because a
 * page caches files by address: two templates may both have a logo.png, but equal digests mean equal bytes. Pure.
 */
import { assetUnavailable, egressUrl } from '@platen/contract/domain/egress-url.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Asset, AssetReference, FontReference } from '@platen/contract/domain/tenant.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { ASSET_REQUESTS_MAX } from '../../limit.ts'
import { mediaTypeOf } from '../asset/kind.ts'
import type { RemoteImages } from '../asset/remote-images.ts'
import { isScriptName } from '../asset/script.ts'
import { HTML_BYTES_MAX } from '../limit.ts'

/** Address of fonts and scripts; the digest or name follows. The origin does not exist, so two files never share an address. */
export const ASSET_ORIGIN = 'https://asset.invalid/'

export interface Part {
  readonly name: string
  readonly html: string
}

/** `name` may be a digest. Throws `asset_unavailable` with the most similar name. The message begins with `place`. */
export function assetNamed<Found extends AssetReference>(assets: readonly Found[], name: string, place: string): Found {
  const found = find(assets, name)
  if (found !== undefined) return found
  const names = assets.map((asset) => asset.name)
  const known = names.length === 0 ? ': it has none' : suggestion(name, names)
  throw new ServiceError('asset_unavailable', `${place}: the template has no asset ${shortened(name)}${known}`)
}

/** A name is never as long as a digest. */
function find<Found extends AssetReference>(assets: readonly Found[], name: string): Found | undefined {
  return assets.find((asset) => asset.name === name || asset.digest === name)
}

/** Names from HTML can be of any length. */
function shortened(name: string): string {
  return name.length > 80 ? `${name.slice(0, 80)}…` : name
}

/**
 * Replaces the names of assets in attributes and styles by their digests. Throws `asset_unavailable` for an unknown asset, before Chromium
 * prints a gap. Throws `template_error` if the result is too long.
 */
export function withDigests({ name: place, html }: Part, assets: readonly Asset[]): string {
  const grow = boundedReplacement(place, html)
  return html
    .replace(SCRIPT_REFERENCE, (mention, opening: string, name: string) => {
      if (!isScriptName(name)) return mention
      return grow(mention, opening.replace(/script/i, '$& crossorigin') + addressOf(assetNamed(assets, name, place)))
    })
    .replace(REFERENCE, (mention, opening: string, name: string) =>
      grow(mention, opening + assetNamed(assets, name, place).digest),
    )
}

/**
 * Scripts get the address of fonts and `crossorigin`: else Chromium loads no module from another origin, and hides the errors of its
 * scripts from the page.
 */
const SCRIPT_REFERENCE = /(<script\b[^<>]*?\ssrc\s{0,9}=\s{0,9}["']?)asset:([^\s"'()<>,#]*)/gi

/** Counts the growth by all replacements. Throws `template_error` before the HTML is built, if it would become too long. */
function boundedReplacement(place: string, html: string): (mention: string, text: string) => string {
  let length = Buffer.byteLength(html)
  return (mention, text) => {
    length += text.length - mention.length
    if (length > HTML_BYTES_MAX) throw tooLong(place)
    return text
  }
}

// All expressions here are linear in the length of the HTML, which is untrusted and up to 20 MiB long.
const REFERENCE = /((?:\b(?:src|href|srcset)\s{0,9}=\s{0,9}["']?|\burl\(\s{0,9}["']?)asset:)([^\s"'()<>,#]*)/gi

/** Adds the template's fonts as `@font-face` rules, and replaces the addresses in the document's own. */
export function withFonts(
  { name: place, html }: Part,
  assets: readonly Asset[],
  fonts: readonly FontReference[],
): string {
  const rules = fonts.map((font) => faceRule(font, assetNamed(assets, font.asset, `font ${font.family}`)))
  const grow = boundedReplacement(place, html)
  const own = html.replace(FACE_RULE, (rule) =>
    rule.replace(FACE_SOURCE, (mention, opening: string, name: string) =>
      grow(mention, opening + addressOf(assetNamed(assets, name, place))),
    ),
  )
  if (rules.length === 0) return own
  return withFirst(own, `<style>${rules.join('')}</style>`)
}

/**
 * Adds an element before all others, but after the doctype: a document that does not begin with it is laid out in quirks mode. The HTML
 * after the element still creates root and head.
 */
export function withFirst(html: string, element: string): string {
  const at = prologueEnd(html)
  return html.slice(0, at) + element + html.slice(at)
}

const FACE_RULE = /@font-face\s{0,9}\{[^{}]*\}/gi
const FACE_SOURCE = /(\burl\(\s{0,9}["']?)asset:([^\s"'()<>,#]*)/gi

function addressOf({ digest }: Asset): string {
  return ASSET_ORIGIN + digest
}

/** `block`, because a page is printed only after its fonts are loaded. */
function faceRule({ family, weight, style }: FontReference, asset: Asset): string {
  const source = `src:url(${addressOf(asset)});font-display:block`
  return `@font-face{font-family:"${escapeCss(family)}";font-weight:${weight};font-style:${style};${source}}`
}

function escapeCss(text: string): string {
  return text.replace(/[^\w -]/gu, (character) => `\\${character.codePointAt(0)?.toString(16)} `)
}

/** The end of the doctype and of the comments around it. 0 if there is none. */
function prologueEnd(html: string): number {
  for (let end = 0; ; ) {
    let at = end
    while (/\s/.test(html.charAt(at))) at += 1
    const closing = html.startsWith('<!--', at) ? '-->' : /^<[!?]/.test(html.slice(at, at + 2)) ? '>' : undefined
    const close = closing === undefined ? -1 : html.indexOf(closing, at)
    if (closing === undefined || close === -1) return end
    end = close + closing.length
  }
}

/**
 * Embeds the assets of a header or footer as data: URLs. Throws `asset_unavailable` for an asset that Chromium cannot show there, and
 * `template_error` if the result is too long.
 */
export function withAssetsInside({ name: place, html }: Part, assets: readonly Asset[]): string {
  const urls = new Map<string, string>()
  const grow = boundedReplacement(place, html)
  return html.replace(MENTION, (mention, opening: string, name: string) => {
    const asset = find(assets, name)
    if (asset === undefined) return mention
    const url = urls.get(name) ?? dataUrl(asset, place)
    urls.set(name, url)
    return grow(mention, opening + url)
  })
}

/** Throws `template_error` if a header or footer loads a style sheet or font: Chromium refuses the request, and crashes the page. */
export function refuseLoading({ name: place, html }: Part): void {
  const [sheet] = LOADS_SHEET.exec(html) ?? []
  const what = sheet ?? (NAMES_FONT.test(html) && LOADS.test(html) ? '@font-face' : undefined)
  if (what === undefined) return
  throw new ServiceError(
    'template_error',
    `${place}: ${what}: a header or footer can load neither style sheets nor fonts`,
  )
}

const LOADS_SHEET = /<link\b(?=[^<>]*\bstylesheet\b)|@import\b/i
const NAMES_FONT = /@font-face\b/i
const LOADS = /\burl\((?!\s{0,9}["']?data:)/i

function tooLong(place: string): ServiceError {
  const limit = `${HTML_BYTES_MAX / 1024 / 1024} MiB`
  return new ServiceError('template_error', `${place}: with its assets it is longer than ${limit}`)
}

const MENTION = /(["'(=,]\s{0,9})asset:([^\s"'()<>,#]*)/gi

function dataUrl({ name, bytes }: Asset, place: string): string {
  const type = mediaTypeOf(bytes)
  if (type === undefined) throw unusableAsset(name, place)
  return dataUrlOf(bytes, type)
}

function dataUrlOf({ buffer, byteOffset, byteLength }: Uint8Array, type: string): string {
  return `data:${type};base64,${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}`
}

/**
 * Embeds the images of listed hosts in a header or footer as data: URLs, if they are fetched. Adds the others to `remote.needed`. Throws
 * `asset_unavailable` for a file that is not an image or may not be fetched, and `template_error` if the result is too long.
 */
export function withRemoteInside({ name: place, html }: Part, remote: RemoteImages): string {
  const grow = boundedReplacement(place, html)
  return html.replace(REMOTE_IMAGE, (mention, opening: string, text: string) => {
    const url = egressUrl(text.replaceAll('&amp;', '&'), remote.allowedHosts)
    if (url === undefined) return mention
    const file = remote.fetched.find((candidate) => candidate.name === url.href)
    if (file === undefined) {
      remote.needed.add(url.href)
      if (remote.needed.size > ASSET_REQUESTS_MAX) throw tooLong(place)
      return mention
    }
    const type = mediaTypeOf(file.bytes)
    if (type?.startsWith('image/') !== true) throw assetUnavailable(url, 'the file is not an image that can be shown')
    return grow(mention, opening + dataUrlOf(file.bytes, type))
  })
}

const REMOTE_IMAGE = /((?:\bsrc\s{0,9}=\s{0,9}|\burl\(\s{0,9})["']?)(https?:\/\/[^\s"'()<>]*)/gi

/** Addresses in a header or footer that are not embedded. Chromium loads nothing there. */
export function unloadedIn(html: string): readonly string[] {
  const addresses = Array.from(html.matchAll(LOADED), ([, ofElement, ofStyle]) => ofElement ?? ofStyle ?? '')
  const unloaded = new Set(addresses.filter((address) => !/^(?:data:|#)/i.test(address)))
  return Array.from(unloaded).slice(0, UNLOADED_MAX)
}

const LOADED =
  /<(?:img|image|iframe|embed|input|object)\b[^<>]*?\s(?:src|href|data)\s{0,9}=\s{0,9}["']?([^\s"'<>]+)|\burl\(\s{0,9}["']?([^\s"'()]+)/gi

/** Addresses named for one header or footer. After these are mended, the next are named. */
const UNLOADED_MAX = 10

export function unusableAsset(name: string, place: string): ServiceError {
  return new ServiceError(
    'asset_unavailable',
    `${place}: the asset ${name} is not an image or a font that can be shown`,
  )
}

/**
 * Reads the `src` of an `<Image>`: an asset of the template, a file of a host it lists, or a `data:` URL. Checks the bytes before react-pdf
 * sees them.
 */

import { egressUrl } from '@platen/contract/domain/egress-url.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Asset } from '@platen/contract/domain/tenant.ts'
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { type Cache, openLruCache } from '@platen/lib/lru-cache.ts'
import { suggestion } from '@platen/lib/suggestion.ts'
import { ASSET_REQUESTS_MAX, EGRESS_RENDER_BYTES_MAX, THREAD_ASSET_CACHE_BYTES_MAX } from '../../limit.ts'
import { checkImage } from '../asset/image.ts'
import { ASSET_KINDS, kindOf } from '../asset/kind.ts'
import type { PixelSize } from '../asset/pixel.ts'
import { widenPalette } from '../asset/png.ts'
import type { RemoteImages } from '../asset/remote-images.ts'
import type { Node } from './node.ts'
import type { Faults } from './prop.ts'
import { readSvg } from './svg.ts'

export interface PixelImage extends PixelSize {
  readonly data: Buffer
  readonly format: 'png' | 'jpg'
}

/** An SVG file, as elements. */
interface Drawing {
  readonly format: 'svg'
  readonly svg: Node
  /** Size of the SVG file. */
  readonly bytes: number
}

type ImageSource = PixelImage | Drawing

/** Throws `ServiceError` with `asset_unavailable`. The message names the source, shortened. */
export type ReadImage = (src: string) => ImageSource

/** By digest. */
type KeptImages = Cache<ImageSource>

export function keptImages(): KeptImages {
  return openLruCache(THREAD_ASSET_CACHE_BYTES_MAX, (image) =>
    image.format === 'svg' ? image.bytes * BYTES_PER_SVG_BYTE : image.data.length,
  )
}

/** Elements take more memory than their text. */
const BYTES_PER_SVG_BYTE = 8

/**
 * Opens the images of one document. Checks each image once, and an asset once while it is in `kept`, the cache of its tenant: tenants share
 * nothing.
 */
export function openImages(assets: readonly Asset[], kept: KeptImages, remote?: RemoteImages): ReadImage {
  const images = new Map<string, ImageSource>()
  // A copy: the bytes may be shared memory, which react-pdf does not read.
  const imageOf = ({ digest, bytes }: Asset) =>
    kept.get(digest) ?? kept.set(digest, sourceOf(Buffer.from(bytes), digest))
  const readRemote = openRemote(remote, imageOf)
  const read = (src: string): ImageSource => {
    try {
      const name = /^asset:(.*)$/s.exec(src)?.[1]
      if (name === undefined) return HAS_HOST.test(src) ? readRemote(src) : readDataUrl(src)
      const asset = assets.find((candidate) => candidate.name === name)
      if (asset === undefined) throw refusal(`there is no such asset${nearest(name, assets)}`)
      return imageOf(asset)
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause
      throw new ServiceError('asset_unavailable', `image ${shown(src)}: ${cause.message}`, { cause })
    }
  }
  return (src) => {
    const image = images.get(src) ?? read(src)
    images.set(src, image)
    return image
  }
}

/** A source for a message, shortened. Shows only the host of a URL, because the rest may be a secret. */
function shown(src: string): string {
  const whole = HAS_HOST.test(src) ? `of ${URL.parse(src)?.hostname ?? 'no host'}` : src
  return whole.length > SHOWN_CHARS_MAX ? `${whole.slice(0, SHOWN_CHARS_MAX)}…` : whole
}

const HAS_HOST = /^https?:/i

const SHOWN_CHARS_MAX = 70

/** Limits the number and size of remote images of one document. */
function openRemote(remote: RemoteImages | undefined, imageOf: (asset: Asset) => ImageSource): ReadImage {
  const { allowedHosts, fetched, needed } = remote ?? { allowedHosts: [], fetched: [], needed: new Set() }
  const used = new Map<string, number>()
  return (src) => {
    const url = egressUrl(src, allowedHosts)
    if (url === undefined) throw refusal('the host is not among the allowed hosts of the template')
    const file = fetched.find(({ name }) => name === url.href)
    if (used.set(url.href, file?.bytes.byteLength ?? 0).size > ASSET_REQUESTS_MAX) {
      throw refusal(`the document shows more than ${ASSET_REQUESTS_MAX} images of other hosts`)
    }
    if (used.values().reduce((sum, bytes) => sum + bytes, 0) > EGRESS_RENDER_BYTES_MAX) {
      throw refusal(`the images of other hosts have more than ${EGRESS_RENDER_BYTES_MAX} bytes`)
    }
    if (file !== undefined) return imageOf(file)
    needed.add(url.href)
    return STAND_IN
  }
}

function nearest(name: string, assets: readonly Asset[]): string {
  const names = assets.map((asset) => asset.name)
  const hint = suggestion(name, names)
  if (hint !== '') return hint
  return names.length === 0 ? ': the template has none' : `; there are ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}`
}

/** Limits the names of assets in a message. */
const NAMES_SHOWN_MAX = 10

function readDataUrl(src: string): ImageSource {
  const [, base64] = /^data:image\/(?:png|jpe?g|svg\+xml);base64,(.*)$/is.exec(src) ?? []
  const [, text] = /^data:image\/svg\+xml(?:;(?:utf-?8|charset=utf-?8))?,(.*)$/is.exec(src) ?? []
  if (base64 === undefined && text === undefined) {
    throw refusal(
      'an image must be an asset of the template, as in asset:logo.png, a URL of an allowed host, or a data: URL of a PNG, JPEG or SVG in base64',
    )
  }
  const data = base64 === undefined ? Buffer.from(unescaped(text ?? '')) : Buffer.from(base64, 'base64')
  return sourceOf(data, sha256(data))
}

/** Many data: URLs are not escaped, and may contain a bare percent sign. */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function sourceOf(data: Buffer, digest: string): ImageSource {
  if (data.length < 4) throw refusal('the image is empty')
  const kind = kindOf(data)
  if (kind === 'svg') {
    checkImage(kind, data)
    return { format: 'svg', svg: readSvg(data), bytes: data.length }
  }
  if (kind !== 'png' && kind !== 'jpeg') {
    const found = kind === undefined ? 'this is none of them' : `this is ${ASSET_KINDS[kind].name}`
    throw refusal(`react_pdf shows PNG, JPEG and SVG, and ${found}`)
  }
  const size = checkImage(kind, data)
  if (size === undefined) throw refusal('the image has no size')
  const drawn = kind === 'png' ? widenPalette(data) : data
  // react-pdf compares images by all their bytes as text, and embeds equal ones once per document. A digest gives the same result with 64
  // characters.
  const named = Object.defineProperty(drawn, 'toString', { value: () => digest })
  return { data: named, format: kind === 'png' ? 'png' : 'jpg', ...size }
}

const STAND_IN = sourceOf(
  Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
    'base64',
  ),
  'stand-in',
)

function refusal(reason: string): ServiceError {
  return new ServiceError('asset_unavailable', reason)
}

/** `value` is an address, or a react-pdf source with a `uri`. */
function imageOf(value: Json, read: ReadImage, faults: Faults): ImageSource {
  const address = isJsonObject(value) ? value['uri'] : value
  if (typeof address !== 'string') throw refusalAt(faults, 'must be a string such as asset:logo.png, or { uri }')
  try {
    return read(address)
  } catch (cause) {
    throw cause instanceof ServiceError ? refusalAt(faults, cause.message, cause) : cause
  }
}

/** For places that cannot have a drawing. Throws `asset_unavailable` with the position of `faults`. */
export function pixelImageOf(value: Json, read: ReadImage, faults: Faults): PixelImage {
  const image = imageOf(value, read, faults)
  if (image.format === 'svg') throw refusalAt(faults, 'it shows PNG and JPEG; <Image> also shows SVG')
  return image
}

/**
 * The `<Svg>` in place of an `<Image>` whose file is an SVG. Undefined if its file has pixels, or if it names no file. The element's style
 * sets the size, else the file does.
 */
export function drawingOf(node: Node, read: ReadImage, faults: Faults): Node | undefined {
  const { src, source, cache: _cache, ...props } = node.props
  const address = src ?? source ?? null
  const named: Faults = (message) => faults(`<Image src>: ${message}`, 'src')
  const image = address === null ? undefined : imageOf(address, read, named)
  if (image?.format !== 'svg') return undefined
  const { width, height, ...drawn } = image.svg.props
  const own = isJsonObject(props['style']) ? {} : { ...(width && { width }), ...(height && { height }) }
  return { ...image.svg, props: { ...drawn, ...own, ...props }, ...(node.line !== undefined && { line: node.line }) }
}

/** As for a customer without a logo. */
export function hasNoAddress({ src = null, source = null }: JsonObject): boolean {
  return [src, source].every((value) =>
    isJsonObject(value) ? Object.keys(value).join() === 'uri' && isEmpty(value['uri']) : isEmpty(value),
  )
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === null || value === false || (typeof value === 'string' && value.trim() === '')
}

function refusalAt(faults: Faults, reason: string, cause?: unknown): ServiceError {
  return new ServiceError('asset_unavailable', faults(reason).message, { cause })
}

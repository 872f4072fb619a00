/**
 * Reads the `src` of an `<Image>`: an asset of the template, a file of a host it lists, or a `data:` URL. Returns image bytes that
 * react-pdf can embed, checked before react-pdf sees them.
 */
import { createHash } from 'node:crypto'
import { egressUrl } from '@platen/contract/egress-url.ts'
import { ServiceError } from '@platen/contract/error.ts'
import { type Cache, openLruCache } from '@platen/contract/lru-cache.ts'
import { suggestion } from '@platen/contract/suggestion.ts'
import type { Asset } from '@platen/contract/tenant.ts'
import { ASSET_REQUESTS_MAX, EGRESS_RENDER_BYTES_MAX, THREAD_ASSET_CACHE_BYTES_MAX } from '../../limit.ts'
import { checkImage } from '../asset/image.ts'
import { ASSET_KINDS, kindOf } from '../asset/kind.ts'
import type { PixelSize } from '../asset/pixel.ts'
import { widenPalette } from '../asset/png.ts'
import type { RemoteImages } from '../asset/remote-images.ts'

export interface ImageSource extends PixelSize {
  readonly data: Buffer
  readonly format: 'png' | 'jpg'
}

/** Reads the image of a `src`. Throws `ServiceError` with `asset_unavailable`. The message names the source, shortened. */
export type ReadImage = (src: string) => ImageSource

/** Assets that were read, by digest. */
export type KeptImages = Cache<ImageSource>

export function keptImages(): KeptImages {
  return openLruCache(THREAD_ASSET_CACHE_BYTES_MAX, ({ data }) => data.length)
}

/**
 * Opens the images of one document, including those of hosts if there are any. Each image is checked once. An asset is checked once while
 * it is in the cache of its tenant, because tenants share nothing.
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

/**
 * A source as a message shows it: the name of an asset, or enough of a URL to find it. Of a URL with a host it shows only the host, because
 * the rest may be a secret.
 */
function shown(src: string): string {
  const whole = HAS_HOST.test(src) ? `of ${URL.parse(src)?.hostname ?? 'no host'}` : src
  return whole.length > SHOWN_CHARS_MAX ? `${whole.slice(0, SHOWN_CHARS_MAX)}…` : whole
}

const HAS_HOST = /^https?:/i

const SHOWN_CHARS_MAX = 70

/** Reads images of hosts, up to the number and size that a document may have. */
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
  const match = /^data:image\/(?:png|jpe?g);base64,/i.exec(src)
  if (match === null) {
    throw refusal(
      'an image must be an asset of the template, as in asset:logo.png, a URL of an allowed host, or a data: URL of a PNG or JPEG in base64',
    )
  }
  const data = Buffer.from(src.slice(match[0].length), 'base64')
  return sourceOf(data, createHash('sha256').update(data).digest('hex'))
}

function sourceOf(data: Buffer, digest: string): ImageSource {
  if (data.length < 4) throw refusal('the image is empty')
  const kind = kindOf(data)
  if (kind !== 'png' && kind !== 'jpeg') {
    const found = kind === undefined ? 'this is neither' : `this is ${ASSET_KINDS[kind].name}`
    throw refusal(`react_pdf shows PNG and JPEG, and ${found}${kind === 'svg' ? ': draw it with <Svg>' : ''}`)
  }
  const size = checkImage(kind, data)
  if (size === undefined) throw refusal('the image has no size')
  const drawn = kind === 'png' ? widenPalette(data) : data
  // react-pdf compares images by all their bytes as text, and embeds equal ones once per document. A digest gives the same result with 64
  // characters.
  const named = Object.defineProperty(drawn, 'toString', { value: () => digest })
  return { data: named, format: kind === 'png' ? 'png' : 'jpg', ...size }
}

/** One transparent pixel. */
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

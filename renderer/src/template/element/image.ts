/** The `src` of an `<Image>`, an asset of the template or a `data:` URL → image bytes that react-pdf can embed, looked at before react-pdf sees them. */
import { createHash } from 'node:crypto'
import { ServiceError } from '@platen/contract/error.ts'
import { THREAD_ASSETS_KEPT_BYTES_MAX } from '@platen/contract/limit.ts'
import type { Asset } from '@platen/contract/tenant.ts'
import { type RecentlyUsed, recentlyUsed } from '../../recently-used.ts'
import { checkImage } from '../asset/image.ts'
import { ASSET_KINDS, kindOf } from '../asset/kind.ts'
import type { PixelSize } from '../asset/pixel.ts'
import { widenPalette } from '../asset/png.ts'
import { suggestion } from './primitive.ts'

export interface ImageSource extends PixelSize {
  readonly data: Buffer
  readonly format: 'png' | 'jpg'
}

/** Reads the image of a `src`. Throws `ServiceError` with `asset_unavailable`, naming the source, cut short. */
export type ReadImage = (src: string) => ImageSource

/** Assets that were read, by their digests. */
export type KeptImages = RecentlyUsed<ImageSource>

export function keptImages(): KeptImages {
  return recentlyUsed(THREAD_ASSETS_KEPT_BYTES_MAX, ({ data }) => data.length)
}

/** Opens the images of one document. Each is looked at once, and an asset once for as long as it is kept: by its tenant, as tenants share nothing. */
export function openImages(assets: readonly Asset[], kept: KeptImages): ReadImage {
  const images = new Map<string, ImageSource>()
  const read = (src: string): ImageSource => {
    try {
      const name = /^asset:(.*)$/s.exec(src)?.[1]
      if (name === undefined) return readDataUrl(src)
      const asset = assets.find((candidate) => candidate.name === name)
      if (asset === undefined) throw refusal(`there is no such asset${nearest(name, assets)}`)
      // A copy: bytes may be shared memory, which react-pdf does not read.
      return kept.get(asset.digest) ?? kept.set(asset.digest, sourceOf(Buffer.from(asset.bytes), asset.digest))
    } catch (cause) {
      if (!(cause instanceof ServiceError)) throw cause
      const shown = src.length > SHOWN_CHARS_MAX ? `${src.slice(0, SHOWN_CHARS_MAX)}…` : src
      throw new ServiceError('asset_unavailable', `template.tsx: image ${shown}: ${cause.message}`, { cause })
    }
  }
  return (src) => {
    const image = images.get(src) ?? read(src)
    images.set(src, image)
    return image
  }
}

/** Of a source in a message: a name of an asset, or enough of a URL to find it. */
const SHOWN_CHARS_MAX = 70

function nearest(name: string, assets: readonly Asset[]): string {
  const names = assets.map((asset) => asset.name)
  const hint = suggestion(name, names)
  if (hint !== '') return hint
  return names.length === 0 ? ': the template has none' : `; there are ${names.slice(0, NAMES_SHOWN_MAX).join(', ')}`
}

/** Names of assets in a message. */
const NAMES_SHOWN_MAX = 10

function readDataUrl(src: string): ImageSource {
  const match = /^data:image\/(?:png|jpe?g);base64,/i.exec(src)
  if (match === null) {
    throw refusal(
      'an image must be an asset of the template, as in asset:logo.png, or a data: URL of a PNG or JPEG in base64',
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
  // react-pdf tells images apart by all their bytes as text, and embeds one once per document if it can; a digest says the same in 64 characters.
  const named = Object.defineProperty(drawn, 'toString', { value: () => digest })
  return { data: named, format: kind === 'png' ? 'png' : 'jpg', ...size }
}

function refusal(reason: string): ServiceError {
  return new ServiceError('asset_unavailable', reason)
}

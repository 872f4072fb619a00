import { ServiceError } from '@platen/contract/domain/error.ts'
import { IMAGE_PIXELS_MAX } from '../limit.ts'

export interface PixelSize {
  readonly width: number
  readonly height: number
}

/** Returns the size. Throws `ServiceError` with `asset_unavailable` if the image is empty or too large. */
export function checkPixels({ width, height }: PixelSize): PixelSize {
  if (width === 0 || height === 0) throw new ServiceError('asset_unavailable', 'the image has no pixels')
  if (width * height <= IMAGE_PIXELS_MAX) return { width, height }
  const message = `the image has ${width} × ${height} pixels; at most ${IMAGE_PIXELS_MAX} are allowed`
  throw new ServiceError('asset_unavailable', message)
}

/** URLs that grant access to one object. Path and query name an object, a file name and an expiry; a signature covers all three. */
import { timingSafeEqual } from 'node:crypto'
import { type ArtifactAddress, isArtifactAddress } from '@platen/contract/domain/render.ts'
import type { Instant } from '@platen/lib/brand.ts'
import { hmacSha256 } from '@platen/lib/hmac.ts'

interface Grant {
  readonly address: ArtifactAddress
  /** The name under which a browser saves the file. */
  readonly filename: string
  /** Rounded up to whole seconds. */
  readonly expiresAt: Instant
}

/** `forged`: not signed with this key. `expired`: signed with it, and too old. */
export type Resolution = Pick<Grant, 'address' | 'filename'> | 'forged' | 'expired'

const PATH = /^\/artifacts\/([^/?]+)\/([^?]+)\?(.*)$/s
const EXPIRES = /^\d{1,12}$/
const SIGNATURE = /^[0-9a-f]{64}$/

export function signUrl(grant: Grant, key: Uint8Array): string {
  const { address } = grant
  // A query cannot carry half a surrogate pair, so the signed name has none.
  const filename = grant.filename.toWellFormed()
  const expires = `${Math.ceil(grant.expiresAt / 1000)}`
  const signature = sign({ address, filename, expires }, key).toString('hex')
  const query = new URLSearchParams({ expires, filename, signature }).toString()
  return `/artifacts/${address.bucket}/${address.key}?${query}`
}

/** Accepts any text. */
export function resolveUrl(pathAndQuery: string, key: Uint8Array, now: Instant): Resolution {
  const [, bucket = '', objectKey = '', search = ''] = PATH.exec(pathAndQuery) ?? []
  const address = { bucket, key: objectKey }
  const query = new URLSearchParams(search)
  const expires = query.get('expires') ?? ''
  const filename = query.get('filename') ?? ''
  const signature = query.get('signature') ?? ''
  if (!isArtifactAddress(address) || !EXPIRES.test(expires) || !SIGNATURE.test(signature)) return 'forged'
  if (!timingSafeEqual(Buffer.from(signature, 'hex'), sign({ address, filename, expires }, key))) return 'forged'
  return now < Number(expires) * 1000 ? { address, filename } : 'expired'
}

function sign(signed: { address: ArtifactAddress; filename: string; expires: string }, key: Uint8Array): Buffer {
  const { address, filename, expires } = signed
  // JSON separates the fields, whatever characters they hold.
  const text = JSON.stringify(['artifact', address.bucket, address.key, expires, filename])
  return hmacSha256(key).update(text).digest()
}

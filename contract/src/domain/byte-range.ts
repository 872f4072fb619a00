/**
 * Which bytes of a stored document answer a GET or HEAD: all of them, one range, or none (RFC 9110, sections 13 and 14). A stored document
 * never changes, so its digest is its entity tag, and dates do not matter. Several ranges at once are answered with the whole document, as
 * the RFC allows: one request could otherwise ask for the same bytes a thousand times.
 */
import { ServiceError } from './error.ts'

interface DocumentRequest {
  readonly method: string
  readonly headers: HeaderValues
}
type HeaderValues = Readonly<Record<string, string | readonly string[] | undefined>>

/** Without `range` there is no body. */
interface Selection {
  readonly status: 200 | 206 | 304
  readonly headers: Readonly<Record<string, string | number>>
  /** First and last byte, inclusive. */
  readonly range?: { readonly start: number; readonly end: number }
}

/** Throws `RANGE_NOT_SATISFIABLE`. */
export function selectBytes(
  { method, headers }: DocumentRequest,
  document: { sha256: string; bytes: number },
): Selection {
  const { sha256, bytes } = document
  const etag = `"${sha256}"`
  if (isKnown(etag, valueOf(headers, 'if-none-match'))) return { status: 304, headers: { etag } }
  const about = { etag, 'accept-ranges': 'bytes' }
  // RFC 9110 defines Range for GET only.
  if (method === 'HEAD') return { status: 200, headers: { ...about, 'content-length': bytes } }
  const isSame = [undefined, etag].includes(valueOf(headers, 'if-range'))
  const wanted = isSame ? rangeOf(valueOf(headers, 'range'), bytes) : undefined
  const { start, end } = wanted ?? { start: 0, end: bytes - 1 }
  const isPart = wanted !== undefined && { 'content-range': `bytes ${start}-${end}/${bytes}` }
  return {
    status: wanted === undefined ? 200 : 206,
    headers: { ...about, 'content-length': end - start + 1, ...isPart },
    range: { start, end },
  }
}

function valueOf(headers: HeaderValues, name: string): string | undefined {
  const value = headers[name]
  return typeof value === 'object' ? value.join() : value
}

/** Compares weakly, as the RFC says for If-None-Match: a cache on the way may have weakened the tag. */
function isKnown(etag: string, ifNoneMatch = ''): boolean {
  const known = ifNoneMatch.split(',').map((each) => each.trim().replace(/^W\//, ''))
  return known.includes(etag) || known.includes('*')
}

/** A single range. Any other header is ignored. */
const RANGE = /^bytes=(?:(\d+)-(\d*)|-(\d+))$/i

function rangeOf(header: string | undefined, bytes: number): Selection['range'] {
  const [matched, first, last, suffix] = RANGE.exec(header ?? '') ?? []
  if (matched === undefined) return undefined
  const start = first === undefined ? Math.max(0, bytes - Number(suffix)) : Number(first)
  const end = Math.min(bytes - 1, last ? Number(last) : bytes - 1)
  if (last && Number(last) < start) return undefined
  if (start < bytes) return { start, end }
  throw new ServiceError('RANGE_NOT_SATISFIABLE', `The document has only ${bytes} bytes.`, {
    headers: { 'content-range': `bytes */${bytes}` },
  })
}

/** Unpacks WOFF, a font that is compressed table by table. Pure. */
import { inflateSync } from 'node:zlib'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { FONT_BYTES_MAX } from '../../limit.ts'
import { part, sfntBytes, writeSfnt } from './sfnt.ts'

const HEADER_BYTES = 44
const ENTRY_BYTES = 20

/**
 * Checks the unpacked size first. Throws `ServiceError` with `asset_unavailable` if it is too large, and other errors if the data is not
 * WOFF.
 */
export function unpackWoff(data: Buffer): Buffer {
  const entries = Array.from({ length: data.readUInt16BE(12) }, (_, index) => {
    const at = HEADER_BYTES + index * ENTRY_BYTES
    const [offset, packed, length] = [4, 8, 12].map((field) => data.readUInt32BE(at + field))
    return { tag: data.toString('latin1', at, at + 4), offset: offset ?? 0, packed: packed ?? 0, length: length ?? 0 }
  })
  refuseLarge(entries.map(({ length }) => length))
  const tables = new Map(
    entries.map(({ tag, offset, packed, length }) => {
      const table = part(data, offset, packed)
      const unpacked = packed < length ? inflateSync(table, { maxOutputLength: length }) : table
      if (unpacked.length !== length) throw new RangeError('a table has another length than it says')
      return [tag, unpacked] as const
    }),
  )
  return writeSfnt(data.readUInt32BE(4), tables)
}

/** Throws `ServiceError` with `asset_unavailable` if tables of these lengths are too large for a font. */
export function refuseLarge(lengths: readonly number[]): void {
  const bytes = sfntBytes(lengths)
  if (bytes <= FONT_BYTES_MAX) return
  throw new ServiceError(
    'asset_unavailable',
    `the font has ${bytes} bytes unpacked; at most ${FONT_BYTES_MAX} are allowed`,
  )
}

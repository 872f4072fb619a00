/** Unpacks WOFF2 with Google's decoder in WebAssembly. fontkit also opens WOFF2, but cannot embed a part of it into a PDF. */
import { part } from './sfnt.ts'
import { refuseLarge } from './woff.ts'

/** Checks the unpacked size first. Throws as `unpackWoff` does. */
export async function unpackWoff2(data: Buffer): Promise<Buffer> {
  for (const lengths of lengthsOf(data)) refuseLarge(lengths)
  const { default: decompress } = await import('woff2-encoder/decompress')
  const sfnt = await decompress(data)
  return Buffer.from(sfnt.buffer, sfnt.byteOffset, sfnt.byteLength)
}

const HEADER_BYTES = 48
/** `SPELLED_OUT`: the index of a tag that the font spells out. `OUTLINES`: `glyf` and `loca` in the list of known tags. */
const SPELLED_OUT = 63
const OUTLINES = [10, 11]

/** The unpacked and the packed lengths of the tables. The decoder reserves memory by both. */
function lengthsOf(data: Buffer): readonly (readonly number[])[] {
  const [unpacked, packed]: [number[], number[]] = [[], []]
  let at = HEADER_BYTES
  /** UIntBase128: one to five bytes with seven bits each. */
  const number = () => {
    let value = 0
    for (const byte of part(data, at, Math.min(5, data.length - at))) {
      at += 1
      value = value * 128 + (byte & 127)
      if (byte < 128) return value
    }
    throw new RangeError('a number has no end')
  }
  for (let count = data.readUInt16BE(12); count > 0; count -= 1) {
    const flags = data.readUInt8(at)
    const [index, version] = [flags & 63, flags >> 6]
    at += 1
    const isNamed = index === SPELLED_OUT
    const isOutline = isNamed ? /^(glyf|loca)$/.test(part(data, at, 4).toString('latin1')) : OUTLINES.includes(index)
    if (isNamed) at += 4
    const length = number()
    unpacked.push(length)
    // Outlines are transformed by version 0, and other tables by any other version.
    packed.push((version === 0) === isOutline ? number() : length)
  }
  return [unpacked, packed]
}

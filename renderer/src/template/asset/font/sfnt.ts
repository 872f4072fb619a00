/** The container of TrueType and OpenType: named tables, each somewhere in the file. Pure. */

/** Tables by their tags of four characters. */
export type Tables = ReadonlyMap<string, Buffer>

const HEADER_BYTES = 12
const ENTRY_BYTES = 16

/** The tables of a font. Throws `RangeError` when one lies outside of the file. */
export function readTables(sfnt: Buffer): Tables {
  const count = sfnt.readUInt16BE(4)
  return new Map(
    Array.from({ length: count }, (_, index) => {
      const at = HEADER_BYTES + index * ENTRY_BYTES
      return [sfnt.toString('latin1', at, at + 4), part(sfnt, sfnt.readUInt32BE(at + 8), sfnt.readUInt32BE(at + 12))]
    }),
  )
}

/** `length` bytes from `at` on. Throws `RangeError` where there are not as many. */
export function part(data: Buffer, at: number, length: number): Buffer {
  if (at + length > data.length) throw new RangeError('the data ends too early')
  return data.subarray(at, at + length)
}

/** The bytes of a font of these tables. Checksums are left out: they are for the disks of another time, and no reader looks at them. */
export function writeSfnt(flavor: number, tables: Tables): Buffer {
  const header = Buffer.alloc(HEADER_BYTES + tables.size * ENTRY_BYTES)
  header.writeUInt32BE(flavor, 0)
  header.writeUInt16BE(tables.size, 4)
  const parts: Buffer[] = [header]
  let end = header.length
  for (const [index, [tag, table]] of [...tables].entries()) {
    const at = HEADER_BYTES + index * ENTRY_BYTES
    header.write(tag, at, 'latin1')
    header.writeUInt32BE(end, at + 8)
    header.writeUInt32BE(table.length, at + 12)
    const padding = Buffer.alloc(-table.length & 3)
    parts.push(table, padding)
    end += table.length + padding.length
  }
  return Buffer.concat(parts)
}

/** The size of a font of tables of these lengths, before it is written. */
export function sfntBytes(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + ENTRY_BYTES + length + 3, HEADER_BYTES)
}

/** Reads and writes the TrueType and OpenType container: named tables, each somewhere in the file. Pure. */

/** By tags of four characters. */
export type Tables = ReadonlyMap<string, Buffer>

export const SFNT_HEADER_BYTES = 12
export const DIRECTORY_ENTRY_BYTES = 16

/** Throws `RangeError` if a table is outside the file. */
export function readTables(sfnt: Buffer): Tables {
  const count = sfnt.readUInt16BE(4)
  return new Map(
    Array.from({ length: count }, (_, index) => {
      const at = SFNT_HEADER_BYTES + index * DIRECTORY_ENTRY_BYTES
      return [sfnt.toString('latin1', at, at + 4), part(sfnt, sfnt.readUInt32BE(at + 8), sfnt.readUInt32BE(at + 12))]
    }),
  )
}

/** `length` bytes from the offset `at`. Throws `RangeError` if there are fewer. */
export function part(data: Buffer, at: number, length: number): Buffer {
  if (at + length > data.length) throw new RangeError('the data ends too early')
  return data.subarray(at, at + length)
}

/** Leaves checksums out: they protect against old disks, and no reader checks them. */
export function writeSfnt(flavor: number, tables: Tables): Buffer {
  const header = Buffer.alloc(SFNT_HEADER_BYTES + tables.size * DIRECTORY_ENTRY_BYTES)
  header.writeUInt32BE(flavor, 0)
  header.writeUInt16BE(tables.size, 4)
  const parts: Buffer[] = [header]
  let end = header.length
  for (const [index, [tag, table]] of [...tables].entries()) {
    const at = SFNT_HEADER_BYTES + index * DIRECTORY_ENTRY_BYTES
    header.write(tag, at, 'latin1')
    header.writeUInt32BE(end, at + 8)
    header.writeUInt32BE(table.length, at + 12)
    const padding = Buffer.alloc(-table.length & 3)
    parts.push(table, padding)
    end += table.length + padding.length
  }
  return Buffer.concat(parts)
}

export function sfntBytes(lengths: readonly number[]): number {
  return lengths.reduce((sum, length) => sum + DIRECTORY_ENTRY_BYTES + length + 3, SFNT_HEADER_BYTES)
}

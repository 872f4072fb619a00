/** Reads one table of a font file without the rest: the character table of a 10 MB font has 200 KB. */
import { closeSync, openSync, readSync } from 'node:fs'
import { DIRECTORY_ENTRY_BYTES, SFNT_HEADER_BYTES, writeSfnt } from './sfnt.ts'

/** A font of this one table of `file`, or without tables if the file lacks it. */
export function readTable(file: string, tag: string): Buffer {
  const descriptor = openSync(file, 'r')
  const read = (at: number, length: number) => {
    const bytes = Buffer.alloc(length)
    readSync(descriptor, bytes, 0, length, at)
    return bytes
  }
  try {
    const header = read(0, SFNT_HEADER_BYTES)
    const entries = read(SFNT_HEADER_BYTES, header.readUInt16BE(4) * DIRECTORY_ENTRY_BYTES)
    const at = entries.indexOf(tag, 0, 'latin1')
    const tables = at < 0 ? [] : [[tag, read(entries.readUInt32BE(at + 8), entries.readUInt32BE(at + 12))] as const]
    return writeSfnt(header.readUInt32BE(0), new Map(tables))
  } finally {
    closeSync(descriptor)
  }
}

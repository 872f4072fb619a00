/**
 * Bytes of font files that all threads of a process share. The memory is reserved at the start and costs nothing until a thread reads the
 * file into it: the system gives pages when they are first written. So a font is in memory once, and only if a document needs it.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'
import type { FontFace } from './default-fonts.ts'

export function withMemory(faces: readonly FontFace[]): readonly FontFace[] {
  return faces.map((face) => ({ ...face, memory: new SharedArrayBuffer(statSync(face.file).size + FLAG_BYTES) }))
}

/** The last byte says whether the others are there. */
const FLAG_BYTES = 1

/**
 * The bytes of a face. Nobody may write to them. Two threads may read the same file at the same time: they write the same bytes, and a
 * thread that is terminated meanwhile leaves the flag unset.
 */
export function readFont({ file, memory }: FontFace): Buffer {
  const bytes = memory ?? new SharedArrayBuffer(statSync(file).size + FLAG_BYTES)
  const size = bytes.byteLength - FLAG_BYTES
  const flag = new Uint8Array(bytes, size, FLAG_BYTES)
  if (Atomics.load(flag, 0) === 0) {
    readInto(new Uint8Array(bytes, 0, size), file)
    Atomics.store(flag, 0, 1)
  }
  return Buffer.from(bytes, 0, size)
}

function readInto(bytes: Uint8Array, file: string): void {
  const descriptor = openSync(file, 'r')
  try {
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(descriptor, bytes, at, bytes.length - at, at)
      if (read === 0) throw new Error(`the font file ${file} has become shorter`)
      at += read
    }
  } finally {
    closeSync(descriptor)
  }
}

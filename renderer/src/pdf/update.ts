/**
 * Makes an incremental update (ISO 32000-1, 7.5.6): appends objects to a finished PDF, whose own bytes do not change. It is for files that
 * our own engines wrote: their cross-reference table is one plain section. It reads single table entries, never the whole table. So the
 * cost of an update depends on the changes, not on the size of the document.
 */
import assert from 'node:assert/strict'
import { type Dictionary, dictionaryAt, dictionaryOf, referenceOf, skipBlank, write } from './syntax.ts'

export interface PdfUpdate {
  /** The catalog's object number. */
  readonly root: number
  /** The object number of the document information, if there is one. */
  readonly info: number | undefined
  /** Reads a dictionary that is given directly or as a reference. */
  dictionary(value: string): Dictionary
  /** Reads the dictionary of an object. */
  read(object: number): Dictionary
  /** The bytes of the file from the beginning of an object's stream on, as they are stored. */
  stream(object: number): Uint8Array
  /** Writes a new version of an object. */
  replace(object: number, dictionary: Dictionary): void
  /** Adds an object and returns a reference to it. With `content` it is a stream. */
  add(dictionary: Dictionary, content?: string): string
  /** The whole file with the replaced and added objects, in new memory. */
  finish(): Uint8Array<ArrayBuffer>
}

/** Every entry of the table has this many bytes. */
const ENTRY_BYTES = 20

/** Opens a file for changes. Fails on a file that neither engine would write. */
export function openUpdate(pdf: Uint8Array): PdfUpdate {
  const bytes = Buffer.from(pdf.buffer, pdf.byteOffset, pdf.byteLength)
  const tableAt = Number(
    bytes
      .toString('latin1', bytes.lastIndexOf('startxref') + 'startxref'.length)
      .trim()
      .split(/\s/)[0],
  )
  // `xref`, the first object and the number of objects, then one entry per object.
  const head = /^xref\s+0\s+(\d+)\s*?\r?\n/.exec(bytes.toString('latin1', tableAt, tableAt + 64))
  assert(head?.[1] !== undefined, 'a PDF of ours has one plain cross-reference table')
  const entriesAt = tableAt + head[0].length
  const objects = Number(head[1])
  const trailer = dictionaryAt(bytes, bytes.indexOf('trailer', entriesAt + objects * ENTRY_BYTES) + 'trailer'.length)
  const root = referenceOf(trailer.get('Root') ?? '')
  assert(root !== undefined, 'a PDF has a catalog')
  const changed = new Map<number, string>()
  let size = objects

  function offsetOf(object: number): number {
    const entryAt = entriesAt + object * ENTRY_BYTES
    return Number(bytes.toString('latin1', entryAt, entryAt + 10))
  }

  function read(object: number): Dictionary {
    const objectAt = offsetOf(object)
    const opening = /^\d+\s+\d+\s+obj/.exec(bytes.toString('latin1', objectAt, objectAt + 32))
    assert(opening !== null, 'the table says where each object is')
    return dictionaryAt(bytes, skipBlank(bytes, objectAt + opening[0].length))
  }

  return {
    root,
    info: referenceOf(trailer.get('Info') ?? ''),
    read,
    // Its dictionary has only numbers, references and names of filters.
    stream: (object) => bytes.subarray(bytes.indexOf('stream\n', offsetOf(object)) + 'stream\n'.length),
    dictionary(value) {
      const object = referenceOf(value)
      return object === undefined ? dictionaryOf(value) : read(object)
    },
    replace(object, dictionary) {
      changed.set(object, write(dictionary))
    },
    add(dictionary, content) {
      const object = size
      size += 1
      changed.set(object, content === undefined ? write(dictionary) : streamOf(dictionary, content))
      return `${object} 0 R`
    },
    finish() {
      const entries = new Map([...trailer, ['Size', `${size}`], ['Prev', `${tableAt}`]])
      const tail = tailOf(changed, { at: bytes.length, trailer: entries })
      const whole = new Uint8Array(bytes.length + tail.length)
      whole.set(bytes)
      whole.set(tail, bytes.length)
      return whole
    },
  }
}

function streamOf(dictionary: Dictionary, content: string): string {
  return `${write(new Map([...dictionary, ['Length', `${content.length}`]]))}\nstream\n${content}\nendstream`
}

/** The changed objects, their table and a trailer, to be appended at the offset `at`. */
function tailOf(objects: ReadonlyMap<number, string>, { at, trailer }: { at: number; trailer: Dictionary }): Buffer {
  const parts: string[] = []
  let here = at
  const put = (text: string) => {
    parts.push(text)
    here += text.length
  }
  put('\n')
  const rows = [...objects]
    .sort(([one], [other]) => one - other)
    .map(([object, body]) => {
      const row = `${object} 1\n${String(here).padStart(10, '0')} 00000 n \n`
      put(`${object} 0 obj\n${body}\nendobj\n`)
      return row
    })
  const tableAt = here
  put(`xref\n${rows.join('')}trailer\n${write(trailer)}\nstartxref\n${tableAt}\n%%EOF\n`)
  return Buffer.from(parts.join(''), 'latin1')
}

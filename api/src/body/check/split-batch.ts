/**
 * Splits the body of a batch into its head and its items, without parsing it: all items as values would need ten times the memory. The
 * parts are parsed afterwards, one by one, so that step refuses what is not JSON.
 */
import { BATCH_ITEMS_MAX } from '@platen/contract/domain/limit.ts'

export interface SplitBatch {
  /** The body with an empty array in place of the items. */
  readonly head: Uint8Array
  /** At most one more than a batch may have: that one shows that there are too many. */
  readonly items: readonly Uint8Array[]
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const ARRAY = 0x5b
const ARRAY_END = 0x5d
const LINE_END = 0x0a
const ITEMS = Buffer.from('"items"')
const NO_ITEMS = Buffer.from('[]')

/** Splits NDJSON: the head is the first line. Ignores blank lines. */
export function splitLines(bytes: Uint8Array): SplitBatch {
  const lines: Uint8Array[] = []
  for (let from = 0; from < bytes.length && lines.length < BATCH_ITEMS_MAX + 2; ) {
    const end = bytes.indexOf(LINE_END, from)
    const line = bytes.subarray(from, end < 0 ? bytes.length : end)
    if (!isBlank(line)) lines.push(line)
    from += line.length + 1
  }
  const [head = new Uint8Array(), ...items] = lines
  return { head, items }
}

/** Splits a JSON object at the elements of its member `items`, if that is an array and its name has no escapes. */
export function splitJson(bytes: Uint8Array): SplitBatch {
  let depth = 0
  let name: Uint8Array | undefined
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) {
      const end = endOfString(bytes, at)
      name = bytes.subarray(at, end)
      at = end - 1
    } else if (byte === COLON && depth === 1 && name !== undefined && ITEMS.equals(name)) {
      const open = at + 1 + blanksAt(bytes, at + 1)
      if (bytes[open] !== ARRAY) return { head: bytes, items: [] }
      const { items, end } = elementsAt(bytes, open)
      return { head: Buffer.concat([bytes.subarray(0, open), NO_ITEMS, bytes.subarray(end)]), items }
    } else if (isOpening(byte)) depth++
    else if (isClosing(byte)) depth--
  }
  return { head: bytes, items: [] }
}

/** Returns also the index behind the array that begins at `open`. */
function elementsAt(bytes: Uint8Array, open: number): { readonly items: readonly Uint8Array[]; readonly end: number } {
  const items: Uint8Array[] = []
  let [depth, from] = [0, open + 1]
  const take = (end: number) => {
    if (items.length <= BATCH_ITEMS_MAX) items.push(bytes.subarray(from, end))
    from = end + 1
  }
  for (let at = open + 1; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    if (byte === QUOTE) at = endOfString(bytes, at) - 1
    else if (depth === 0 && byte === ARRAY_END) {
      if (items.length > 0 || !isBlank(bytes.subarray(from, at))) take(at)
      return { items, end: at + 1 }
    } else if (depth === 0 && byte === COMMA) take(at)
    else if (isOpening(byte)) depth++
    else if (isClosing(byte)) depth--
  }
  return { items, end: bytes.length }
}

function endOfString(bytes: Uint8Array, at: number): number {
  for (let end = at + 1; end < bytes.length; end++) {
    const byte = bytes[end]
    if (byte === BACKSLASH) end++
    else if (byte === QUOTE) return end + 1
  }
  return bytes.length
}

/** `[` and `{` differ in one bit, and so do `]` and `}`. */
function isOpening(byte: number): boolean {
  return (byte | 0x20) === 0x7b
}

function isClosing(byte: number): boolean {
  return (byte | 0x20) === 0x7d
}

function blanksAt(bytes: Uint8Array, from: number): number {
  let at = from
  while (isBlankByte(bytes[at])) at++
  return at - from
}

function isBlank(bytes: Uint8Array): boolean {
  return blanksAt(bytes, 0) === bytes.length
}

function isBlankByte(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === LINE_END || byte === 0x0d
}

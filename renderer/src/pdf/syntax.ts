/**
 * The small part of PDF syntax (ISO 32000-1, 7.2 and 7.3) that changing single objects of a file needs: where a value ends, what a
 * dictionary holds, how a text is written. Values stay as they were written, byte for byte, in Latin-1. Pure.
 */
import assert from 'node:assert/strict'

/** A dictionary: the values as they were written, by key without its slash. */
export type Dictionary = ReadonlyMap<string, string>

/** Reads the dictionary at the byte offset `at`. Fails on anything else: it only reads files that our own engines wrote. */
export function dictionaryAt(bytes: Buffer, at: number): Dictionary {
  const entries = new Map<string, string>()
  let here = skipBlank(bytes, at)
  assert(startsWith(bytes, here, '<<'), 'a PDF dictionary begins with <<')
  here = skipBlank(bytes, here + 2)
  while (!startsWith(bytes, here, '>>')) {
    const keyEnd = valueEnd(bytes, here)
    const begin = skipBlank(bytes, keyEnd)
    const end = valueEnd(bytes, begin)
    entries.set(bytes.toString('latin1', here + 1, keyEnd), bytes.toString('latin1', begin, end))
    here = skipBlank(bytes, end)
  }
  return entries
}

/** Reads a dictionary from a value that was already read. */
export function dictionaryOf(value: string): Dictionary {
  return dictionaryAt(Buffer.from(value, 'latin1'), 0)
}

/** The elements of an array value, as they were written. */
export function arrayOf(value: string): readonly string[] {
  const bytes = Buffer.from(value, 'latin1')
  const elements: string[] = []
  assert(value.startsWith('['), 'a PDF array begins with [')
  for (let here = skipBlank(bytes, 1); !startsWith(bytes, here, ']'); ) {
    const end = valueEnd(bytes, here)
    elements.push(bytes.toString('latin1', here, end))
    here = skipBlank(bytes, end)
  }
  return elements
}

/** The number of the object that `12 0 R` refers to. Undefined if the value is not a reference. */
export function referenceOf(value: string): number | undefined {
  const digits = /^(\d+)\s+0\s+R$/.exec(value)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/** Writes a dictionary in PDF syntax. */
export function write(dictionary: Dictionary): string {
  return `<<${Array.from(dictionary, ([key, value]) => `/${key} ${value}`).join('\n')}>>`
}

/** Writes a text string in PDF syntax: UTF-16 in hexadecimal, so that no character needs an escape. */
export function textString(text: string): string {
  return `<FEFF${Buffer.from(text, 'utf16le').swap16().toString('hex').toUpperCase()}>`
}

const BLANKS = new Set(Buffer.from('\0\t\n\f\r '))
const DELIMITERS = new Set(Buffer.from('()<>[]{}/%'))
const [OPEN, CLOSE, BACKSLASH] = Buffer.from('()\\')

export function skipBlank(bytes: Buffer, at: number): number {
  let here = at
  while (here < bytes.length && BLANKS.has(bytes.readUInt8(here))) here += 1
  return here
}

function startsWith(bytes: Buffer, at: number, text: string): boolean {
  return bytes.toString('latin1', at, at + text.length) === text
}

/** The offset where the value that begins at `at` ends. A reference is one value. */
function valueEnd(bytes: Buffer, at: number): number {
  const first = bytes.toString('latin1', at, at + 1)
  switch (first) {
    case '(':
      return literalEnd(bytes, at)
    case '[':
      return sequenceEnd(bytes, at + 1, ']')
    case '<':
      return startsWith(bytes, at, '<<') ? sequenceEnd(bytes, at + 2, '>>') : bytes.indexOf('>', at) + 1
    default: {
      const end = wordEnd(bytes, first === '/' ? at + 1 : at)
      assert(end > at, 'a PDF value is not empty')
      const reference = /^\d+\s+\d+\s+R(?![^\s()<>[\]{}/%])/.exec(
        bytes.toString('latin1', at, at + REFERENCE_CHARS_MAX),
      )
      return reference === null ? end : at + reference[0].length
    }
  }
}

/** Two numbers of at most ten digits, and the characters between and after them. */
const REFERENCE_CHARS_MAX = 32

function wordEnd(bytes: Buffer, at: number): number {
  let here = at
  while (here < bytes.length && !BLANKS.has(bytes.readUInt8(here)) && !DELIMITERS.has(bytes.readUInt8(here))) here += 1
  return here
}

function sequenceEnd(bytes: Buffer, at: number, close: string): number {
  let here = skipBlank(bytes, at)
  while (!startsWith(bytes, here, close)) here = skipBlank(bytes, valueEnd(bytes, here))
  return here + close.length
}

/** Parentheses in a literal string are balanced, or escaped. */
function literalEnd(bytes: Buffer, at: number): number {
  let depth = 0
  for (let here = at; here < bytes.length; here += 1) {
    const byte = bytes.readUInt8(here)
    if (byte === BACKSLASH) here += 1
    else if (byte === OPEN) depth += 1
    else if (byte === CLOSE) depth -= 1
    if (depth === 0) return here + 1
  }
  assert.fail('a PDF string ends')
}

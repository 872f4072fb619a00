/** Looks for content that must not be passed on, in the text of a body and in its parsed value. */

import type { ErrorDetail } from '@platen/contract/domain/error.ts'
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const POINT = 0x2e
const COLON = 0x3a
const BACKSLASH = 0x5c

/** Integers with this many digits may not fit a double. Shorter ones do. */
const LONG_INTEGER_DIGITS = 16

/** Facts about a JSON text before it is parsed. Meaningless if the text is not JSON. */
interface ScannedText {
  /** The nesting depth of arrays and objects, up to the given maximum. If it is reached, the other fields are incomplete. */
  readonly depth: number
  /** Of all objects. */
  readonly members: number
  readonly hasLongInteger: boolean
}

/**
 * Runs before parsing: `JSON.parse` takes seconds and half a gigabyte for ten million brackets, and blocks the thread meanwhile.
 */
export function scan(bytes: Uint8Array, depthMax: number): ScannedText {
  let depth = 0
  let deepest = 0
  let members = 0
  // Negative among the digits after a decimal point.
  let digits = 0
  let longest = 0
  let isInString = false
  for (let at = 0; at < bytes.length && deepest < depthMax; at++) {
    const byte = bytes[at] ?? 0
    if (isInString) {
      if (byte === BACKSLASH) at++
      else if (byte === QUOTE) isInString = false
    } else if (isDigit(byte)) {
      digits++
    } else {
      longest = Math.max(longest, digits)
      digits = byte === POINT ? Number.NEGATIVE_INFINITY : 0
      // `[` and `{` differ in one bit, and so do `]` and `}`.
      if (byte === QUOTE) isInString = true
      else if (byte === COLON) members++
      else if ((byte | 0x20) === 0x7b) deepest = Math.max(deepest, ++depth)
      else if ((byte | 0x20) === 0x7d) depth--
    }
  }
  return { depth: deepest, members, hasLongInteger: Math.max(longest, digits) >= LONG_INTEGER_DIGITS }
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

interface NodePath {
  readonly node: readonly Json[] | JsonObject
  readonly name: string | number
  readonly parent: NodePath | undefined
}

/**
 * Finds a parsed value that must not be passed on: a key that would change a prototype when it is copied, or a number that JSON cannot
 * write. Without such a fault, counts the names of all objects. Only arrays and objects go on the stack, so that ten million digits do not
 * need ten million entries.
 */
export function inspect(root: Json): { readonly names: number; readonly fault?: ErrorDetail } {
  const rest: NodePath[] = []
  let names = 0
  const isUnsafe = (node: Json | undefined, name: string | number, parent: NodePath | undefined): boolean => {
    if (typeof node === 'object' && node !== null) rest.push({ node, name, parent })
    return typeof node === 'number' && !Number.isFinite(node)
  }
  const faulty = (path: string, message: string) => ({ names, fault: { path, message } })
  if (isUnsafe(root, '', undefined)) return faulty('', OUT_OF_RANGE)
  for (let path = rest.pop(); path !== undefined; path = rest.pop()) {
    const { node } = path
    if (!isJsonObject(node)) {
      for (let at = 0; at < node.length; at++) {
        if (isUnsafe(node[at], at, path)) return faulty(pathOf(path, at), OUT_OF_RANGE)
      }
      continue
    }
    for (const name of Object.keys(node)) {
      names++
      if (name === '__proto__') return faulty(pathOf(path, name), 'is not an allowed name')
      if (isUnsafe(node[name], name, path)) return faulty(pathOf(path, name), OUT_OF_RANGE)
    }
  }
  return { names }
}

const OUT_OF_RANGE = 'is a number out of range'
const REPEATED = 'is there twice'
const INEXACT = 'is an integer with too many digits to be kept exactly; send it as a string'

/** An array or object that is open at the current place, and its current member or element. */
interface OpenNode {
  name: string | number
  /** The names so far. Absent for an array. */
  readonly names?: Set<string>
}

/**
 * Finds the first content that parsing loses: a repeated member name in an object, or an integer that a double does not hold. The text must
 * be valid.
 */
export function findLoss(text: string): ErrorDetail | undefined {
  const open: OpenNode[] = []
  const here = () => pointer(open.map(({ name }) => name))
  let isName = false
  for (let at = 0; at < text.length; at++) {
    const node = open.at(-1)
    const byte = text.charCodeAt(at)
    if (byte === QUOTE) {
      const end = endOfString(text, at)
      if (isName && node !== undefined) {
        node.name = String(JSON.parse(text.slice(at, end)))
        if (node.names?.has(node.name) === true) return { path: here(), message: REPEATED }
        node.names?.add(node.name)
        isName = false
      }
      at = end - 1
    } else if (isDigit(byte)) {
      const number = numberAt(text, at)
      if (!isExact(number)) return { path: here(), message: INEXACT }
      at += number.length - 1
    } else if (byte === COMMA) {
      isName = node?.names !== undefined
      if (typeof node?.name === 'number') node.name++
    } else if ((byte | 0x20) === 0x7b) {
      isName = byte === 0x7b
      open.push(isName ? { name: '', names: new Set() } : { name: 0 })
    } else if ((byte | 0x20) === 0x7d) {
      isName = false
      open.pop()
    }
  }
  return undefined
}

function endOfString(text: string, at: number): number {
  for (let end = at + 1; end < text.length; end++) {
    const byte = text.charCodeAt(end)
    if (byte === BACKSLASH) end++
    else if (byte === QUOTE) return end + 1
  }
  return text.length
}

const NUMBER = /[\d.eE+-]+/y

/** Without its sign. */
function numberAt(text: string, at: number): string {
  NUMBER.lastIndex = at
  return NUMBER.exec(text)?.[0] ?? ''
}

/**
 * Whether an integer keeps its value: a double holds it, or JavaScript writes it with these digits. Decimals are rounded everywhere, so
 * they count as exact.
 */
function isExact(number: string): boolean {
  if (number.length < LONG_INTEGER_DIGITS || /\D/.test(number)) return true
  const double = Number(number)
  return String(double) === number || BigInt(number) === BigInt(double)
}

const NAME_CHARS_MAX = 64

function pathOf(parent: NodePath, last: string | number): string {
  const names = [last]
  for (let path = parent; path.parent !== undefined; path = path.parent) names.push(path.name)
  return pointer(names.toReversed())
}

/** A JSON pointer (RFC 6901). Cuts long names. */
function pointer(names: readonly (string | number)[]): string {
  const parts = names.map((name) => `${name}`.slice(0, NAME_CHARS_MAX).replaceAll('~', '~0').replaceAll('/', '~1'))
  return parts.map((part) => `/${part}`).join('')
}

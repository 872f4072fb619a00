/** Finds where a text stops being JSON. V8 reports it only for some faults, and not for the commonest: words of other languages. */

const OPENING = /[[{]/
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const BLANKS = /[ \t\n\r]*/y
const ESCAPE = /["\\/bfnrt]|u[\dA-Fa-f]{4}/y

type Expected = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'next' | 'nothing'

/** The index of the first character that JSON does not allow, or the length of a text that ends too early. */
export function faultIndexOf(text: string): number {
  const open: string[] = []
  let expected: Expected = 'value'
  const afterValue = (): Expected => (open.length === 0 ? 'nothing' : 'next')
  for (let at = endOf(BLANKS, text, 0) ?? 0; at < text.length; at = endOf(BLANKS, text, at) ?? at) {
    const char = text[at] ?? ''
    const isEnd = char === (open.at(-1) === '{' ? '}' : ']')
    if (expected === 'nothing') return at
    if (expected === 'colon') {
      if (char !== ':') return at
      expected = 'value'
      at++
    } else if (isEnd && (expected === 'next' || expected.endsWith('or end'))) {
      open.pop()
      expected = afterValue()
      at++
    } else if (expected === 'next') {
      if (char !== ',') return at
      expected = open.at(-1) === '{' ? 'name' : 'value'
      at++
    } else if (char === '"') {
      const { end, isWhole } = stringAt(text, at)
      if (!isWhole) return end
      expected = expected.startsWith('name') ? 'colon' : afterValue()
      at = end
    } else if (expected.startsWith('name')) {
      return at
    } else if (OPENING.test(char)) {
      open.push(char)
      expected = char === '{' ? 'name or end' : 'value or end'
      at++
    } else {
      const end = endOf(SCALAR, text, at)
      if (end === undefined) return at
      expected = afterValue()
      at = end
    }
  }
  return text.length
}

/** The end of the string that begins at `at`, or the index of its first fault. */
function stringAt(text: string, at: number): { readonly end: number; readonly isWhole: boolean } {
  for (let end = at + 1; end < text.length; end++) {
    const code = text.charCodeAt(end)
    if (code === 0x22) return { end: end + 1, isWhole: true }
    if (code < 0x20) return { end, isWhole: false }
    if (code !== 0x5c) continue
    const escaped = endOf(ESCAPE, text, end + 1)
    if (escaped === undefined) return { end: Math.min(end + 1, text.length), isWhole: false }
    end = escaped - 1
  }
  return { end: text.length, isWhole: false }
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

/** ` at position 4 (line 1 column 5)`, as V8 writes it. */
export function placeOf(text: string, index: number): string {
  const before = text.slice(0, index)
  const line = before.split('\n').length
  return ` at position ${index} (line ${line} column ${index - before.lastIndexOf('\n')})`
}

/** A hint for words and signs of other languages that JSON writes differently; '' for anything else. */
export function hintAt(text: string, index: number): string {
  const found = /^(?:True|False|None|undefined|NaN|-?Infinity|nil|NULL)\b|^[+.'`]|^\/[/*]/.exec(
    text.slice(index, index + 12),
  )?.[0]
  if (found === undefined) return ''
  if (/^[+.]/.test(found)) return '; a number has no plus sign, and a digit before its point'
  if (/^['`]/.test(found)) return '; texts are in double quotes'
  if (found.startsWith('/')) return '; it has no comments'
  return '; its words are true, false and null'
}

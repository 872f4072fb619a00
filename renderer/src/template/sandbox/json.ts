/** Counts values in JSON before it is parsed, because they decide on the memory and time of parsing, not the length. Pure. */
import { ELEMENTS_MAX } from '../limit.ts'

/**
 * Values and keys of an element tree: twenty per allowed element. Parsing is one call that no deadline can end: so many values take up to
 * four seconds of CPU.
 */
export const TREE_VALUES_MAX = 20 * ELEMENTS_MAX

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [COMMA, COLON, BRACKET, BRACE] = [0x2c, 0x3a, 0x5b, 0x7b]

/** Counts values and keys: each except the first has a bracket, a comma or a colon before it. Stops at the first one above `max`. */
export function holdsMoreValues(json: string, max: number): boolean {
  // Each takes at least one character.
  if (json.length <= max) return false
  let values = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = textEnd(json, at)
    else if (code === COMMA || code === COLON || code === BRACKET || code === BRACE) {
      values += 1
      if (values > max) return true
    }
  }
  return false
}

/** The offset of the closing quote of the string at `start`. */
function textEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let escapes = end
    while (json.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1
    if ((end - escapes) % 2 === 0) return end
  }
  return json.length
}

/** What there is in JSON, told before it is read: reading takes memory and time by the number of its values, not by its length. Pure. */
import { ELEMENTS_MAX } from '@platen/contract/limit.ts'

/**
 * Values and keys of an element tree: twenty for each element it may have. Reading it is one call that no deadline ends, and takes
 * up to four seconds of a processor for so many.
 */
export const TREE_VALUES_MAX = 20 * ELEMENTS_MAX

const [QUOTE, BACKSLASH] = [0x22, 0x5c]
const [COMMA, COLON, BRACKET, BRACE] = [0x2c, 0x3a, 0x5b, 0x7b]

/** Are there more values and keys in it than `max`? Each but the first has a bracket, a comma or a colon before it. Stops at the first too many. */
export function holdsMoreValues(json: string, max: number): boolean {
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

/** Where the text that begins at `start` has its last quote. */
function textEnd(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end !== -1; end = json.indexOf('"', end + 1)) {
    let escapes = end
    while (json.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1
    if ((end - escapes) % 2 === 0) return end
  }
  return json.length
}

import type { Ids } from './port/ids.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 43 characters of 62 are 256 bits. */
const SECRET_CHARS = 43

/** A text that nobody guesses, of letters and digits that any header, shell or file takes as they are. */
export function randomSecret(ids: Ids): string {
  return randomText(SECRET_CHARS, ids)
}

/** Characters of base62, all equally likely: of the 256 values of a byte, the eight that would favour the first letters are drawn again. */
function randomText(chars: number, ids: Ids): string {
  const fair = 256 - (256 % BASE62.length)
  let text = ''
  while (text.length < chars) {
    for (const byte of ids.random(chars)) if (byte < fair) text += BASE62.charAt(byte % BASE62.length)
  }
  return text.slice(0, chars)
}

import type { Ids } from './ids.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** 43 characters of 62 have 256 bits. */
const SECRET_CHARS = 43

/** Letters and digits, which headers, shells and files take without escaping. */
export function randomSecret(ids: Ids): string {
  return randomText(SECRET_CHARS, ids)
}

/** All characters are equally likely: the top eight of a byte's 256 values would favour the first letters, so they are drawn again. */
function randomText(chars: number, ids: Ids): string {
  const fair = 256 - (256 % BASE62.length)
  let text = ''
  while (text.length < chars) {
    for (const byte of ids.random(chars)) if (byte < fair) text += BASE62.charAt(byte % BASE62.length)
  }
  return text.slice(0, chars)
}

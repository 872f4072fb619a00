/** Characters that need no look at a font. A separate file, because the main thread must not load the library of fonts. */

/**
 * DejaVu has every assigned character in these ranges, and most documents contain no others. Named entities count as plain, but not large
 * numeric ones.
 */
export const PLAIN =
  '\\0-\\u024f\\u0370-\\u03ff\\u0400-\\u0525\\u2000-\\u206f\\u20a0-\\u20b5\\u2116\\u2122\\u2190-\\u2315\\u2500-\\u269c\\u2706-\\u2709\\u270c-\\u2727\\ufeff'

const NOT_PLAIN = new RegExp(`[^${PLAIN}]|&#(?:0*[1-9]\\d{3}|[xX]0*[1-9a-fA-F][\\da-fA-F]{2})`, 'u')

export function isPlain(html: string): boolean {
  return !NOT_PLAIN.test(html)
}

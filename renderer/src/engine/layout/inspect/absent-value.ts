/** Finds values in the texts of a document that were not there when a template printed them. Pure. */

/** The name of a printed non-value in a text. `isMeant` says whether the source or the data have a part of that text literally. */
export function absentValue(text: string, isMeant: (part: string) => boolean): string | undefined {
  const found = ANYWHERE.test(text) ? NON_VALUE.exec(text) : null
  if (found === null) return undefined
  const [name] = found
  const part = text.slice(Math.max(0, found.index - CONTEXT_CHARS), found.index + name.length + CONTEXT_CHARS)
  return isMeant(part.trim()) ? undefined : name
}

/** Rules most texts out, faster than a pattern that looks behind. */
const ANYWHERE = /NaN|undefined|Invalid Date|\[object Object\]/

/** What JavaScript makes of a missing or wrong value in a text. */
const NON_VALUE = /(?<![\p{L}\p{N}_])(?:NaN|undefined|Invalid Date|\[object Object\])(?![\p{L}\p{N}_])/u

/** Letters around it that decide whether an author wrote it: "is undefined" in prose, and not "Dear undefined" from a variable. */
const CONTEXT_CHARS = 12

/** Asks a source and data whether they have a text literally. Blanks count as one, as in JSX. */
export function openLiterals(texts: () => readonly string[]): (part: string) => boolean {
  let joined: string | undefined
  return (part) => {
    joined ??= texts().join('\n').replace(/\s+/g, ' ')
    const literal = part.replace(/\s+/g, ' ')
    // Alone it is also a word of the language.
    if (!/^(?:NaN|undefined)$/.test(literal)) return joined.includes(literal)
    return new RegExp(`[>'"\`]\\s?${literal}\\s?[<'"\`]`).test(joined)
  }
}

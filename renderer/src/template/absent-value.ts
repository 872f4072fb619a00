/**
 * Finds a printed non-value in a text of a document, such as `NaN`. `isMeant` says whether the source or the data have a part of that text
 * literally.
 */
export function absentValue(text: string, isMeant: (part: string) => boolean): string | undefined {
  const found = ANYWHERE.test(text) ? NON_VALUE.exec(text) : null
  if (found === null) return undefined
  const [name] = found
  const end = found.index + name.length
  // Only letters and blanks: JSON and JSX write other characters in other ways.
  const before = /[\p{L}\p{N} ]*$/u.exec(text.slice(Math.max(0, found.index - CONTEXT_CHARS), found.index))?.[0] ?? ''
  const after = /^[\p{L}\p{N} ]*/u.exec(text.slice(end, end + CONTEXT_CHARS))?.[0] ?? ''
  const part = `${before}${name}${after}`.trim()
  return isMeant(part === name ? text.slice(Math.max(0, found.index - 1), end + 1) : part) ? undefined : name
}

/** Characters on each side of a non-value that decide whether an author wrote it. */
const CONTEXT_CHARS = 12

/** Rules out most texts, faster than the lookbehind of `NON_VALUE`. */
const ANYWHERE = /NaN|undefined|Infinity|∞|Invalid Date|\[object Object\]/

const NON_VALUE = /(?<![\p{L}\p{N}_])(?:NaN|undefined|Infinity|∞|Invalid Date|\[object Object\])(?![\p{L}\p{N}_])/u

/**
 * Asks a source and data whether they have a text literally: "is undefined" in prose, and not "Dear undefined" from a variable. Blanks count
 * as one, as in JSX. Says yes without looking after `QUESTIONS_MAX` questions.
 */
export function openLiterals(texts: () => readonly string[]): (part: string) => boolean {
  let joined: string | undefined
  const answers = new Map<string, boolean>()
  return (part) => {
    joined ??= texts().join('\n').replace(/\s+/g, ' ')
    const known = answers.get(part)
    if (known !== undefined || answers.size >= QUESTIONS_MAX) return known ?? true
    const literal = part.replace(/\s+/g, ' ')
    // Alone it is also a word of the language.
    const isAlone = literal === 'NaN' || literal === 'undefined' || literal === 'Infinity'
    const answer = isAlone ? new RegExp(`[>'"\`]\\s?${literal}\\s?[<'"\`]`).test(joined) : joined.includes(literal)
    answers.set(part, answer)
    return answer
  }
}

/** Data may have ten million characters, and a document as many different texts as elements. */
const QUESTIONS_MAX = 200

/** The style elements of a document. Pure. */

/** The HTML with `change` applied to the text of each style element, or undefined if that changes nothing. Linear in its length. */
export function withStyles(html: string, change: (css: string) => string): string | undefined {
  const parts: string[] = []
  const tag = /<(\/?)style(?=[\s>/])/gi
  let [from, isStyle] = [0, false]
  for (const { 1: slash, index } of html.matchAll(tag)) {
    if ((slash === '/') !== isStyle) continue
    const part = html.slice(from, index)
    parts.push(isStyle ? change(part) : part)
    ;[from, isStyle] = [index, !isStyle]
  }
  const replaced = `${parts.join('')}${html.slice(from)}`
  return replaced === html ? undefined : replaced
}

/** Applies `change` to the text of each style element. Undefined if nothing changes. Linear in the length of `html`. */
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

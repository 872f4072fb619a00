/**
 * Chromium fills elements of a header or footer by class: `date` with the machine's time in US format, and `url` with the address of an
 * empty page. So both classes are renamed, and `date` gets the date of the render. Pure.
 */

/** Fills in the date and removes the address. Linear in the length of `html`. */
export function withRenderDate(html: string, date: () => string): string {
  if (!MENTION.test(html)) return html
  const parts: string[] = []
  let [from, scanned] = [0, 0]
  for (const { 0: opening, index } of html.matchAll(/<[a-z][^\s/>]*/gi)) {
    if (index < Math.max(from, scanned)) continue
    const end = endOfTag(html, index + opening.length)
    scanned = end
    const tag = html.slice(index, end)
    const renamed = tag.replace(CLASS, (...parts: string[]) => renameClasses(...parts))
    if (/^style$/i.test(opening.slice(1))) {
      const close = html.slice(end).search(/<\/style/i)
      const sheetEnd = close === -1 ? html.length : end + close
      parts.push(html.slice(from, end), html.slice(end, sheetEnd).replaceAll(SELECTOR, '.print-$1'))
      from = sheetEnd
    } else if (renamed !== tag) {
      parts.push(html.slice(from, index), renamed)
      from = end
      // Chromium, too, replaces the content.
      if (/[\s"']print-date[\s"']/.test(renamed)) {
        const text = html.indexOf('<', end)
        parts.push(date())
        from = text === -1 ? html.length : text
      }
    }
  }
  return parts.join('') + html.slice(from)
}

const MENTION = /class[^>]*(?:date|url|&#)/i
const CLASS = /([\s/"']class\s*=\s*)(?:"([^"]*)"|'([^']*)'|([^\s"'<>`=]+))/gi
const SELECTOR = /\.(date|url)(?![\w-])/g

function renameClasses(...[attribute, opening, double = '', single = '', bare = '']: readonly string[]): string {
  const names = decoded(double + single + bare).split(/\s+/)
  if (attribute === undefined || (!names.includes('date') && !names.includes('url'))) return attribute ?? ''
  const renamed = names.map((name) => (name === 'date' || name === 'url' ? `print-${name}` : name))
  return `${opening}"${renamed.join(' ').replaceAll('&', '&amp;').replaceAll('"', '&quot;')}"`
}

/** Numeric entities only: no ASCII letter has a named one. */
function decoded(text: string): string {
  return text.replaceAll(/&#(?:(\d{1,7})|x([\da-f]{1,6}));?/gi, (entity, decimal?: string, hex?: string) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })
}

/** The offset after the > of a tag. Quoted values may contain a >. */
function endOfTag(html: string, start: number): number {
  const marks = />|=\s*["']/g
  marks.lastIndex = start
  for (let mark = marks.exec(html); mark !== null; mark = marks.exec(html)) {
    if (mark[0] === '>') return mark.index + 1
    const close = html.indexOf(mark[0].slice(-1), marks.lastIndex)
    if (close === -1) break
    marks.lastIndex = close + 1
  }
  return html.length
}

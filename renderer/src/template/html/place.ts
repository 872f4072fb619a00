/** Finds in a source what Chromium reports about a document, such as an address or a line of a script. Pure. */
import type { TemplateSource } from '@platen/contract/domain/tenant.ts'

type HtmlSource = NonNullable<TemplateSource['html']>

/** The first place of the literal address, such as `template.html:3:14`. Undefined if the address comes from the data. */
export function placeOfAddress(source: HtmlSource, address: string): string | undefined {
  for (const [name, text] of textsOf(source)) {
    for (const spelling of spellingsOf(address)) {
      const at = indexOfAddress(text, spelling)
      if (at !== undefined) return placeAt(name, text, at)
    }
  }
  return undefined
}

/** The first element that begins with `tag`, in lower case. Not in header and footer. */
export function placeOfTag({ template }: HtmlSource, tag: string): string | undefined {
  const at = template.toLowerCase().indexOf(tag)
  return at === -1 ? undefined : placeAt('template.html', template, at)
}

/** `name` is such as `<img class="logo" alt="Acme">`. Undefined unless exactly one image matches and may have no address. */
export function placeOfImage({ template }: HtmlSource, name: string): string | undefined {
  const places = Array.from(template.matchAll(IMAGE)).filter(([tag]) => {
    const address = attributeOf(tag, 'src') ?? attributeOf(tag, 'href') ?? ''
    if (address !== '' && !/\{[{%]/.test(address)) return false
    return ['class', 'alt'].every((key) => {
      const own = attributeOf(tag, key)?.trim() ?? ''
      return /\{[{%]/.test(own) || own === (attributeOf(name, key) ?? '')
    })
  })
  const [only, ...others] = places
  return only === undefined || others.length > 0 ? undefined : placeAt('template.html', template, only.index)
}

/** Linear: a tag ends before the next one. */
const IMAGE = /<(?:img|image|input)\b[^<>]*>/gi

function attributeOf(tag: string, name: string): string | undefined {
  const [, double, single, bare] =
    new RegExp(`\\s(?:xlink:)?${name}\\s{0,9}=\\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag) ?? []
  return double ?? single ?? bare
}

export function placeOfPattern({ template }: HtmlSource, pattern: RegExp): string | undefined {
  const at = template.search(pattern)
  return at === -1 ? undefined : placeAt('template.html', template, at)
}

/**
 * Maps a line of the filled HTML to the source, if exactly one line there is the same. Loops and values move lines, but most scripts are
 * printed unchanged. `column` is from 1; one beyond the line becomes 1.
 */
export function placeOfLine(
  { template }: Pick<HtmlSource, 'template'>,
  html: string,
  at: { line: number; column: number },
): string | undefined {
  const line = lineOf(html, at.line)
  const text = line?.trim() ?? ''
  if (line === undefined || text === '' || text.length > LINE_CHARS_MAX) return undefined
  const lines = template.split('\n')
  const index = lines.findIndex((other) => other.trim() === text)
  const found = lines[index]
  if (found === undefined || lines.some((other, later) => later > index && other.trim() === text)) return undefined
  const shift = found.indexOf(text) - line.indexOf(text)
  const column = at.column > line.length ? 1 : at.column + shift
  return `template.html:${index + 1}:${Math.max(column, 1)}`
}

/** Longer lines are not searched: they are of minified libraries. */
const LINE_CHARS_MAX = 2000

function textsOf({ template, header, footer }: HtmlSource): readonly [string, string][] {
  const edges = { 'header.html': header, 'footer.html': footer }
  return Object.entries({ 'template.html': template, ...edges }).flatMap(([name, text]) =>
    text === undefined ? [] : [[name, text]],
  )
}

/** Chromium completes addresses, and HTML may escape them. */
function spellingsOf(address: string): readonly string[] {
  const bare = address.replace(/\/$/, '')
  return Array.from(new Set([address, address.replaceAll('&', '&amp;'), bare, address.replace(/^https?:/, '')]))
}

/** Ignores a part of a longer address or word. */
function indexOfAddress(text: string, address: string): number | undefined {
  if (address === '') return undefined
  for (let at = text.indexOf(address); at !== -1; at = text.indexOf(address, at + 1)) {
    const [before, after] = [text.charAt(at - 1), text.charAt(at + address.length)]
    if (/["'(=\s]/.test(before) && /^(?:["')>\s,#]|$)/.test(after)) return at
  }
  return undefined
}

/** Such as `template.html:3:14`. */
export function placeAt(name: string, text: string, at: number): string {
  const before = text.slice(0, at)
  return `${name}:${before.split('\n').length}:${at - before.lastIndexOf('\n')}`
}

function lineOf(text: string, line: number): string | undefined {
  let start = 0
  for (let number = 1; number < line; number += 1) {
    start = text.indexOf('\n', start) + 1
    if (start === 0) return undefined
  }
  const end = text.indexOf('\n', start)
  return text.slice(start, end === -1 ? undefined : end)
}

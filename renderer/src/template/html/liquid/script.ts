/** Finds the outputs of a Liquid source inside of a `<script>`. Reads only the source: data cannot change the answer. Pure. */
import { type Template, TypeGuards } from 'liquidjs'
import { walkLiquid } from './walk.ts'

/** Returns outputs and tags within the code of a script. */
export function printedInScripts(templates: readonly Template[]): readonly Template[] {
  let text = ''
  const places: { readonly template: Template; readonly at: number }[] = []
  walkLiquid(templates, (template) => {
    const { token } = template
    if (TypeGuards.isHTMLToken(token)) text += token.getContent()
    else {
      places.push({ template, at: text.length })
      // A printed value is part of the name or value around it.
      if (TypeGuards.isOutputToken(token)) text += PRINTED
    }
    return undefined
  })
  const ranges = scriptRanges(text)
  return places
    .filter(({ at }) => ranges.some(([start, end]) => at >= start && at <= end))
    .map((place) => place.template)
}

const PRINTED = '\ufffc'

/** From the end of each start tag to its end tag, as in a browser. */
function scriptRanges(text: string): readonly (readonly [start: number, end: number])[] {
  const ranges: [number, number][] = []
  for (let at = text.indexOf('<'); at !== -1; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) {
      const close = text.indexOf('-->', at + 2)
      at = close === -1 ? text.length : close + 3
      continue
    }
    TAG_NAME.lastIndex = at
    const [opening = '<', name = ''] = TAG_NAME.exec(text) ?? []
    at = name === '' ? at + opening.length : endOfTag(text, at + opening.length)
    if (!isRawText(name)) continue
    const end = endOfElement(text, name, at)
    if (name.toLowerCase() === 'script') ranges.push([at, end])
    at = end
  }
  return ranges
}

// Each is linear in the length of the source.
const TAG_NAME = /<(\/?[a-z][^\s/>]*)/iy
const ATTRIBUTE = /[\s/]*[^\s/>][^\s/>=]*(?:\s*=\s*(?:"[^"]*(?:"|$)|'[^']*(?:'|$)|[^\s"'>][^\s>]*)?)?/y
const TAG_END = /[\s/]*>/y

function endOfTag(text: string, start: number): number {
  let at = start
  for (ATTRIBUTE.lastIndex = at; ATTRIBUTE.test(text); ATTRIBUTE.lastIndex = at) at = ATTRIBUTE.lastIndex
  TAG_END.lastIndex = at
  return TAG_END.test(text) ? TAG_END.lastIndex : text.length
}

/** Elements that contain no other elements, only text up to their end tag. The name of an end tag begins with a slash. */
function isRawText(name: string): boolean {
  return /^(?:script|style|textarea|title|xmp|iframe|noembed|noframes)$/i.test(name)
}

function endOfElement(text: string, name: string, start: number): number {
  const close = new RegExp(`</${name}(?=[\\s/>])`, 'gi')
  close.lastIndex = start
  return close.exec(text)?.index ?? text.length
}

/**
 * Finds tags of HTML that are not closed or close nothing, and collects styles. Elements with an optional end tag need none. Linear in the
 * length of the HTML, which is untrusted. Pure.
 */
import { SAXParser, type StartTag } from 'parse5-sax-parser'
import { type Blanked, overlaps } from './blank.ts'

/** `at` is an offset in the source or in the filled HTML. */
export interface Found {
  readonly at: number
  readonly message: string
}

export interface StyleText {
  readonly css: string
  readonly at: number
  /** Declarations without a selector, as in an attribute. */
  readonly isAttribute: boolean
}

export interface Markup {
  readonly faults: readonly Found[]
  /**
   * False if a branch of Liquid opens or closes an element outside of it. Then only the filled HTML can tell, and `faults` are meaningless.
   */
  readonly isBalanced: boolean
  readonly styles: readonly StyleText[]
  /** Lists of font families in attributes, such as `<font face>`. */
  readonly families: readonly StyleText[]
  readonly hasSheets: boolean
}

/** Far more than are shown, so further ones are not collected. */
const FAULTS_MAX = 100
const STYLES_MAX = 2000

/** Nested elements. Chromium stops at 512. */
const DEPTH_MAX = 1000

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const VOID = words(
  'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr',
)

/** End tags of these may be left out. */
const OPTIONAL = words(
  'body caption colgroup dd dt head html li optgroup option p rb rp rt rtc tbody td tfoot th thead tr',
)

/** An end tag within these closes nothing outside of them, except those of tables. */
const CELLS = words('caption td template th')
const TABLE = words('body caption html table tbody td tfoot th thead tr')

/** The start tag of a key closes these elements. */
const CLOSES: Readonly<Record<string, ReadonlySet<string>>> = {
  dd: words('dd dt'),
  dt: words('dd dt'),
  li: words('li'),
  optgroup: words('optgroup option'),
  option: words('option'),
  p: words('p'),
  tbody: words('tbody td tfoot th thead tr'),
  td: words('td th'),
  tfoot: words('tbody td tfoot th thead tr'),
  th: words('td th'),
  tr: words('td th tr'),
}

interface Open {
  readonly name: string
  readonly at: number
  /** It is part of a drawing, where `<a/>` is a complete element. */
  readonly isForeign: boolean
}

/** `liquid` is what was blanked in a source. */
export function readMarkup(html: string, liquid: Pick<Blanked, 'marks' | 'spans'> = NO_LIQUID): Markup {
  const styles: StyleText[] = []
  const families: StyleText[] = []
  const faults: Found[] = []
  const report = (at: number, message: string) => {
    if (faults.length < FAULTS_MAX) faults.push({ at, message })
  }
  const tags = openTags(report, liquid.marks)
  let [seen, hasSheets] = [0, false]
  /** The open style element. Its text may come in parts. */
  let sheet: { css: string; at: number; isAttribute: false } | undefined

  const parser = new SAXParser({ sourceCodeLocationInfo: true })
  parser.on('startTag', (tag) => {
    const { startOffset: at = 0, endOffset = 0 } = tag.sourceCodeLocation ?? {}
    seen = endOffset
    tags.start(tag, at)
    sheet = tag.tagName === 'style' && isForPrint(tag) ? { css: '', at: endOffset, isAttribute: false } : undefined
    if (sheet !== undefined && styles.length < STYLES_MAX) styles.push(sheet)
    hasSheets ||= tag.tagName === 'link' && /\bstylesheet\b/i.test(attributeOf(tag, 'rel') ?? '')
    if (tag.attrs.length === 0) return
    // Each branch of Liquid may write the same attribute.
    if (!overlaps(liquid.spans, at, endOffset))
      for (const message of misreadIn(tag, html.slice(at, endOffset))) report(at, message)
    const add = (list: StyleText[], name: string) => {
      const style = list.length < STYLES_MAX ? attributeText(tag, name, html) : undefined
      if (style !== undefined) list.push(style)
    }
    add(styles, 'style')
    add(families, tag.tagName === 'font' ? 'face' : 'font-family')
  })
  parser.on('endTag', ({ tagName, sourceCodeLocation }) => {
    const { startOffset = 0, endOffset = 0 } = sourceCodeLocation ?? {}
    seen = endOffset
    sheet = undefined
    tags.end(tagName, startOffset)
  })
  parser.on('text', ({ text, sourceCodeLocation }) => {
    seen = sourceCodeLocation?.endOffset ?? seen
    if (sheet !== undefined) sheet.css += text
  })
  parser.on('doctype', ({ sourceCodeLocation }) => {
    seen = sourceCodeLocation?.endOffset ?? seen
  })
  parser.on('comment', ({ sourceCodeLocation }) => {
    const { startOffset = 0, endOffset = 0 } = sourceCodeLocation ?? {}
    seen = endOffset
    const text = html.slice(startOffset, endOffset)
    if (endOffset >= html.length && text.startsWith('<!--') && !/--!?>$/.test(text))
      report(startOffset, 'this comment is not closed: --> is missing')
  })
  // Synchronous: all events come before it returns.
  parser.end(html)
  if (html.slice(seen).trim() !== '') report(html.indexOf('<', seen), 'this tag is not closed: > is missing')
  const isBalanced = tags.finish(html.length)
  return { faults, isBalanced, styles, families, hasSheets }
}

const NO_LIQUID: Pick<Blanked, 'marks' | 'spans'> = { marks: [], spans: [] }

function openTags(report: (at: number, message: string) => void, marks: Blanked['marks']) {
  const stack: Open[] = []
  const open = new Map<string, number>()
  const unclosed = new Map<string, number>()
  /** The heights of the stack where the open branches began. */
  const floors: number[] = []
  let [nextMark, isBalanced, isLost] = [0, true, false]
  const count = (counts: Map<string, number>, name: string, by: number) => {
    const sum = (counts.get(name) ?? 0) + by
    counts.set(name, sum)
    return sum
  }
  const pop = () => {
    const element = stack.pop()
    if (element !== undefined) count(open, element.name, -1)
    return element
  }
  const leave = (height: number) => {
    while (stack.length > height) {
      const element = pop()
      if (element !== undefined && !OPTIONAL.has(element.name)) isBalanced = false
      // The end tag may come after the branch.
      if (element !== undefined) count(unclosed, element.name, 1)
    }
  }
  const passMarks = (at: number) => {
    for (let mark = marks[nextMark]; mark !== undefined && mark.at < at; mark = marks[nextMark]) {
      nextMark += 1
      if (mark.kind !== 'begin') leave(floors.pop() ?? 0)
      if (mark.kind !== 'end') floors.push(stack.length)
    }
  }
  /** The height of the stack below this element, or undefined if it is not open. */
  const heightOf = (name: string): number | undefined => {
    if ((open.get(name) ?? 0) === 0) return undefined
    for (let height = stack.length - 1; height >= 0; height -= 1) {
      const outer = stack[height]?.name ?? ''
      if (outer === name) return height
      if (TABLE.has(name) ? outer === 'table' : CELLS.has(outer)) return undefined
    }
    return undefined
  }
  const close = (height: number, before: string) => {
    while (stack.length > height) {
      const element = pop()
      if (element === undefined || OPTIONAL.has(element.name)) continue
      count(unclosed, element.name, 1)
      report(element.at, `<${element.name}> is not closed${before}`)
    }
  }
  return {
    start({ tagName: name, selfClosing }: StartTag, at: number) {
      passMarks(at)
      const outer = stack.at(-1)
      const isInside = outer?.isForeign === true && !/^(?:foreignobject|desc|title)$/i.test(outer.name)
      const isForeign = isInside || name === 'svg' || name === 'math'
      if (isLost || (selfClosing && isForeign) || (VOID.has(name) && !isForeign)) return
      if (selfClosing) {
        report(at, `<${name}/> opens an element and does not close it: write <${name}></${name}>`)
        count(unclosed, name, 1)
        return
      }
      while (stack.length > (floors.at(-1) ?? 0) && CLOSES[name]?.has(stack.at(-1)?.name ?? '') === true) pop()
      isLost = stack.length >= DEPTH_MAX
      stack.push({ name, at, isForeign })
      count(open, name, 1)
    },
    end(name: string, at: number) {
      passMarks(at)
      if (isLost || VOID.has(name)) return
      const height = heightOf(name)
      const floor = floors.at(-1) ?? 0
      if (height !== undefined && height >= floor) {
        close(height + 1, ` before </${name}>`)
        pop()
      } else if (height !== undefined) isBalanced = false
      else if ((unclosed.get(name) ?? 0) > 0) count(unclosed, name, -1)
      else if (!OPTIONAL.has(name)) report(at, `</${name}> closes nothing: no <${name}> is open here`)
    },
    /** Returns whether every branch closes exactly what it opens. */
    finish(at: number): boolean {
      passMarks(at)
      if (!isLost) close(0, '')
      return isBalanced
    },
  }
}

function isForPrint(tag: StartTag): boolean {
  const media = attributeOf(tag, 'media') ?? ''
  const type = attributeOf(tag, 'type') ?? ''
  return (media === '' || /\b(?:print|all)\b/i.test(media)) && /^(?:|text\/css)$/i.test(type.trim())
}

function attributeOf({ attrs }: StartTag, name: string): string | undefined {
  return attrs.find((attribute) => attribute.name === name)?.value
}

type Place = Partial<Record<'startOffset' | 'endOffset', number>>

function attributeText(tag: StartTag, name: string, html: string): StyleText | undefined {
  const css = attributeOf(tag, name)
  // Its type lacks `attrs`.
  const location = tag.sourceCodeLocation as { readonly attrs?: Record<string, Place> } | null
  const { startOffset, endOffset } = location?.attrs?.[name] ?? {}
  if (css === undefined || startOffset === undefined) return undefined
  const [before = ''] = /^[^=]*=\s*["']?/.exec(html.slice(startOffset, endOffset)) ?? []
  return { css, at: startOffset + before.length, isAttribute: true }
}

/** Finds faults in the attributes of a tag. The parser returns only the first of two equal names. */
function* misreadIn({ tagName, attrs }: StartTag, text: string): Generator<string> {
  if (attrs.some(({ name }) => /["'<]/.test(name)))
    return yield `in this tag of <${tagName}> a > or a quote is missing, or there is one too many`
  const bare = text.replaceAll(/=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)/g, ' ')
  const names = Array.from(bare.matchAll(/\s([^\s/>=]+)/g), ([, name = '']) => name.toLowerCase())
  const twice = names.length > attrs.length ? names.find((name, index) => names.indexOf(name) !== index) : undefined
  if (twice !== undefined) yield `<${tagName}> has two attributes ${twice}: the second has no effect`
}

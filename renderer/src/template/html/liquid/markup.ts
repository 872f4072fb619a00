/**
 * HTML as a value of Liquid, as `Markup` is in Jinja. Every printed value is escaped, except HTML: the results of `escape`,
 * `newline_to_br`, `escape_once`, `strip_html` and `capture`, and a string in the template that is whole HTML (`"<br>"`). Filters keep
 * HTML: `{{ address | newline_to_br | append: name }}` escapes the name but not the `<br />`. So data never becomes markup, whatever the
 * order of filters, except by `raw`.
 *
 * Comparisons and filters such as `url_encode` and `json` get the text that a reader sees.
 */
import assert from 'node:assert/strict'
import {
  AssignTag,
  CaptureTag,
  type Comparable,
  type Context,
  CycleTag,
  Drop,
  EchoTag,
  type FilterImplOptions,
  type Liquid,
  filters as liquidFilters,
  Output,
  type Template,
  TypeGuards,
  toValue,
} from 'liquidjs'
import { printedInScripts } from './script.ts'
import { walkLiquid } from './walk.ts'

type FilterHandler = Extract<FilterImplOptions, (...args: never[]) => unknown>
type FilterImpl = ThisParameterType<FilterHandler>

/** Has every method that Liquid calls on a string. */
class Markup {
  readonly html: string
  /** What `raw` prints: Liquid's own result of the same filters, without automatic escaping. For JSON, a form that is safe in a script. */
  readonly raw: string
  readonly isJson: boolean

  constructor(html: string, raw = html, isJson = false) {
    this.html = html
    this.raw = raw
    this.isJson = isJson
  }

  get size(): number {
    return this.toString().length
  }

  toString(): string {
    return this.html.replace(ESCAPED, (reference) => PLAIN[reference] ?? reference)
  }

  toJSON(): string {
    return this.toString()
  }

  indexOf(part: unknown): number {
    return this.toString().indexOf(String(part))
  }

  equals(other: unknown): unknown {
    // That is `blank`, `empty` or `nil`.
    if (other instanceof Drop && isComparable(other)) return other.equals(this.toString())
    return this.toString() === (other instanceof Markup ? other.toString() : other)
  }

  gt(other: unknown): boolean {
    return this.toString() > toValue(other)
  }

  geq(other: unknown): boolean {
    return this.toString() >= toValue(other)
  }

  lt(other: unknown): boolean {
    return this.toString() < toValue(other)
  }

  leq(other: unknown): boolean {
    return this.toString() <= toValue(other)
  }

  /** A loop over a string has one turn. */
  *[Symbol.iterator](): Generator<Markup> {
    yield this
  }
}

function isComparable(value: object): value is Pick<Comparable, 'equals'> {
  return 'equals' in value && typeof value['equals'] === 'function'
}

const SPECIAL: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&#34;', "'": '&#39;' }
const PLAIN: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(SPECIAL).map(([character, reference]) => [reference, character]),
)
const ESCAPED = /&(?:amp|lt|gt|#34|#39);/g

// All expressions here are linear in the length of the HTML, which is untrusted.
const REFERENCE = String.raw`&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});`
const VALUE = String.raw`"[^"]*"|'[^']*'|[^\s"'=<>` + '`]+'
const TAG = String.raw`<(/?)([a-z][a-z\d-]*)(?:\s+[^\s"'<>=/]+(?:\s*=\s*(?:${VALUE}))?)*\s*/?>`
const TOKEN = new RegExp(`${TAG}|${REFERENCE}|[<>"'&]`, 'gi')
const BARE = new RegExp(`[<>"']|&(?!${REFERENCE.slice(1)})`, 'gi')

/** An empty result is a string, so that `default` and `if … == ""` recognise it. */
function markupOf(html: string, raw = html): Markup | '' {
  return html === '' && raw === '' ? '' : new Markup(html, raw)
}

/** Leaves character references as they are. */
function escapeBare(html: string): string {
  return html.replace(BARE, (character) => SPECIAL[character] ?? character)
}

/** Replaces HTML by the text that a reader sees. */
function withoutMarkup(value: unknown): unknown {
  return eachMarkup(value, String)
}

function hasMarkup(value: unknown): boolean {
  return value instanceof Markup || (Array.isArray(value) && value.some(hasMarkup))
}

function eachMarkup(value: unknown, act: (markup: Markup) => unknown): unknown {
  if (value instanceof Markup) return act(value)
  return Array.isArray(value) && hasMarkup(value) ? value.map((item: unknown) => eachMarkup(item, act)) : value
}

export interface MarkupSupport {
  /** Replaces the filters and the tag of `liquid` that give or keep HTML. Call it after all others are registered. */
  readonly register: (liquid: Liquid) => void
  /** Changes a parsed source: strings that are whole HTML become HTML, and JSON in scripts is printed as code. */
  readonly prepare: (templates: readonly Template[]) => void
  /** Liquid's option `outputEscape`. */
  readonly print: (this: FilterImpl, value: unknown) => string
}

export function openMarkup(): MarkupSupport {
  const printedAsCode = new WeakSet<object>()
  return {
    register(liquid) {
      for (const [name, filter] of Object.entries(liquid.filters))
        if (filter !== undefined) liquid.registerFilter(name, withMarkup(name, filter))
      liquid.registerTag('capture', MarkupCaptureTag)
    },
    prepare(templates) {
      trustTexts(templates)
      for (const template of printedInScripts(templates)) {
        const filter = template instanceof Output ? template.value.filters.at(-1) : undefined
        // Private in Liquid's types, but the only link between a running filter and its place.
        printedAsCode.add(filter?.['token'] ?? template.token)
      }
    },
    print(value) {
      return printed(this, value, printedAsCode.has(this.token))
    },
  }
}

function printed(impl: FilterImpl, value: unknown, isCode: boolean): string {
  if (value instanceof Markup) return isCode && value.isJson ? value.raw : value.html
  if (hasMarkup(value) && Array.isArray(value)) return value.map((item) => printed(impl, item, isCode)).join('')
  return escaped(impl, value)
}

/** Captured text was already escaped when it was printed. */
class MarkupCaptureTag extends CaptureTag {
  override *render(context: Context): Generator<unknown, void, string> {
    yield* super.render(context)
    const scope = context.bottom()
    scope[this.variable] = markupOf(String(scope[this.variable]))
  }
}

/** These return one or all of their values unchanged. */
const OF_ITEMS = new Set(
  'default first last reverse compact concat push unshift pop shift map where reject where_exp reject_exp group_by group_by_exp find find_exp find_index find_index_exp has has_exp sort sort_natural sum'.split(
    ' ',
  ),
)
/** These lose only blanks, and keep the order of the text. */
const KEEPING = new Set(
  'append prepend join array_to_sentence_string strip lstrip rstrip strip_newlines squish normalize_whitespace'.split(
    ' ',
  ),
)
/** These change case, cut or replace. */
const CUTTING = new Set(
  'upcase downcase capitalize truncate truncatewords slice split replace replace_first replace_last remove remove_first remove_last hyphenate date'.split(
    ' ',
  ),
)
const SEARCHING = /^(?:split|replace|remove)/

function withMarkup(name: string, filter: FilterImplOptions): FilterImplOptions {
  if (name === 'raw') return { raw: true, handler: (value: unknown) => eachMarkup(value, ({ raw }) => raw) }
  const handler = typeof filter === 'function' ? filter : filter.handler
  const own = GIVING[name]
  if (own !== undefined)
    return function (value: unknown, ...args: unknown[]) {
      return own(this, { handler, value, args })
    }
  if (OF_ITEMS.has(name)) return handler
  const act = KEEPING.has(name) || CUTTING.has(name) ? actOnText : actOnPlain
  return function (value: unknown, ...args: unknown[]) {
    if (!hasMarkup(value) && !hasMarkup(args)) return handler.call(this, value, ...args)
    return act(this, { name, handler, value, args })
  }
}

interface Call {
  readonly handler: FilterHandler
  readonly value: unknown
  readonly args: readonly unknown[]
}

/** These return HTML. `raw` after them prints Liquid's own result. */
const GIVING: Readonly<Record<string, (impl: FilterImpl, call: Call) => unknown>> = {
  escape: (impl, call) => given(impl, call, (html) => escapeBare(html)),
  xml_escape: (impl, call) => given(impl, call, (html) => escapeBare(html)),
  escape_once: (impl, call) => given(impl, { ...call, isHtml: true }, (html) => escapeBare(html)),
  newline_to_br: (impl, call) => given(impl, call, (html) => html.replace(/\r?\n/g, '<br />\n')),
  strip_html: (impl, call) =>
    given(impl, { ...call, isHtml: true }, (html) => escapeBare(String(call.handler.call(impl, html)))),
  json,
  jsonify: json,
  inspect: json,
  uniq(impl, { handler, value }) {
    if (!Array.isArray(value) || !hasMarkup(value)) return handler.call(impl, value)
    const seen = new Set<unknown>()
    return value.filter((item: unknown) => {
      const key = withoutMarkup(item)
      return !seen.has(key) && seen.add(key)
    })
  },
}

interface Giving extends Call {
  /** The filter reads strings of the data as HTML. */
  readonly isHtml?: boolean
}

function given(impl: FilterImpl, { handler, value, isHtml = false }: Giving, act: (html: string) => string): unknown {
  const raw: unknown = handler.call(
    impl,
    eachMarkup(value, (markup) => markup.raw),
  )
  const markup = value instanceof Markup ? value : new Markup(escaped(impl, withoutMarkup(value)))
  return markupOf(act(isHtml && markup !== value ? String(markup) : markup.html), String(raw))
}

/** In a script the result is code without characters that could end the script, a comment or the string around it. */
function json(impl: FilterImpl, { handler, value, args: [space] }: Call): unknown {
  const isBlank = typeof space === 'number' || (typeof space === 'string' && space.trim() === '')
  const text: unknown = handler.call(impl, value, ...(isBlank ? [space] : []))
  const { input, end } = impl.token
  if (typeof text !== 'string') return THEN_DEFAULT.test(input.slice(end, end + DEFAULT_CHARS)) ? text : JSON_NULL
  const code = text.replace(
    UNSAFE_IN_CODE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return new Markup(escaped(impl, text), code, true)
}

// In JSON, these occur only inside strings.
const UNSAFE_IN_CODE = /[<>&'`$\u2028\u2029]/g
const JSON_NULL = new Markup('null', 'null', true)
const THEN_DEFAULT = /^\s*\|\s*default\b/
const DEFAULT_CHARS = 40

function escaped(impl: FilterImpl, value: unknown): string {
  return String(ESCAPE.call(impl, value))
}

const ESCAPE = handlerOf(liquidFilters['escape'])

function handlerOf(filter: FilterImplOptions | undefined): FilterHandler {
  assert(filter !== undefined, 'Liquid has the filter')
  return typeof filter === 'function' ? filter : filter.handler
}

interface NamedCall extends Call {
  readonly name: string
}

/** The filter gets plain text. If the value was HTML, the result is escaped again. */
function actOnPlain(impl: FilterImpl, { handler, value, args }: NamedCall): unknown {
  const result: unknown = handler.call(impl, withoutMarkup(value), ...args.map(withoutMarkup))
  const escapeAgain = (item: unknown): unknown => {
    if (Array.isArray(item)) return item.map(escapeAgain)
    return typeof item === 'string' ? markupOf(escaped(impl, item)) : item
  }
  return hasMarkup(value) ? escapeAgain(result) : result
}

/**
 * The filter gets the text with one character in place of each tag, so it cannot cut a tag in two. Then the remaining tags return, and
 * everything else is escaped.
 */
function actOnText(impl: FilterImpl, { name, handler, value, args }: NamedCall): unknown {
  const isCutting = CUTTING.has(name) || (name.endsWith('strip') && args.length > 0)
  const isMarked = hasMarkup(value)
  const stand = standIns([value, ...args])
  const hide = (item: unknown) => eachMarkup(item, ({ html }) => hideTags(html, isCutting, stand))
  const shown = args.map((arg, index) =>
    index === 0 && SEARCHING.test(name) && !isMarked ? withoutMarkup(arg) : hide(arg),
  )
  const rawOf = (item: unknown) => eachMarkup(item, ({ raw }) => raw)
  const result: unknown = handler.call(impl, hide(value), ...shown)
  const raw: unknown = handler.call(impl, rawOf(value), ...args.map(rawOf))
  const give = (text: unknown, plain: unknown): unknown => {
    if (Array.isArray(text)) {
      const plains = Array.isArray(plain) && plain.length === text.length ? plain : []
      return text.map((item, index) => give(item, plains[index]))
    }
    if (typeof text !== 'string' || !(isMarked || stand.isIn(text))) return text
    const html = text.replace(STANDING, (character) => stand.htmlOf(character) ?? SPECIAL[character] ?? character)
    return markupOf(html, typeof plain === 'string' ? plain : html)
  }
  return give(result, raw)
}

// Characters without a meaning, in no script.
const STAND_INS = '\ufdd0-\ufdef\ue000-\uf8ff'
const STANDS = new RegExp(`[${STAND_INS}]`, 'g')
const STANDING = new RegExp(`[&<>"'${STAND_INS}]`, 'g')
const STAND_IN_RANGES = [
  [0xfdd0, 0xfdef],
  [0xe000, 0xf8ff],
] as const

interface StandIns {
  /** Undefined if no character is left. */
  readonly charFor: (html: string) => string | undefined
  readonly htmlOf: (character: string) => string | undefined
  readonly isIn: (text: string) => boolean
}

/** Gives each piece of HTML a character that none of `values` contains. */
function standIns(values: readonly unknown[]): StandIns {
  const used = new Set<string>()
  const collect = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) collect(item)
    const text = value instanceof Markup ? value.html : typeof value === 'string' ? value : ''
    for (const [character] of text.matchAll(STANDS)) used.add(character)
  }
  collect(values)
  const free = freeStandIns(used)
  const [chars, htmls] = [new Map<string, string>(), new Map<string, string>()]
  return {
    charFor(html) {
      const known = chars.get(html)
      if (known !== undefined) return known
      const next = free.next()
      if (next.done === true) return undefined
      chars.set(html, next.value)
      htmls.set(next.value, html)
      return next.value
    },
    htmlOf: (character) => htmls.get(character),
    isIn: (text) => htmls.size > 0 && (text.match(STANDS) ?? []).some((character) => htmls.has(character)),
  }
}

function* freeStandIns(used: ReadonlySet<string>): Generator<string, undefined> {
  for (const [first, last] of STAND_IN_RANGES) {
    for (let code = first; code <= last; code += 1) {
      const character = String.fromCharCode(code)
      if (!used.has(character)) yield character
    }
  }
  return undefined
}

/** For a filter that may cut, hides only whole tags, and none of an element that contains code: half of it would swallow what follows. */
function hideTags(html: string, isCutting: boolean, stand: StandIns): string {
  return html.replace(TOKEN, (token, _slash: unknown, element?: string) => {
    const plain = PLAIN[token]
    if (plain !== undefined) return plain
    if (isCutting && (token.length === 1 || (element !== undefined && OF_CODE.test(element)))) return token
    return stand.charFor(token) ?? token
  })
}

const OF_CODE = /^(?:script|style|textarea|title|xmp|iframe|noembed|noframes|noscript|plaintext|template|svg|math)$/i

/** Strings in a source that are whole HTML are trusted, like the HTML around them. */
function trustTexts(templates: readonly Template[]): void {
  walkLiquid(templates, (template) => {
    const isPrinted = [Output, EchoTag, AssignTag, CycleTag].some((kind) => template instanceof kind)
    for (const argument of isPrinted ? (template.arguments?.() ?? []) : []) {
      if (!('filters' in argument)) continue
      const args = argument.filters.flatMap((filter) => filter.args.flat())
      for (const token of [...argument.initial.postfix, ...args]) {
        if (typeof token !== 'object' || !TypeGuards.isQuotedToken(token)) continue
        const html = wholeHtml(token.content)
        // Liquid reads the value of a string from here, and accepts any type.
        if (html !== undefined) Object.assign(token, { content: new Markup(html, token.content) })
      }
    }
    return undefined
  })
}

/** Returns HTML if the text has a tag or a character reference, and closes all that it opens. Undefined otherwise. */
function wholeHtml(text: string): string | undefined {
  const open: string[] = []
  let isHtml = false
  let isWhole = true
  const html = text.replace(TOKEN, (token, slash?: string, element?: string) => {
    if (token.length === 1) {
      isWhole &&= token !== '<'
      return SPECIAL[token] ?? token
    }
    isHtml = true
    const name = element?.toLowerCase()
    if (name === undefined) return token
    if (slash === '/') isWhole &&= open.pop() === name
    else if (!VOID.test(name)) open.push(name)
    return token
  })
  return isHtml && isWhole && open.length === 0 ? html : undefined
}

const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/

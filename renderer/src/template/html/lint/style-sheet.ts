/**
 * Reads CSS: what Chromium must be asked about, what it does not do on paper, and the font families. A parser gives the structure. Whether a
 * property, a value or a selector counts, Chromium knows best. Pasted frameworks are written for all browsers: what only others know, and
 * what has a fallback, is nothing to tell. Pure.
 */
import type { Atrule, Block, CssNode, Declaration } from 'css-tree'
import parse from 'css-tree/parser'
import { replacePageSizes } from '../page-css.ts'
import { replaceTargetPages } from '../target-counter.ts'
import type { Found, StyleText } from './markup.ts'

/** Where a style is: a declaration in a rule, in `@page` or `@font-face`, a selector, a rule in a rule, an at-rule, a box of `@page`, other text. */
export type AskedKind = 'declaration' | 'page' | 'face' | 'selector' | 'nested' | 'rule' | 'box' | 'text'

/** A style that has an effect if Chromium knows one of its values. */
interface Asked {
  readonly kind: AskedKind
  /** The property, or the name of the at-rule. '' if it has none. */
  readonly name: string
  /** Those of a property in one rule: authors write fallbacks. */
  readonly values: readonly string[]
  /** The first of its places. */
  readonly at: number
  times: number
}

/** A list of families, of which the first that is there is taken. */
export interface FamilyList {
  readonly names: readonly string[]
  readonly at: number
}

export interface ReadStyles {
  readonly asked: readonly Asked[]
  readonly faults: readonly Found[]
  readonly families: readonly FamilyList[]
  /** The families of its `@font-face` rules. */
  readonly faces: readonly string[]
  readonly hasImports: boolean
  /** Where Liquid writes a part of a property, by its name. */
  readonly dynamic: ReadonlyMap<string, number>
}

interface StyleContext {
  /** Lists of font families in attributes. */
  readonly families: readonly StyleText[]
  /** Whether Liquid wrote a part of what is between two places. */
  readonly isDynamic: (begin: number, end: number) => boolean
  /** Whether it is the document, and not its header or footer. */
  readonly isDocument: boolean
}

const FAULTS_MAX = 100
const VALUE_CHARS_MAX = 500
/** Of all questions about one source. A framework has half as many. */
const ASKED_CHARS_MAX = 256 * 1024
/** Rules within each other that are read, and those of a style sheet that is read at all. */
const DEPTH_MAX = 32
const PARSED_DEPTH_MAX = 200

export function readStyles(styles: readonly StyleText[], context: StyleContext): ReadStyles {
  const { isDynamic, isDocument } = context
  const asked = new Map<string, Asked>()
  const faults: Found[] = []
  const families: FamilyList[] = []
  const faces: string[] = []
  const dynamic = new Map<string, number>()
  const hasOwnPages = styles.some(({ css }) => OWN_PAGES.test(css))
  let [base, chars, depth, hasImports] = [0, 0, 0, false]

  const placeOf = ({ loc }: CssNode) => ({ at: base + (loc?.start.offset ?? 0), end: base + (loc?.end.offset ?? 0) })
  /** Tells what a node is about, if its text is that of the source. */
  const isGiven = (node: CssNode, name: string): boolean => {
    const { at, end } = placeOf(node)
    if (!isDynamic(at, end)) return true
    if (!dynamic.has(name)) dynamic.set(name, at)
    return false
  }
  const ask = (
    node: CssNode,
    { kind, name, values }: Pick<Asked, 'kind' | 'name' | 'values'>,
    { at } = placeOf(node),
  ) => {
    if (!isGiven(node, name) || values.some(({ length }) => length > VALUE_CHARS_MAX)) return
    const key = JSON.stringify([kind, name, values])
    const known = asked.get(key)
    if (known !== undefined) known.times += 1
    else if (chars + key.length <= ASKED_CHARS_MAX) {
      chars += key.length
      asked.set(key, { kind, name, values, at, times: 1 })
    }
  }
  const report = (node: CssNode, message: string) => {
    if (faults.length < FAULTS_MAX) faults.push({ at: placeOf(node).at, message })
  }

  function readBlock({ children }: Pick<Block, 'children'>, kind: AskedKind, isInBox = false): void {
    if (depth >= DEPTH_MAX) return
    depth += 1
    const nodes = children.toArray()
    readDeclarations(
      nodes.filter((node) => node.type === 'Declaration'),
      kind,
      isInBox,
    )
    for (const node of nodes) readRule(node, kind)
    depth -= 1
  }

  function readRule(node: CssNode, within?: AskedKind): void {
    if (node.type === 'Raw' && !/^[;\s]*$/.test(node.value))
      ask(node, { kind: 'text', name: '', values: [node.value.trim()] })
    if (node.type === 'Atrule') readAtrule(node, within)
    if (node.type !== 'Rule') return
    const prelude = node.prelude.type === 'Raw' ? node.prelude.value.trim() : ''
    if (VENDOR_SELECTOR.test(prelude)) return
    if (!/^[.#]?[a-z][\w-]*$/i.test(prelude))
      ask(node.prelude, { kind: within === undefined ? 'selector' : 'nested', name: '', values: [prelude] })
    readBlock(node.block, 'declaration')
  }

  function readAtrule(node: Atrule, within: AskedKind | undefined): void {
    const name = node.name.toLowerCase()
    const prelude = node.prelude?.type === 'Raw' ? node.prelude.value.trim() : ''
    if (name === 'import') hasImports = true
    if (name.startsWith('-') || LEFT_ALONE.has(name)) return
    if (within === 'page') ask(node, { kind: 'box', name, values: [''] })
    else if (name === 'page' ? prelude !== '' : !GROUPS.has(name) && name !== 'font-face')
      ask(
        node.prelude ?? node,
        { kind: 'rule', name, values: [`${prelude}${node.block === null ? ';' : '{}'}`] },
        placeOf(node),
      )
    if (node.block === null) return
    if (within === 'page') readBlock(node.block, 'declaration', true)
    else if (name === 'page') readBlock(node.block, 'page', true)
    else if (name === 'font-face') readBlock(node.block, 'face')
    else if (GROUPS.has(name) && (name !== 'media' || isForPaper(prelude))) readGroup(node.block, within)
  }

  function readGroup(block: Block, within: AskedKind | undefined): void {
    if (within !== undefined) return readBlock(block, within)
    if (depth >= DEPTH_MAX) return
    depth += 1
    for (const node of block.children) readRule(node)
    depth -= 1
  }

  function readDeclarations(nodes: readonly Declaration[], kind: AskedKind, isInBox: boolean): void {
    const prefixed = new Set(nodes.flatMap(({ property }) => /^-[a-z]+-(.+)/i.exec(property)?.[1]?.toLowerCase() ?? []))
    for (const [name, same] of Map.groupBy(nodes, ({ property }) => property.toLowerCase())) {
      if (!/^[a-z$@]/.test(name) || name.startsWith('mso-') || OTHER_BROWSERS.has(name) || prefixed.has(name)) continue
      const values = same.map((node) => (node.value.type === 'Raw' ? node.value.value.trim() : ''))
      const [node] = same
      if (node === undefined || !same.every((each) => isGiven(each, name))) continue
      if (kind !== 'face') readFamilies(name, values, node)
      else if (name === 'font-family') faces.push(...values.flatMap(namesIn))
      const unprinted = unprintedOf(name, values.at(-1) ?? '', isInBox || hasOwnPages)
      if (unprinted !== undefined) report(node, unprinted)
      const isForAll =
        same.every(({ important }) => typeof important === 'boolean') && !values.some((value) => HACK.test(value))
      if (isForAll) ask(node, { kind, name, values: values.map((value) => plainValue(name, value, isDocument)) })
    }
  }

  function readFamilies(name: string, values: readonly string[], node: CssNode): void {
    const value = values.at(-1) ?? ''
    if (value.length > VALUE_CHARS_MAX) return
    const list = name === 'font-family' ? value : name === 'font' ? SHORTHAND.exec(value)?.[1] : undefined
    if (list !== undefined) families.push({ names: namesIn(list), at: placeOf(node).at })
  }

  for (const { css, at, isAttribute } of styles) {
    base = at
    const root = parsed(css, isAttribute)
    if (root?.type === 'DeclarationList') readBlock(root, 'declaration')
    if (root?.type !== 'StyleSheet') continue
    for (const node of root.children) {
      readRule(node)
      const block = node.type === 'Rule' || node.type === 'Atrule' ? node.block : null
      if (block !== null && css.charAt((block.loc?.end.offset ?? 0) - 1) !== '}')
        report(node, 'this rule is not closed: } is missing, so the rules after it count only within it')
    }
  }
  base = 0
  for (const { css, at } of context.families)
    if (css.length <= VALUE_CHARS_MAX && !isDynamic(at, at + css.length)) families.push({ names: namesIn(css), at })
  return { asked: [...asked.values()], faults, families, faces, hasImports, dynamic }
}

/** The parser calls itself for each rule within another, and begins again where its stack ends. */
function parsed(css: string, isAttribute: boolean): CssNode | undefined {
  let depth = 0
  for (const [brace] of css.matchAll(/[{}]/g)) {
    depth = Math.max(0, depth + (brace === '{' ? 1 : -1))
    if (depth > PARSED_DEPTH_MAX) return undefined
  }
  return parse(css, {
    context: isAttribute ? 'declarationList' : 'stylesheet',
    positions: true,
    parseValue: false,
    parseRulePrelude: false,
    parseAtrulePrelude: false,
  })
}

/** The counters that Chromium fills in the boxes of a page, where a document counts something else by these names. */
const OWN_PAGES = /counter-(?:reset|increment|set)\s*:[^;}]*\bpages?\b/i

/** What only other browsers know. Their rules do nothing here, and need not. */
const VENDOR_SELECTOR = /:-(?:moz|ms|o|khtml|webkit)-/i
const HACK = /(?:^|[\s,(:])-(?:moz|ms|o|webkit|khtml)-|\\[09]|progid:|expression\(|^alpha\(/i
const OTHER_BROWSERS = new Set([
  'behavior',
  'color-adjust',
  'ime-mode',
  'scrollbar-face-color',
  'speak-as',
  'font-smoothing',
  'osx-font-smoothing',
])

/** At-rules around other rules. */
const GROUPS = new Set(['container', 'layer', 'media', 'scope', 'starting-style'])

/** Nothing moves on paper, `supports` asks by itself, and the others have no declarations of text. */
const LEFT_ALONE = new Set(
  'charset counter-style font-feature-values font-palette-values function import keyframes namespace position-try property supports view-transition'.split(
    ' ',
  ),
)

function isForPaper(media: string): boolean {
  return (
    !/-(?:webkit|ms|moz)-|\bnot\s+(?:print|all)\b/i.test(media) &&
    (/\b(?:print|all)\b/i.test(media) || !/\b(?:screen|speech|tv|handheld)\b/i.test(media))
  )
}

/** The families of a `font`, after its size. */
const SHORTHAND =
  /(?:^|\s)(?:[\d.]+(?:[a-z]+|%)|(?:xx?-|xxx-)?(?:small|large)|medium|smaller|larger|calc\([^()]*\))(?:\s*\/\s*[^\s,/]+)?\s+([^/]+)$/i

function namesIn(list: string): readonly string[] {
  return Array.from(list.matchAll(/"([^"]*)"|'([^']*)'|([^\s,][^,]*)/g), ([, double, single, bare = '']) =>
    (double ?? single ?? bare).trim().replaceAll(/\s+/g, ' '),
  )
}

const SIDES = /^(?:left|right|recto|verso)\b/i
const SIDES_OF_OLD = /^(?:left|right)\b/i

/** What Chromium knows and does not do on paper. */
function unprintedOf(name: string, value: string, hasPages: boolean): string | undefined {
  const sides = /^break-(?:before|after)$/.test(name)
    ? SIDES
    : name.startsWith('page-break-')
      ? SIDES_OF_OLD
      : undefined
  const [side] = sides?.exec(value) ?? []
  if (side !== undefined) return `${name}: ${side}: Chromium breaks to the next page, on whichever side it is`
  if (name === 'hyphens' && /^auto\b/i.test(value))
    return 'hyphens: auto: Chromium has no dictionaries here: use the filter hyphenate'
  const [counter] = /\bcounters?\(\s*pages?\b/i.exec(value) ?? []
  if (name !== 'content' || counter === undefined || hasPages) return undefined
  return `${counter.replaceAll(/\s/g, '')}) is 0 here: Chromium counts pages in the boxes of @page, such as @bottom-right, and in header and footer`
}

/** A value as Chromium is asked of it: with what Platen understands, and without what is only long. */
function plainValue(name: string, value: string, isDocument: boolean): string {
  if (name === 'size') return replacePageSizes(`{size:${value}}`).slice('{size:'.length, -1)
  const known = name === 'content' && isDocument ? replaceTargetPages(value) : value
  return known.length > VALUE_CHARS_MAX ? known.replaceAll(/\burl\([^()]*\)/gi, 'url(x)') : known
}

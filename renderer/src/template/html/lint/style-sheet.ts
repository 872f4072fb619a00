/**
 * Reads CSS: questions for Chromium, what it does not do on paper, and the font families. The parser only gives the structure. Chromium
 * knows best which property, value or selector has an effect. Pasted frameworks are written for all browsers, so what only other browsers
 * know, and what has a fallback, is not reported. Pure.
 */
import type { Atrule, Block, CssNode, Declaration } from 'css-tree'
import parse from 'css-tree/parser'
import { replacePageSizes } from '../page-css.ts'
import { replaceTargetPages } from '../target-counter.ts'
import type { Found, StyleText } from './markup.ts'

/**
 * A declaration in a rule, in `@page` or in `@font-face`, a selector, the selector of a nested rule, an at-rule, a box of `@page`, or other
 * text.
 */
export type AskedKind = 'declaration' | 'page' | 'face' | 'selector' | 'nested' | 'rule' | 'box' | 'text'

/** A style that has an effect if Chromium knows one of its values. */
interface Asked {
  readonly kind: AskedKind
  /** The property, or the name of the at-rule. '' if it has none. */
  readonly name: string
  /** All values of a property in one rule, because authors write fallbacks. */
  readonly values: readonly string[]
  readonly at: number
  times: number
}

/** The browser takes the first family that exists. */
export interface FamilyList {
  readonly names: readonly string[]
  readonly at: number
}

export interface ReadStyles {
  readonly asked: readonly Asked[]
  readonly faults: readonly Found[]
  readonly families: readonly FamilyList[]
  readonly faces: readonly string[]
  readonly hasImports: boolean
  /** By property that Liquid writes a part of: its first place. */
  readonly dynamic: ReadonlyMap<string, number>
}

interface StyleContext {
  readonly families: readonly StyleText[]
  /** Liquid writes a part of the text between two places. */
  readonly isDynamic: (begin: number, end: number) => boolean
  /** False for header and footer. */
  readonly isDocument: boolean
}

const FAULTS_MAX = 100
const VALUE_CHARS_MAX = 500
/** Limits all questions about one source. A framework has half as many. */
const ASKED_CHARS_MAX = 256 * 1024
/** Deeper rules are not read, and a style sheet with rules deeper than `PARSED_DEPTH_MAX` not at all. */
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
  /** False if Liquid writes a part of the node. Then notes its place in `dynamic`. */
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

/** The parser recurses for each nested rule, and begins again where its stack ends. */
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

/** A document that uses the names of Chromium's page counters for counters of its own. */
const OWN_PAGES = /counter-(?:reset|increment|set)\s*:[^;}]*\bpages?\b/i

/** What only other browsers know. It has no effect here, and needs none. */
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

const GROUPS = new Set(['container', 'layer', 'media', 'scope', 'starting-style'])

/** Not checked: nothing moves on paper, `supports` asks the browser itself, and the others do not style text. */
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

/** The families of a `font` follow its size. */
const SHORTHAND =
  /(?:^|\s)(?:[\d.]+(?:[a-z]+|%)|(?:xx?-|xxx-)?(?:small|large)|medium|smaller|larger|calc\([^()]*\))(?:\s*\/\s*[^\s,/]+)?\s+([^/]+)$/i

function namesIn(list: string): readonly string[] {
  return Array.from(list.matchAll(/"([^"]*)"|'([^']*)'|([^\s,][^,]*)/g), ([, double, single, bare = '']) =>
    (double ?? single ?? bare).trim().replaceAll(/\s+/g, ' '),
  )
}

const SIDES = /^(?:left|right|recto|verso)\b/i
const SIDES_OF_OLD = /^(?:left|right)\b/i

/** For what Chromium accepts but does not do on paper. */
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

/** The value for a question to Chromium: Platen's own syntax is replaced, and long URLs are shortened. */
function plainValue(name: string, value: string, isDocument: boolean): string {
  if (name === 'size') return replacePageSizes(`{size:${value}}`).slice('{size:'.length, -1)
  const known = name === 'content' && isDocument ? replaceTargetPages(value) : value
  return known.length > VALUE_CHARS_MAX ? known.replaceAll(/\burl\([^()]*\)/gi, 'url(x)') : known
}

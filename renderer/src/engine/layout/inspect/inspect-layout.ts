/** Finds what is known about a document only after its layout: what cannot be drawn, and what would look wrong. */
import type { Warning } from '@platen/contract/domain/warning.ts'
import { absentValue } from '../../../template/absent-value.ts'
import { type GlyphSource, isVisible, missingGlyphs } from '../../../template/asset/glyph.ts'
import { PAGE_GROUP_MARK, SOURCE_LINE } from '../../../template/element/pagination/page-layout.ts'
import type { ElementPosition, Program } from '../../../template/tsx/transpile.ts'
import type { FontStore } from '../font-store.ts'
import { isOpaque, isOpaqueImage } from './color.ts'
import type { LayoutNode } from './layout-node.ts'
import { overflowOf, squashedBlock } from './overflow.ts'
import { type Mark, overlaps } from './overlap.ts'
import { intersection, type Rectangle } from './rectangle.ts'
import { wronglyUnder } from './stacking.ts'
import { pageSurroundings, type Surroundings, sourceOf, surroundingsOf } from './surroundings.ts'
import { inkedLines, isCutOff, lettersIn, quoted } from './text-ink.ts'
import { openWarningList, placeOf, type Spot, type WarningList } from './warning-list.ts'

/**
 * Comparisons of things on a page, and of letters in them, per document. An ordinary page needs some ten for each line. Without this limit,
 * thousands of texts at the same place would take minutes.
 */
const COMPARISONS_MAX = 2_000_000

export interface InspectedLayout {
  readonly warnings: readonly Warning[]
  /** Digests of images that react-pdf could not read. It leaves a gap for them. */
  readonly unreadableImages: readonly string[]
}

interface InspectionTools {
  readonly fonts: GlyphSource
  readonly missing: FontStore['missing']
  readonly find?: Program['find']
  readonly isLiteral: (text: string) => boolean
}

export function inspectLayout(layout: LayoutNode, tools: InspectionTools): InspectedLayout {
  const list = openWarningList(tools.find)
  const lacking: Lacking = { characters: [] }
  const budget = { comparisons: COMPARISONS_MAX }
  const inspection: Inspection = {
    ...tools,
    list,
    lacking,
    unreadableImages: [],
    budget,
    targets: new Set(),
    links: [],
  }
  const pages = layout.children ?? []
  for (const [at, page] of pages.entries()) {
    inspectPage(page, at + 1, inspection)
    const source = needlessBreak(page, pages[at + 1])
    if (source !== undefined)
      list.add(
        'page_blank',
        { page: at + 1, source },
        () => `page ${at + 1} is blank, because break is on the first element`,
      )
  }
  for (const { target, spot } of inspection.links) {
    if (inspection.targets.has(target)) continue
    list.add('link_broken', spot, () => `no element has the id ${quoted(target)} that a link leads to`)
  }
  const missing = missingGlyphs(lacking.characters, tools.fonts)
  const place = lacking.first === undefined ? {} : { place: placeOf(lacking.first, tools.find) }
  return {
    warnings: [...(missing === undefined ? [] : [{ ...missing, ...place }]), ...list.warnings()],
    unreadableImages: inspection.unreadableImages,
  }
}

/** The element whose break left the page before it without content. */
function needlessBreak(page: LayoutNode, next: LayoutNode | undefined): ElementPosition | undefined {
  const contentOf = ({ children }: LayoutNode) =>
    (children ?? []).filter(({ props }) => props?.['fixed'] !== true && props?.[SOURCE_LINE] !== undefined)
  if (next === undefined || next.props?.[PAGE_GROUP_MARK] !== page.props?.[PAGE_GROUP_MARK]) return undefined
  const [first] = contentOf(next)
  const isBroken = first?.props !== undefined && 'break' in first.props
  return isBroken && contentOf(page).length === 0 ? sourceOf(first) : undefined
}

interface Inspection extends InspectionTools {
  readonly list: WarningList
  readonly lacking: Lacking
  readonly unreadableImages: string[]
  readonly targets: Set<string>
  readonly links: { readonly target: string; readonly spot: Spot }[]
  readonly budget: { comparisons: number }
}

interface Lacking {
  /** Characters that no font has, in document order, each as often as it is drawn. */
  readonly characters: string[]
  first?: Spot
}

interface PageInspection extends Inspection {
  readonly page: number
  readonly paper: Rectangle
  readonly marks: Mark[]
  readonly squashed: Set<LayoutNode>
}

function inspectPage(page: LayoutNode, number: number, inspection: Inspection): void {
  const around = pageSurroundings(page)
  const marks: Mark[] = []
  const pageInspection = { ...inspection, page: number, paper: around.box, marks, squashed: new Set<LayoutNode>() }
  inspectStacking(page, around, pageInspection)
  inspectLink(page, around, pageInspection)
  for (const child of page.children ?? []) inspectBox(child, around, pageInspection)
  for (const { under, over } of overlaps(marks, inspection.budget)) {
    inspection.list.add('text_overlap', over.spot, () => {
      const covering = over.kind === 'text' ? quoted(lettersIn(over.owner)) : COVERS[over.kind]
      return `${covering} is drawn over ${quoted(lettersIn(under.owner))} on page ${number}`
    })
  }
}

const COVERS = { box: 'a box with a background', image: 'an image' } as const

function inspectBox(node: LayoutNode, parent: Surroundings, inspection: PageInspection): void {
  const { type = '', image, props, children } = node
  const around = surroundingsOf(node, parent)
  if (IMAGES.includes(type) && image === undefined)
    inspection.unreadableImages.push(String((props?.['src'] as ImageProps | undefined)?.data))
  inspectLink(node, around, inspection)
  inspectCover(node, around, inspection)
  if (type === 'TEXT') inspectText(node, around, inspection)
  if (!LETTERS.includes(type)) inspectStacking(node, around, inspection)
  const inspectChild = LETTERS.includes(type) ? inspectLetters : inspectBox
  for (const child of children ?? []) inspectChild(child, around, inspection)
}

const IMAGES = ['IMAGE', 'IMAGE_BACKGROUND']

function inspectStacking({ children }: LayoutNode, around: Surroundings, inspection: PageInspection): void {
  const { list, page, budget } = inspection
  for (const child of wronglyUnder(children ?? [], budget)) {
    const source = surroundingsOf(child, around).source
    const position = source === undefined ? undefined : { ...source, prop: 'style' }
    list.add('style_ignored', { page, source: position }, () => {
      return `the style zIndex puts nothing above: react-pdf draws what has a higher one first, so a sibling covers it on page ${page}; write it after what it should cover, without zIndex`
    })
  }
}

const LETTERS = ['TEXT', 'SVG', 'NOTE']

/** What `element/image.ts` returns for an address. */
interface ImageProps {
  readonly data?: unknown
}

function inspectLetters(node: LayoutNode, around: Surroundings, inspection: PageInspection): void {
  const { type = '', image, props, value, children } = node
  if (IMAGES.includes(type) && image === undefined)
    inspection.unreadableImages.push(String((props?.['src'] as ImageProps | undefined)?.data))
  inspectLink(node, around, inspection)
  if (value !== undefined) inspectValue(value, around, inspection)
  inspectGlyphs(node, around, inspection)
  for (const child of children ?? []) inspectLetters(child, around, inspection)
}

function inspectValue(value: string, { source }: Surroundings, { list, page, isLiteral }: PageInspection): void {
  const name = absentValue(value, isLiteral)
  if (name === undefined) return
  const where = value.trim() === name ? '' : ` in ${quoted(value)}`
  list.add('variable_absent', { page, source }, () => `${name} is printed${where} on page ${page}`)
}

function inspectGlyphs({ lines }: LayoutNode, { source }: Surroundings, inspection: PageInspection): void {
  const { lacking, missing, page } = inspection
  for (const { runs = [] } of lines ?? []) {
    for (const { attributes, glyphs = [] } of runs) {
      const font = attributes?.font?.[0]
      for (const glyph of glyphs) {
        const character = missing(font, glyph)
        if (character === undefined) continue
        lacking.characters.push(character)
        if (isVisible(character)) lacking.first ??= { page, source }
      }
    }
  }
}

function inspectLink({ props }: LayoutNode, { source }: Surroundings, inspection: PageInspection): void {
  const { targets, links, page } = inspection
  const { id, src, href } = props ?? {}
  if (typeof id === 'string') targets.add(id)
  const link = src ?? href
  const target = typeof link === 'string' ? /^#(.+)$/s.exec(link)?.[1] : undefined
  if (target !== undefined) links.push({ target, spot: { page, source } })
}

function inspectCover(
  { type = '', style, image }: LayoutNode,
  around: Surroundings,
  { marks, page }: PageInspection,
): void {
  if (around.isTransformed || around.isTransparent) return
  const hasPixels = IMAGES.includes(type) && isOpaqueImage(image) && FILLING.includes(style?.['objectFit'])
  const kind = hasPixels ? 'image' : isOpaque(style?.['backgroundColor']) ? 'box' : undefined
  const core = kind && intersection(around.box, around.clip)
  if (kind && core) marks.push({ kind, core, spot: { page, source: around.source } })
}

const FILLING: readonly unknown[] = [undefined, 'fill', 'cover']

/** Adds at most one warning for each text. */
function inspectText(node: LayoutNode, around: Surroundings, inspection: PageInspection): void {
  inspectGlyphs(node, around, inspection)
  if (around.isTransformed) return
  const { list, page, paper, marks, squashed } = inspection
  const spot = { page, source: around.source }
  const block = squashedBlock(node, around, paper)
  if (block !== undefined) {
    if (squashed.has(block.node)) return
    squashed.add(block.node)
    return list.add('block_squashed', { page, source: block.source }, () => {
      const text = quoted(lettersIn(node))
      return `a block that must not break is higher than page ${page}, so it was pressed together, for example ${text}`
    })
  }
  // An author who clips a box does not miss what is outside of it.
  if (around.clip === undefined && isCutOff(node))
    return list.add('text_overflow', spot, () => {
      return `the end of ${quoted(lettersIn(node))} on page ${page} is cut off, because its box is too low`
    })
  const lines = inkedLines(node, around)
  for (const line of lines) {
    const overflow = overflowOf(line, around, paper)
    if (overflow === undefined) continue
    const length = Math.ceil(overflow.length)
    return list.add('text_overflow', spot, () => {
      return `${quoted(lettersIn(node))} is ${length} pt outside ${overflow.of} on page ${page}`
    })
  }
  if (!around.isTransparent) for (const line of lines) marks.push({ ...line, kind: 'text', owner: node, spot })
}

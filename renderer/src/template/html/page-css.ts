/** Turns page options into CSS that overrides the source's own `@page`. Pure. */
import {
  type Orientation,
  type PageSize,
  pointsOf,
  type RenderOptions,
  type Sides,
} from '@platen/contract/domain/render-options.ts'
import { marginFault } from '../page-margins.ts'
import { withStyles } from './style-element.ts'

interface Size {
  /** In points. */
  readonly width: number
  readonly height: number
}

const MM = 72 / 25.4

/** Portrait. CSS has the same names, except for `NOT_IN_CSS`. */
const SIZES = {
  A3: { width: 297 * MM, height: 420 * MM },
  A4: { width: 210 * MM, height: 297 * MM },
  A5: { width: 148 * MM, height: 210 * MM },
  A6: { width: 105 * MM, height: 148 * MM },
  LETTER: { width: 612, height: 792 },
  LEGAL: { width: 612, height: 1008 },
  TABLOID: { width: 792, height: 1224 },
} as const satisfies Record<Extract<PageSize, string>, Size>

/** Width and height of CSS's named pages, in CSS pixels, portrait. */
export const CSS_PAGES: Readonly<Record<string, readonly [number, number]>> = {
  ...Object.fromEntries(
    Object.entries(SIZES).map(([name, { width, height }]) => [name.toLowerCase(), [(width * 4) / 3, (height * 4) / 3]]),
  ),
  ledger: [11 * 96, 17 * 96],
  b5: [(176 * 96) / 25.4, (250 * 96) / 25.4],
  b4: [(250 * 96) / 25.4, (353 * 96) / 25.4],
  'jis-b5': [(182 * 96) / 25.4, (257 * 96) / 25.4],
  'jis-b4': [(257 * 96) / 25.4, (364 * 96) / 25.4],
}

/** CSS has no A6, and calls a tabloid `ledger`. */
const NOT_IN_CSS =
  /([{;\s/]size\s{0,9}:)\s{0,9}(?:(?:portrait|landscape)\s{1,9})?(A6|TABLOID)(?:\s{1,9}(?:portrait|landscape))?(?=\s{0,9}(?:[;}!]|$))/gi

/** Makes sizes that only the options know usable in `@page`. Undefined if nothing changes. */
export function withPageSizes(html: string): string | undefined {
  return html.search(NOT_IN_CSS) === -1 ? undefined : withStyles(html, replacePageSizes)
}

export function replacePageSizes(css: string): string {
  return css.replaceAll(NOT_IN_CSS, (found: string, property: string, name: string) => {
    const size = SIZES[name.toUpperCase() === 'A6' ? 'A6' : 'TABLOID']
    const { width, height } = /landscape/i.test(found) ? turned(size, 'landscape') : size
    return `${property}${points(width)} ${points(height)}`
  })
}

/** Page and margins if neither options nor source set them: A4 portrait with 1 cm on each side, in inches for Chromium. */
export const PAGE_DEFAULT = {
  paperWidth: inchesOf(SIZES.A4.width),
  paperHeight: inchesOf(SIZES.A4.height),
  marginTop: 1 / 2.54,
  marginRight: 1 / 2.54,
  marginBottom: 1 / 2.54,
  marginLeft: 1 / 2.54,
}

/** In whole points. Chromium rounds lengths of `@page` to these, but rounds this one up: A4 would be a point wider than `size: A4`. */
function inchesOf(points: number): number {
  return Math.round(points) / 72
}

/** The document's own settings as CSS. '' if it has none. */
export interface SourcePage {
  readonly size: string
  readonly left: string
  readonly right: string
}

/** The document's own settings are needed to apply partial options, or to place a header and footer. */
export function needsSourcePage({ page_size, orientation, margin }: RenderOptions, hasEdges: boolean): boolean {
  const sides = typeof margin === 'object' ? [margin.left, margin.right] : [margin]
  const needsSides = hasEdges && sides.includes(undefined)
  return needsSides || (page_size === undefined && (orientation !== undefined || margin !== undefined))
}

/** As CSS: from the options, else from the document, else the default. */
export function sideMargins({ margin }: RenderOptions, source?: SourcePage): { left: string; right: string } {
  const given = typeof margin === 'object' ? margin : { left: margin, right: margin }
  const sideOf = (side: 'left' | 'right') => {
    const length = given[side]
    if (length !== undefined) return points(pointsOf(length))
    // Other CSS values, such as `auto` or a percentage, have no meaning in another document.
    return /^[\d.]+[a-z]{2}$/.exec(source?.[side] ?? '')?.[0] ?? '1cm'
  }
  return { left: sideOf('left'), right: sideOf('right') }
}

/** Says why the margins of the options leave no space. Undefined if they leave space. A side that the source decides counts as 0. */
export function marginFaultOf(options: RenderOptions, sourceSize?: string): string | undefined {
  const { margin } = options
  if (margin === undefined) return undefined
  const on = (side: keyof Sides) => pointsOf((typeof margin === 'object' ? margin[side] : margin) ?? 0)
  const sides = { top: on('top'), right: on('right'), bottom: on('bottom'), left: on('left') }
  return marginFault(sizeOf(options, sourceSize), sides)
}

/** For the time before the document is loaded. If the source sets the size, only Chromium knows it. */
export function earlyMarginFaultOf(options: RenderOptions): string | undefined {
  return options.page_size === undefined ? undefined : marginFaultOf(options)
}

/**
 * Returns '' if the options say nothing about the page. The rules are `!important` and name the pseudo-classes of pages, so that they
 * override the source's rules. What they do not set stays as in the source. `sourceSize` is the source's own `size` as CSS.
 */
export function pageRules(options: RenderOptions, sourceSize?: string): string {
  const declarations = [...sizeRule(options, sourceSize), ...marginsOf(options.margin)]
  if (declarations.length === 0) return ''
  const block = `{${declarations.map((declaration) => `${declaration} !important`).join(';')}}`
  return ['', ' :blank', ' :left', ' :right', ' :first'].map((page) => `@page${page}${block}`).join('')
}

function sizeRule(options: RenderOptions, sourceSize: string | undefined): string[] {
  if (options.page_size === undefined && options.orientation === undefined) return []
  const { width, height } = sizeOf(options, sourceSize)
  return [`size:${points(width)} ${points(height)}`]
}

function sizeOf({ page_size, orientation }: RenderOptions, sourceSize: string | undefined): Size {
  const size = page_size === undefined ? parseSize(sourceSize ?? '') : namedSize(page_size)
  // A width and height given as numbers stay as they are, unless the orientation is given too.
  return orientation === undefined ? size : turned(size, orientation)
}

function namedSize(size: PageSize): Size {
  return typeof size === 'string' ? SIZES[size] : size
}

function turned({ width, height }: Size, orientation: Orientation): Size {
  const [short, long] = [Math.min(width, height), Math.max(width, height)]
  return orientation === 'portrait' ? { width: short, height: long } : { width: long, height: short }
}

/** The `size` of an `@page` rule. A4 if it has none, as with `auto`. */
function parseSize(css: string): Size {
  const words = css.toUpperCase().split(/\s+/)
  const size = parseSides(words)
  return words.includes('LANDSCAPE') ? turned(size, 'landscape') : size
}

function parseSides(words: readonly string[]): Size {
  const name = words.find((word): word is keyof typeof SIZES => Object.hasOwn(SIZES, word))
  if (name !== undefined) return SIZES[name]
  if (words.includes('LEDGER')) return SIZES.TABLOID
  const lengths = words
    .filter((word) => /^[\d.]+(PT|PX|MM|CM|IN)$/.test(word))
    .map((word) => pointsOf(word.toLowerCase()))
  const [width, height = width] = lengths
  return width === undefined || height === undefined ? SIZES.A4 : { width, height }
}

function marginsOf(margin: RenderOptions['margin']): string[] {
  if (margin === undefined) return []
  if (typeof margin !== 'object') return [`margin:${points(pointsOf(margin))}`]
  return SIDES.flatMap((side) => {
    const length = margin[side]
    return length === undefined ? [] : [`margin-${side}:${points(pointsOf(length))}`]
  })
}

const SIDES = ['top', 'right', 'bottom', 'left'] as const satisfies readonly (keyof Sides)[]

function points(length: number): string {
  return `${Number(length.toFixed(4))}pt`
}

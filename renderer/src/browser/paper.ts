/** The page a document is printed on: what the options say, as CSS that beats the source's own `@page`. Pure. */
import type { Orientation, PageSize, RenderOptions, Sides } from '@platen/contract/render.ts'
import { pointsOf } from '@platen/contract/schema/length.ts'

interface Size {
  /** Points. */
  readonly width: number
  readonly height: number
}

const MM = 72 / 25.4

/** Portrait. CSS knows them by the same names, TABLOID as `ledger` turned. */
const SIZES = {
  A3: { width: 297 * MM, height: 420 * MM },
  A4: { width: 210 * MM, height: 297 * MM },
  A5: { width: 148 * MM, height: 210 * MM },
  A6: { width: 105 * MM, height: 148 * MM },
  LETTER: { width: 612, height: 792 },
  LEGAL: { width: 612, height: 1008 },
  TABLOID: { width: 792, height: 1224 },
} as const satisfies Record<Extract<PageSize, string>, Size>

/** Page and margins where neither options nor source say anything, in inches as Chromium takes them: A4 upright, 1 cm all round. */
export const PAPER_DEFAULT = {
  paperWidth: SIZES.A4.width / 72,
  paperHeight: SIZES.A4.height / 72,
  marginTop: 1 / 2.54,
  marginRight: 1 / 2.54,
  marginBottom: 1 / 2.54,
  marginLeft: 1 / 2.54,
}

/** Do the options turn a page whose size they leave to the source? Then `pageRules` needs to know that size. */
export function turnsSourcePage({ page_size, orientation }: RenderOptions): boolean {
  return page_size === undefined && orientation !== undefined
}

/**
 * The `@page` rules that put the options into force, or '' where these say nothing of the page. They are `!important` and
 * name the pseudo-classes of pages, so that they beat the source's own rules; what they leave out stays the source's.
 * `sourceSize` is the source's own `size` as CSS has it.
 */
export function pageRules(options: RenderOptions, sourceSize?: string): string {
  const declarations = [...sizeOf(options, sourceSize), ...marginsOf(options.margin)]
  if (declarations.length === 0) return ''
  const block = `{${declarations.map((declaration) => `${declaration} !important`).join(';')}}`
  return ['', ' :blank', ' :left', ' :right', ' :first'].map((page) => `@page${page}${block}`).join('')
}

function sizeOf({ page_size, orientation }: RenderOptions, sourceSize: string | undefined): string[] {
  if (page_size === undefined && orientation === undefined) return []
  const size = page_size === undefined ? parseSize(sourceSize ?? '') : named(page_size)
  // A width and height given as numbers are meant as they are, unless the orientation is given too.
  const { width, height } = orientation === undefined ? size : turn(size, orientation)
  return [`size:${points(width)} ${points(height)}`]
}

function named(size: PageSize): Size {
  return typeof size === 'string' ? SIZES[size] : size
}

function turn({ width, height }: Size, orientation: Orientation): Size {
  const [short, long] = [Math.min(width, height), Math.max(width, height)]
  return orientation === 'portrait' ? { width: short, height: long } : { width: long, height: short }
}

/** The size of an `@page` rule; A4 for what says none, such as `auto` or `landscape`. */
function parseSize(css: string): Size {
  const words = css.toUpperCase().split(/\s+/)
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

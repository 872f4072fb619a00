/** Adds options, metadata and defaults to a template's own document and pages. Pure. */
import { ServiceError } from '@platen/contract/domain/error.ts'
import { PAGE_SIDE_PT_MAX, PAGE_SIDE_PT_MIN } from '@platen/contract/domain/limit.ts'
import { pointsOf, type RenderOptions, type Sides } from '@platen/contract/domain/render-options.ts'
import type { TemplateSource } from '@platen/contract/domain/tenant.ts'
import { marginFault } from '../page-margins.ts'
import type { Faults, Props } from './prop.ts'

/** The author's metadata wins, except for creator and producer. Template and version are always in the keywords. */
export function documentProps(
  own: Props,
  template: Pick<TemplateSource, 'code' | 'name' | 'version' | 'locale'>,
): Props {
  const words = [`template:${template.code}`, `version:${template.version}`]
  return {
    title: own['title'] ?? template.name,
    language: own['language'] ?? template.locale,
    keywords: (typeof own['keywords'] === 'string' ? [own['keywords'], ...words] : words).join(', '),
    creator: 'Platen',
    producer: 'Platen',
  }
}

interface PageSettings {
  readonly options: RenderOptions
  readonly family: readonly string[]
  readonly faults: Faults
}

/**
 * The render's options override the author's props, and the default font is added. Throws an error of `faults` for a wrong size, and
 * `invalid_options` if the margins of the options leave no space.
 */
export function pageProps(own: Props, { options, family, faults }: PageSettings): Props {
  // `propValue` has flattened the style.
  const style = { fontFamily: family, ...(own['style'] as Props | undefined) }
  const format = formatOf(own, options)
  const size = sizeOf({ ...own, ...format })
  const padding = paddingOf(options.margin)
  const fault = sizeFault(size)
  if (fault !== undefined) throw faults(fault)
  const unfit = padding === undefined ? undefined : marginFault(size, padding)
  if (unfit !== undefined) throw new ServiceError('invalid_options', faults(unfit).message)
  return {
    ...format,
    style: padding === undefined ? style : withPadding(style, padding),
  }
}

/** For a landscape page, react-pdf swaps the sides, whichever is longer. So we order sides of known lengths here. */
function formatOf(own: Props, { page_size: size, orientation }: RenderOptions): Props {
  const turned = orientation ?? own['orientation'] ?? 'portrait'
  if (typeof size === 'string') return { size, orientation: turned }
  if (size !== undefined && orientation === undefined)
    return { size: [size.width, size.height], orientation: 'portrait' }
  const sides = size === undefined ? sidesOf(own) : size
  if (sides?.height === undefined || orientation === undefined) return { orientation: turned }
  const [short, long] = [Math.min(sides.width, sides.height), Math.max(sides.width, sides.height)]
  return { size: orientation === 'portrait' ? [short, long] : [long, short], orientation: 'portrait' }
}

/** Lengths with a unit can only be checked here, because they depend on the page. */
function sizeFault({ width, height }: { width: number; height: number }): string | undefined {
  const isSide = (side: number) => side >= PAGE_SIDE_PT_MIN && (side <= PAGE_SIDE_PT_MAX || side === GROWING)
  if (isSide(width) && isSide(height)) return undefined
  return `each side of a page must be from ${PAGE_SIDE_PT_MIN} to ${PAGE_SIDE_PT_MAX} points`
}

/** The page is as high as its content. Of such pages, the fast pagination knows only those that do not wrap. */
export function isGrowing(props: Props): boolean {
  return sizeOf(props).height === GROWING
}

const GROWING = Number.POSITIVE_INFINITY

/** In points, as react-pdf computes them. */
function sizeOf(props: Props): { width: number; height: number } {
  const { width, height } = sidesOf(props) ?? namedSize(typeof props['size'] === 'string' ? props['size'] : 'A4')
  const upright = { width, height: height ?? GROWING }
  return props['orientation'] === 'landscape' ? { width: upright.height, height: upright.width } : upright
}

/** In points. Undefined for a named size. */
function sidesOf({ size, dpi }: Props): { width: number; height?: number } | undefined {
  if (typeof size !== 'object' || size === null) return undefined
  // `propValue` turns every size into a name, two sides, or an object of them.
  const [width = 0, height] = Object.values(size as Record<string, number | string>).map((side) => lengthOf(side, dpi))
  return { width, ...(height !== undefined && { height }) }
}

/** As react-pdf does: a number means points, and a pixel depends on the page. */
function lengthOf(side: number | string, dpi: unknown): number {
  if (typeof side === 'number') return side
  const number = Number.parseFloat(side)
  if (side.endsWith('px')) return Math.round((number * 72) / (typeof dpi === 'number' && dpi !== 0 ? dpi : 72))
  return /[a-z]$/.test(side) ? pointsOf(side) : number
}

const INCH = 25.4
/** The largest size of each series, in millimetres. Each next size halves the long side. */
const SERIES: Readonly<Record<string, readonly [number, number]>> = {
  A: [841, 1189],
  B: [1000, 1414],
  C: [917, 1297],
  RA: [860, 1220],
  SRA: [900, 1280],
}
const OTHER_SIZES: Readonly<Record<string, readonly [number, number]>> = {
  '4A0': [1682, 2378],
  '2A0': [1189, 1682],
  ID1: [54, 85.7],
  EXECUTIVE: [7.25 * INCH, 10.5 * INCH],
  FOLIO: [8.5 * INCH, 13 * INCH],
  LEGAL: [8.5 * INCH, 14 * INCH],
  LETTER: [8.5 * INCH, 11 * INCH],
  TABLOID: [11 * INCH, 17 * INCH],
}

/** In portrait and in points, exact to a millimetre, which is enough to check margins. */
function namedSize(name: string): { width: number; height: number } {
  const [, series = '', number = '0'] = /^([A-Z]+)(\d+)$/.exec(name.toUpperCase()) ?? []
  let [short, long] = OTHER_SIZES[name.toUpperCase()] ?? SERIES[series] ?? [210, 297]
  if (Object.hasOwn(SERIES, series)) {
    for (let step = 0; step < Number(number); step += 1) [short, long] = [Math.floor(long / 2), short]
  }
  return { width: (short * 72) / INCH, height: (long * 72) / INCH }
}

const SIDE_PADDINGS = {
  top: 'paddingTop',
  right: 'paddingRight',
  bottom: 'paddingBottom',
  left: 'paddingLeft',
} as const

type Padding = Readonly<Partial<Record<keyof typeof SIDE_PADDINGS, number>>>

function paddingOf(margin: RenderOptions['margin']): Padding | undefined {
  if (margin === undefined) return undefined
  const sides: Sides =
    typeof margin === 'object' ? margin : { top: margin, right: margin, bottom: margin, left: margin }
  const padding: { -readonly [Side in keyof Padding]: number } = {}
  for (const side of ['top', 'right', 'bottom', 'left'] as const) {
    const length = sides[side]
    if (length !== undefined) padding[side] = pointsOf(length)
  }
  return padding
}

function withPadding(style: Props, padding: Padding): Props {
  const padded = { ...style }
  for (const side of ['top', 'right', 'bottom', 'left'] as const) {
    if (padding[side] === undefined) continue
    const name = SIDE_PADDINGS[side]
    // Of `padding` and `paddingTop`, react-pdf uses the one that comes last.
    delete padded[name]
    padded[name] = padding[side]
  }
  return padded
}

/** What the service lays over a template's own document and pages: options, metadata, defaults. Pure. */
import type { RenderOptions, Sides } from '@platen/contract/render.ts'
import { pointsOf } from '@platen/contract/schema/length.ts'
import type { TemplateSource } from '@platen/contract/tenant.ts'
import { withFallback } from '../asset/fonts.ts'
import type { Props } from './prop.ts'

/** Equal input gives equal bytes, so no document knows when it was made. */
const MADE_AT = new Date(Date.UTC(2000, 0, 1))

/** Metadata of the document: the author's where given; template and version always, among the keywords. */
export function documentProps(own: Props, template: Pick<TemplateSource, 'code' | 'name' | 'version'>): Props {
  const words = [`template:${template.code}`, `version:${template.version}`]
  return {
    title: own['title'] ?? template.name,
    keywords: (typeof own['keywords'] === 'string' ? [own['keywords'], ...words] : words).join(', '),
    creator: 'Platen',
    producer: 'Platen',
    creationDate: MADE_AT,
    modificationDate: MADE_AT,
  }
}

/** Props of a page: the options of the render over the author's own, and the default font where the author names none. */
export function pageProps(own: Props, options: RenderOptions): Props {
  // `propValue` makes every style a flat record.
  const style = { fontFamily: withFallback([]), ...(own['style'] as Props | undefined) }
  return {
    // Packs pages from one measurement, where the default lays the rest of the document out again for every page.
    experimentalPagination: true,
    ...formatOf(own, options),
    style: options.margin === undefined ? style : withPadding(style, options.margin),
  }
}

/** react-pdf turns a landscape page by swapping its sides, whatever they are; sides asked for in numbers are put in order here instead. */
function formatOf(own: Props, { page_size: size, orientation }: RenderOptions): Props {
  const turned = orientation ?? own['orientation'] ?? 'portrait'
  if (typeof size === 'string') return { size, orientation: turned }
  const sides = size === undefined ? sidesOf(own['size']) : [size.width, size.height]
  if (sides === undefined || (size === undefined && orientation === undefined)) return { orientation: turned }
  const [short, long] = [Math.min(...sides), Math.max(...sides)]
  if (orientation === undefined) return { size: sides, orientation: 'portrait' }
  return { size: orientation === 'portrait' ? [short, long] : [long, short], orientation: 'portrait' }
}

/** Both sides of a page size given in points, else undefined. */
function sidesOf(size: unknown): readonly number[] | undefined {
  const sides: readonly unknown[] = typeof size === 'object' && size !== null ? Object.values(size) : []
  const points = sides.filter((side) => typeof side === 'number')
  return points.length === 2 ? points : undefined
}

const SIDE_PADDINGS = {
  top: 'paddingTop',
  right: 'paddingRight',
  bottom: 'paddingBottom',
  left: 'paddingLeft',
} as const

function withPadding(style: Props, margin: NonNullable<RenderOptions['margin']>): Props {
  const sides: Sides =
    typeof margin === 'object' ? margin : { top: margin, right: margin, bottom: margin, left: margin }
  const padded = { ...style }
  for (const side of ['top', 'right', 'bottom', 'left'] as const) {
    const length = sides[side]
    if (length === undefined) continue
    const name = SIDE_PADDINGS[side]
    // Of `padding` and `paddingTop` react-pdf takes the one that stands last.
    delete padded[name]
    padded[name] = pointsOf(length)
  }
  return padded
}

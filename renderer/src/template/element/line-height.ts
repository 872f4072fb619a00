/**
 * react-pdf multiplies a line height without a unit by the font size again each time it lays a page out. Text it has set keeps its
 * lines, but what a `render` function makes later inherits what has become of it: lines as high as the page. So such text is
 * given the height its author meant. Pure.
 */
import { pointsOf } from '@platen/contract/schema/length.ts'
import type { Props } from './prop.ts'

/** What react-pdf takes a style without a font size to mean. */
const FONT_SIZE_PT = 18

/** The line height a style sets, with a unit; none where it sets none, or in a unit of the page's. */
export function lineHeightOf(style: Props): string | undefined {
  const height = textOf(style['lineHeight']).trim()
  const [, factor, percent] = /^(\d*\.?\d+)(%?)$/.exec(height) ?? []
  if (factor === undefined) return height === '' ? undefined : height
  const size = sizeOf(style['fontSize'])
  return size === undefined ? undefined : `${(Number(factor) * size) / (percent === '%' ? 100 : 1)}pt`
}

function sizeOf(fontSize: unknown): number | undefined {
  if (fontSize === undefined) return FONT_SIZE_PT
  const [, size, unit] = /^(\d*\.?\d+)(pt|mm|cm|in)?$/.exec(textOf(fontSize)) ?? []
  return size === undefined ? undefined : pointsOf(`${size}${unit ?? 'pt'}`)
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}

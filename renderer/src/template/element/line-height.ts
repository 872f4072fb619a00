/**
 * Works around a defect of react-pdf: it multiplies a line height without a unit by the font size again in each layout of a page. Text that
 * is already laid out keeps its lines. But the result of a `render` function comes later and inherits the wrong value: lines as high as the
 * page. So we give it a line height with a unit. Pure.
 */
import { pointsOf } from '@platen/contract/domain/render-options.ts'
import type { Props } from './prop.ts'

/** react-pdf's default font size. */
const FONT_SIZE_PT = 18

/** The result has a unit. Undefined if the style sets no line height, or if the unit of its font size depends on the page. */
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

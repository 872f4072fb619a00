/**
 * Draws charts from rows of data: bars and lines over categories, and pies. d3 makes scales and curves. It has a hundred modules, so it is
 * loaded with the first chart.
 */
import { createRequire } from 'node:module'
import { isJsonObject, type Json } from '@platen/lib/brand.ts'
import type { ScaleLinear } from 'd3-scale'
import type { DefaultArcObject } from 'd3-shape'
import { type Figure, FigureFault, numberOf, type Properties, rounded, type Shape } from './figure.ts'

const TYPES = ['bar', 'line', 'pie'] as const

/** More categories than a reader can tell apart, even on a large page. */
const ROWS_MAX = 1_000
const SERIES_MAX = 10
const NAME_CHARS_MAX = 100

export const CHART_PROPERTIES: ReadonlySet<string> = new Set(
  'type data x y colors color currency digits legend fontSize width height'.split(' '),
)

/** Distinct in print, and for most colour-blind people. */
const COLORS = [
  '#3366a8',
  '#e08a1e',
  '#4d9a6a',
  '#c0504d',
  '#7a5fa0',
  '#8c6d46',
  '#d47fa6',
  '#7f7f7f',
  '#b5ae2c',
  '#3aa5b5',
]
const INK = '#444444'
const GRID = '#d9dde1'

/** Draws the rows in `data`. Formats numbers for `locale`. Throws `FigureFault` for data that cannot be drawn. */
export function chart(properties: Properties, locale: string | undefined): Figure {
  const type = properties.choice('type', TYPES)
  if (type === undefined) throw new FigureFault(`type is missing; it must be one of ${TYPES.join(', ')}`)
  const [width, height] = [properties.length('width') ?? 400, properties.length('height') ?? 240]
  const rows = rowsOf(properties)
  const frame: Frame = {
    width,
    height,
    size: properties.number('fontSize', [1, 100]) ?? 9,
    ink: properties.color('color') ?? INK,
    colors: colorsOf(properties),
    format: formatOf(properties, locale),
    percent: percentOf(locale),
  }
  const hasLegend = properties.flag('legend') ?? (type === 'pie' || rows.series.length > 1)
  const shapes = type === 'pie' ? pieShapes(rows, frame, hasLegend) : axesShapes(rows, frame, { type, hasLegend })
  return { width, height, printed: { width, height }, label: `${type} chart`, shapes }
}

interface Frame {
  readonly width: number
  readonly height: number
  /** Font size. */
  readonly size: number
  readonly ink: string
  readonly colors: readonly string[]
  readonly format: (value: number) => string
  /** `part` is a fraction of 1. */
  readonly percent: (part: number) => string
}

/** Where a value is undefined, a line has a gap, and a bar is missing. */
interface Series {
  readonly name: string
  readonly values: readonly (number | undefined)[]
}

interface Rows {
  readonly names: readonly string[]
  readonly series: readonly Series[]
}

function rowsOf(properties: Properties): Rows {
  const data = properties.raw('data')
  if (!Array.isArray(data) || data.length > ROWS_MAX)
    throw new FigureFault(`data must be a list of at most ${ROWS_MAX} objects`)
  const x = properties.text('x', NAME_CHARS_MAX) ?? 'label'
  const y = properties.list('y', SERIES_MAX) ?? ['value']
  const rows: readonly Json[] = data
  return {
    names: rows.map((row, index) => nameOf(fieldOf(row, x, index), { field: x, index })),
    series: y.map((field) => ({
      name: field,
      values: rows.map((row, index) => valueOf(fieldOf(row, field, index), { field, index })),
    })),
  }
}

interface Place {
  readonly field: string
  readonly index: number
}

function fieldOf(row: Json, field: string, index: number): Json | undefined {
  if (!isJsonObject(row)) throw new FigureFault(`data[${index}] must be an object`)
  return Object.hasOwn(row, field) ? row[field] : undefined
}

function nameOf(value: Json | undefined, { field, index }: Place): string {
  if (value === undefined || value === null) return ''
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new FigureFault(`data[${index}].${field} must be a text`)
  const name = String(value)
  return name.length > NAME_CHARS_MAX ? `${name.slice(0, NAME_CHARS_MAX)}…` : name
}

/** Beyond this, sums and scales lose digits. */
const VALUE_MAX = 1e15

function valueOf(value: Json | undefined, { field, index }: Place): number | undefined {
  if (value === undefined || value === null) return undefined
  const number = numberOf(value)
  if (number === undefined || Math.abs(number) > VALUE_MAX)
    throw new FigureFault(`data[${index}].${field} must be a number`)
  return number
}

function colorsOf(properties: Properties): readonly string[] {
  const named = properties.list('colors', SERIES_MAX) ?? []
  if (named.length === 0) return COLORS
  const isColor = (color: string) => /^(?:#[\da-f]{3,8}|[a-z]{1,30})$/i.test(color)
  if (!named.every(isColor)) throw new FigureFault('colors must be colours such as #1a2b3c')
  return named
}

function formatOf(properties: Properties, locale = 'en-US'): Frame['format'] {
  const currency = properties.text('currency', 3)
  const digits = properties.number('digits', [0, 20])
  const digitsOf = digits === undefined ? {} : { minimumFractionDigits: digits, maximumFractionDigits: digits }
  try {
    const money =
      currency === undefined ? {} : ({ style: 'currency', currency, ...(digits === undefined && WHOLE) } as const)
    const format = new Intl.NumberFormat(locale, { ...money, ...digitsOf })
    return (value) => format.format(value)
  } catch (cause) {
    throw new FigureFault('currency must have three letters, and digits must be whole', { cause })
  }
}

function percentOf(locale = 'en-US'): Frame['percent'] {
  const format = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  return (part) => format.format(part)
}

const WHOLE = { minimumFractionDigits: 0, maximumFractionDigits: 2 }

function colorOf({ colors }: Frame, index: number): string {
  return colors[index % colors.length] ?? INK
}

/** An upper estimate: the font is unknown here. Most letters of most fonts are narrower. */
function widthOf(text: string, size: number): number {
  return Array.from(text).length * size * 0.58
}

/** Horizontal space between an axis and its numbers, and between a sample of colour and its name. */
const GAP = 6
const TICKS = 5

interface Plot {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
  readonly y: ScaleLinear<number, number>
}

interface AxesOptions {
  readonly type: 'bar' | 'line'
  readonly hasLegend: boolean
}

function axesShapes(rows: Rows, frame: Frame, { type, hasLegend }: AxesOptions): readonly Shape[] {
  const { width, height, size } = frame
  const values = rows.series.flatMap(({ values: own }) => own.filter((value) => value !== undefined))
  const scale = library()
    .scaleLinear()
    .domain([Math.min(0, ...values), Math.max(0, ...values)])
  if (values.every((value) => value === 0)) scale.domain([0, 1])
  scale.nice(TICKS)
  const ticks = scale.ticks(TICKS)
  const numbers = ticks.map(frame.format)
  const legend = hasLegend
    ? legendShapes(
        rows.series.map(({ name }) => name),
        frame,
      )
    : { shapes: [], height: 0 }
  const left = Math.max(0, ...numbers.map((number) => widthOf(number, size))) + GAP
  const [top, bottom] = [size, height - legend.height - size * 2]
  if (left + size * 2 > width || top + size * 2 > bottom)
    throw new FigureFault('width and height leave no room for the chart')
  const plot: Plot = { left, right: width, top, bottom, y: scale.range([bottom, top]) }
  return [
    ...ticks.flatMap((tick, index) => tickShapes(plot.y(tick), numbers[index] ?? '', { plot, frame })),
    ...(type === 'bar' ? barShapes(rows, plot, frame) : lineShapes(rows, plot, frame)),
    { path: level(plot.left, plot.right, plot.y(0)), stroke: frame.ink, strokeWidth: 0.75 },
    ...nameShapes(rows.names, plot, frame),
    ...legend.shapes,
  ]
}

function level(left: number, right: number, y: number): string {
  return `M${rounded(left)} ${rounded(y)}H${rounded(right)}`
}

function tickShapes(y: number, number: string, { plot, frame }: { plot: Plot; frame: Frame }): readonly Shape[] {
  const { size, ink } = frame
  return [
    { path: level(plot.left, plot.right, y), stroke: GRID, strokeWidth: 0.5 },
    { text: number, x: plot.left - GAP, y: y + size * 0.35, size, anchor: 'end', fill: ink },
  ]
}

function bands(
  count: number,
  { left, right }: Plot,
): { readonly width: number; readonly middle: (index: number) => number } {
  const width = (right - left) / Math.max(1, count)
  return { width, middle: (index) => left + width * (index + 0.5) }
}

const BARS_PART = 0.7

function barShapes({ names, series }: Rows, plot: Plot, frame: Frame): readonly Shape[] {
  const { width, middle } = bands(names.length, plot)
  const bar = (width * BARS_PART) / series.length
  return series.map(({ values }, at) => {
    const path = values.map((value, index) => {
      if (value === undefined || value === 0) return ''
      const x = middle(index) + bar * (at - series.length / 2)
      const [from, to] = [plot.y(0), plot.y(value)]
      return `M${rounded(x)} ${rounded(from)}V${rounded(to)}H${rounded(x + bar)}V${rounded(from)}Z`
    })
    return { path: path.join('') || 'M0 0', fill: colorOf(frame, at) }
  })
}

function lineShapes({ names, series }: Rows, plot: Plot, frame: Frame): readonly Shape[] {
  const { middle } = bands(names.length, plot)
  const curve = library()
    .line<number | undefined>()
    .defined((value) => value !== undefined)
    .x((_, index) => rounded(middle(index)))
    .y((value) => rounded(plot.y(value ?? 0)))
  return series.flatMap(({ values }, at) => {
    const path = curve([...values])
    return path === null || path === '' ? [] : [{ path, stroke: colorOf(frame, at), strokeWidth: 1.5 }]
  })
}

/** All names, or every second, third and so on if they would touch. */
function nameShapes(names: readonly string[], plot: Plot, { size, ink }: Frame): readonly Shape[] {
  const { width, middle } = bands(names.length, plot)
  const widest = Math.max(0, ...names.map((name) => widthOf(name, size))) + GAP
  const step = Math.max(1, Math.ceil(Math.min(widest, width * 12) / width))
  const charsMax = Math.max(3, Math.floor((step * width) / (size * 0.58)))
  return names.flatMap((name, index) => {
    if (index % step !== 0 || name === '') return []
    return [
      {
        text: shortened(name, charsMax),
        x: middle(index),
        y: plot.bottom + size * 1.5,
        size,
        anchor: 'middle' as const,
        fill: ink,
      },
    ]
  })
}

function shortened(name: string, charsMax: number): string {
  const characters = Array.from(name)
  return characters.length > charsMax ? `${characters.slice(0, charsMax - 1).join('')}…` : name
}

function legendShapes(
  names: readonly string[],
  frame: Frame,
): { readonly shapes: readonly Shape[]; readonly height: number } {
  const { width, height, size, ink } = frame
  const rowHeight = size * 1.6
  const places: { x: number; row: number; name: string }[] = []
  let [x, row] = [0, 0]
  for (const name of names) {
    const text = shortened(name, Math.max(3, Math.floor(width / (size * 0.58)) - 4))
    const wide = size + GAP + widthOf(text, size) + GAP * 2
    if (x > 0 && x + wide > width) [x, row] = [0, row + 1]
    places.push({ x, row, name: text })
    x += wide
  }
  const rows = names.length === 0 ? 0 : row + 1
  const shapes = places.flatMap((place, index): readonly Shape[] => {
    const base = height - (rows - place.row) * rowHeight + size
    const sample = `M${rounded(place.x)} ${rounded(base - size * 0.8)}h${size}v${size}h${-size}Z`
    return [
      { path: sample, fill: colorOf(frame, index) },
      { text: place.name, x: place.x + size + GAP, y: base, size, anchor: 'start', fill: ink },
    ]
  })
  return { shapes, height: rows * rowHeight }
}

function pieShapes({ names, series: [first, ...others] }: Rows, frame: Frame, hasLegend: boolean): readonly Shape[] {
  const values = first?.values.map((value) => value ?? 0) ?? []
  if (others.length > 0) throw new FigureFault('a pie has one y')
  if (values.some((value) => value < 0)) throw new FigureFault('a pie cannot show values below 0')
  const total = values.reduce((sum, value) => sum + value, 0)
  const labels = names.map((name, index) => `${name} ${frame.percent((values[index] ?? 0) / (total || 1))}`)
  const legend = hasLegend ? legendShapes(labels, frame) : { shapes: [], height: 0 }
  const { width, height } = frame
  const room = height - legend.height - frame.size
  const radius = Math.min(width, room) / 2
  if (radius <= frame.size) throw new FigureFault('width and height leave no room for the chart')
  // An empty circle.
  if (total === 0)
    return [{ path: circle(width / 2, room / 2, radius), stroke: GRID, strokeWidth: 0.75 }, ...legend.shapes]
  const { arc, pie } = library()
  const slice = arc<DefaultArcObject>().digits(3)
  const pieces = pie<number>().sort(null)([...values])
  return [
    ...pieces.map(({ startAngle, endAngle }, index) => {
      const path = slice({ startAngle, endAngle, innerRadius: 0, outerRadius: radius }) ?? ''
      return {
        path: movedArc(path, width / 2, room / 2),
        fill: colorOf(frame, index),
        stroke: 'white',
        strokeWidth: 0.75,
      }
    }),
    ...legend.shapes,
  ]
}

function circle(x: number, y: number, radius: number): string {
  const [left, right, side] = [rounded(x - radius), rounded(x + radius), rounded(radius)]
  return `M${left} ${rounded(y)}A${side} ${side} 0 0 1 ${right} ${rounded(y)}A${side} ${side} 0 0 1 ${left} ${rounded(y)}Z`
}

/** Moves the path of a d3 arc, which has the middle of the circle at 0. Its commands are absolute: M, L, A and Z. */
function movedArc(path: string, x: number, y: number): string {
  return path.replaceAll(/([MLA])([^MLAZ]*)/g, (_, command: string, text: string) => {
    const numbers = text.split(',').map(Number)
    const [left = 0, top = 0] = numbers.slice(-2)
    return `${command}${[...numbers.slice(0, -2), rounded(left + x), rounded(top + y)].join(' ')}`
  })
}

type Library = Pick<typeof import('d3-scale'), 'scaleLinear'> & Pick<typeof import('d3-shape'), 'arc' | 'line' | 'pie'>

function library(): Library {
  const require = createRequire(import.meta.url)
  loaded ??= { ...require('d3-scale'), ...require('d3-shape') } as Library
  return loaded
}
let loaded: Library | undefined

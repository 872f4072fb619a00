/**
 * A figure is a code or a chart before an engine draws it. Both engines draw the same shapes: react_pdf as elements, html as SVG in its
 * source.
 */
import { isJsonObject, type Json, type JsonObject } from '@platen/lib/brand.ts'
import type { Node } from '../element/node.ts'

export interface Figure {
  /** Size of the coordinate system, which begins at the top left. */
  readonly width: number
  readonly height: number
  /** In points. */
  readonly printed: { readonly width: number; readonly height: number }
  /** Describes the figure to readers who cannot see it. */
  readonly label: string
  readonly shapes: readonly Shape[]
}

export type Shape = PathShape | TextShape

export interface PathShape {
  /** The `d` of an SVG path. */
  readonly path: string
  readonly fill?: string
  readonly stroke?: string
  readonly strokeWidth?: number
}

interface TextShape {
  readonly text: string
  readonly x: number
  /** The baseline. */
  readonly y: number
  readonly size: number
  readonly anchor: 'start' | 'middle' | 'end'
  readonly fill: string
}

/** A mistake in the properties of a figure. The message tells its author what to mend, and never quotes a value. */
export class FigureFault extends Error {}

/** Returns an `<Svg>` of react_pdf. Passes on the props of `node` that are not in `own`, such as `style`. */
export function figureNode(figure: Figure, { props, line }: Node, own: ReadonlySet<string>): Node {
  const { width, height, printed, shapes } = figure
  const passed = Object.fromEntries(Object.entries(props).filter(([name]) => !own.has(name)))
  const box = { ...passed, ...printed, viewBox: `0 0 ${width} ${height}` }
  const at = line === undefined ? {} : { line }
  return { type: 'Svg', props: box, children: shapes.map((shape) => ({ ...shapeNode(shape), ...at })), ...at }
}

function shapeNode(shape: Shape): Node {
  if ('path' in shape) {
    const { path, fill = 'none', stroke, strokeWidth } = shape
    const line = stroke === undefined ? {} : { stroke, strokeWidth: strokeWidth ?? 1 }
    return { type: 'Path', props: { d: path, fill, fillRule: 'evenodd', ...line }, children: [] }
  }
  const { text, x, y, size, anchor, fill } = shape
  return { type: 'Text', props: { x, y, fill, textAnchor: anchor, style: { fontSize: size } }, children: [text] }
}

export function figureSvg({ width, height, printed, label, shapes }: Figure): string {
  const size = `width="${rounded(printed.width)}pt" height="${rounded(printed.height)}pt"`
  const inner = shapes.map(shapeSvg).join('')
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="${escaped(label)}" ${size} viewBox="0 0 ${width} ${height}">${inner}</svg>`
}

function shapeSvg(shape: Shape): string {
  if ('path' in shape) {
    const { path, fill = 'none', stroke, strokeWidth = 1 } = shape
    const line = stroke === undefined ? '' : ` stroke="${escaped(stroke)}" stroke-width="${strokeWidth}"`
    return `<path d="${path}" fill="${escaped(fill)}" fill-rule="evenodd"${line}/>`
  }
  const { text, x, y, size, anchor, fill } = shape
  const place = `x="${rounded(x)}" y="${rounded(y)}" font-size="${size}" text-anchor="${anchor}"`
  return `<text ${place} fill="${escaped(fill)}">${escaped(text)}</text>`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}

/** To a thousandth, which no printer can show. */
export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000
}

/** Untrusted properties of a figure. Every method throws a `FigureFault` that names the property. */
export interface Properties {
  text(name: string, charsMax: number): string | undefined
  number(name: string, range: readonly [min: number, max: number]): number | undefined
  flag(name: string): boolean | undefined
  choice<Name extends string>(name: string, known: readonly Name[]): Name | undefined
  /** A colour of CSS by name, `#rgb`, `#rrggbb` or a function. */
  color(name: string): string | undefined
  /** A length in points: a number, or a text such as `30mm`. */
  length(name: string): number | undefined
  /** A list of names, or a text with commas. */
  list(name: string, itemsMax: number): readonly string[] | undefined
  object(name: string): JsonObject | undefined
  raw(name: string): Json | undefined
}

const POINTS: Readonly<Record<string, number>> = { pt: 1, mm: 72 / 25.4, cm: 72 / 2.54, in: 72 }
const LENGTH = /^(\d{1,5}(?:\.\d{1,5})?)(pt|mm|cm|in)?$/
const COLOR = /^(?:#[\da-f]{3,8}|[a-z]{1,30}|(?:rgb|hsl)a?\([\d\s.,%/-]{1,60}\))$/i
/** The largest side of a page. */
const LENGTH_POINTS_MAX = 14_400
const LIST_ITEM_CHARS_MAX = 100

export function propertiesOf(values: JsonObject): Properties {
  const raw = (name: string) => values[name] ?? undefined
  const read = <Value>(name: string, words: string, take: (value: Json) => Value | undefined): Value | undefined => {
    const value = raw(name)
    if (value === undefined) return undefined
    const taken = take(value)
    if (taken === undefined) throw new FigureFault(`${name} must be ${words}`)
    return taken
  }
  const text = (name: string, charsMax: number) =>
    read(name, `a text of at most ${charsMax} characters`, (value) => {
      const written = typeof value === 'number' ? String(value) : value
      return typeof written === 'string' && written.length <= charsMax ? written : undefined
    })
  return {
    raw,
    text,
    number: (name, [min, max]) =>
      read(name, `a number from ${min} to ${max}`, (value) => {
        const number = numberOf(value)
        return number !== undefined && number >= min && number <= max ? number : undefined
      }),
    flag: (name) => read(name, 'true or false', (value) => (typeof value === 'boolean' ? value : undefined)),
    choice: (name, known) => read(name, `one of ${known.join(', ')}`, (value) => known.find((one) => one === value)),
    color: (name) =>
      read(name, 'a colour such as #1a2b3c', (value) =>
        typeof value === 'string' && COLOR.test(value) ? value : undefined,
      ),
    length: (name) => read(name, 'a length such as 30mm or a number of points', lengthOf),
    list: (name, itemsMax) =>
      read(name, `a list of at most ${itemsMax} texts`, (value) => {
        const items = typeof value === 'string' ? value.split(',').map((item) => item.trim()) : value
        return isTextList(items, itemsMax) ? items : undefined
      }),
    object: (name) => read(name, 'an object', (value) => (isJsonObject(value) ? value : undefined)),
  }
}

function isTextList(value: unknown, itemsMax: number): value is readonly string[] {
  const isText = (item: unknown) => typeof item === 'string' && item.length <= LIST_ITEM_CHARS_MAX
  return Array.isArray(value) && value.length <= itemsMax && value.every(isText)
}

function lengthOf(value: Json): number | undefined {
  const [, number, unit = 'pt'] =
    LENGTH.exec(typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '') ?? []
  const points = Number(number) * (POINTS[unit] ?? Number.NaN)
  return points > 0 && points <= LENGTH_POINTS_MAX ? points : undefined
}

/** Also accepts a numeric text, because data often have amounts as texts. */
export function numberOf(value: Json | undefined): number | undefined {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : undefined
}

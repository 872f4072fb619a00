/** Draws barcodes and matrix codes as paths. bwip-js has 2 MB, so it is loaded with the first code. */
import { createRequire } from 'node:module'
import type { DrawingContext, RenderOptions } from 'bwip-js/node'
import { type Figure, FigureFault, type PathShape, type Properties, rounded } from './figure.ts'

/**
 * `id` is bwip-js's name. `moduleMm` is the default width of one module: the usual size of its standard. `quiet` are the blank modules that
 * a scanner needs beside the code.
 */
const KINDS = {
  ean13: { id: 'ean13', moduleMm: 0.33, quiet: { x: 7, y: 0 }, isLinear: true, words: 'EAN-13' },
  ean8: { id: 'ean8', moduleMm: 0.33, quiet: { x: 7, y: 0 }, isLinear: true, words: 'EAN-8' },
  upca: { id: 'upca', moduleMm: 0.33, quiet: { x: 9, y: 0 }, isLinear: true, words: 'UPC-A' },
  code128: { id: 'code128', moduleMm: 0.33, quiet: { x: 10, y: 0 }, isLinear: true, words: 'Code 128' },
  'gs1-128': { id: 'gs1-128', moduleMm: 0.33, quiet: { x: 10, y: 0 }, isLinear: true, words: 'GS1-128' },
  itf14: { id: 'itf14', moduleMm: 0.5, quiet: { x: 10, y: 0 }, isLinear: true, words: 'ITF-14' },
  datamatrix: { id: 'datamatrix', moduleMm: 0.5, quiet: { x: 1, y: 1 }, isLinear: false, words: 'Data Matrix' },
  pdf417: { id: 'pdf417', moduleMm: 0.33, quiet: { x: 2, y: 2 }, isLinear: false, words: 'PDF417' },
  qr: { id: 'qrcode', moduleMm: 0.75, quiet: { x: 4, y: 4 }, isLinear: false, words: 'QR code' },
} as const

type CodeKind = keyof typeof KINDS
const BARCODE_TYPES = (Object.keys(KINDS) as CodeKind[]).filter((kind) => kind !== 'qr')

const LEVELS = ['L', 'M', 'Q', 'H'] as const
type Level = (typeof LEVELS)[number]

/** A QR code holds at most 7,089 digits, and no other kind holds more. */
const VALUE_CHARS_MAX = 7_089
const QUIET_MODULES_MAX = 100

const SIZE_NAMES = ['width', 'height', 'quietZone', 'color']
export const QR_PROPERTIES: ReadonlySet<string> = new Set(['value', 'level', ...SIZE_NAMES])
export const BARCODE_PROPERTIES: ReadonlySet<string> = new Set(['value', 'type', 'text', ...SIZE_NAMES])

/** The text is UTF-8, as readers expect. */
export function qrCode(properties: Properties): Figure {
  const level = properties.choice('level', LEVELS) ?? 'M'
  return drawCode({ kind: 'qr', value: valueOf(properties), level, isUtf8Named: true }, properties)
}

/** A linear barcode has its text below unless `text` is false. */
export function barcode(properties: Properties): Figure {
  const kind = properties.choice('type', BARCODE_TYPES)
  if (kind === undefined) throw new FigureFault(`type is missing; it must be one of ${BARCODE_TYPES.join(', ')}`)
  const value = valueOf(properties)
  // Code 128 encodes ASCII. Readers differ in what they make of other bytes.
  if (!isAscii(value) && KINDS[kind].isLinear)
    throw new FigureFault(`value has a character that ${KINDS[kind].words} cannot hold`)
  return drawCode({ kind, value, isTextShown: properties.flag('text') ?? true }, properties)
}

function valueOf(properties: Properties): string {
  const value = properties.text('value', VALUE_CHARS_MAX)
  if (value === undefined || value === '')
    throw new FigureFault('value is missing or empty: leave the code out where there is none')
  return value
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text)
}

/** "What follows is UTF-8", as bwip-js writes it. */
const UTF8_MARK = '^ECI000026'

interface Code {
  readonly kind: CodeKind
  readonly value: string
  readonly level?: Level
  readonly isTextShown?: boolean
  /** Says in a QR code with more than ASCII that its bytes are UTF-8. Otherwise readers guess, often wrongly. */
  readonly isUtf8Named?: boolean
}

/** Throws `FigureFault` if the value does not fit its kind. */
export function drawCode(code: Code, properties: Properties): Figure {
  const { moduleMm, quiet, isLinear, words } = KINDS[code.kind]
  const modules = properties.number('quietZone', [0, QUIET_MODULES_MAX])
  const blank = modules === undefined ? quiet : { x: modules, y: isLinear ? 0 : modules }
  const fill = properties.color('color') ?? 'black'
  const [width, height] = [properties.length('width'), properties.length('height')]
  const draw = (barsMm?: number) => withQuietZone(drawn(code, barsMm), blank)
  const natural = draw()
  const modulePt = (moduleMm * 72) / 25.4 / UNITS_PER_MODULE
  const scale = scaleOf(natural, { width, height: isLinear ? undefined : height }) ?? modulePt
  const fitting = isLinear && height !== undefined ? stretched(natural, height / scale, draw) : natural
  return {
    width: fitting.width,
    height: fitting.height,
    printed: { width: rounded(fitting.width * scale), height: rounded(fitting.height * scale) },
    label: words,
    shapes: [{ path: fitting.path, fill }],
  }
}

/** Points per unit, so that the drawing fits the sides that are asked for. Undefined if none is. */
function scaleOf(natural: Drawn, asked: { width: number | undefined; height: number | undefined }): number | undefined {
  const scales = [
    ...(asked.width === undefined ? [] : [asked.width / natural.width]),
    ...(asked.height === undefined ? [] : [asked.height / natural.height]),
  ]
  return scales.length === 0 ? undefined : Math.min(...scales)
}

/** Changes the length of the bars, so that the whole code has this height. */
function stretched(natural: Drawn, height: number, draw: (barsMm: number) => Drawn): Drawn {
  const besideBars = natural.height - BARS_MM * UNITS_PER_MM
  const bars = height - besideBars
  if (bars < UNITS_PER_MM) throw new FigureFault('height leaves no room for the bars')
  return draw(bars / UNITS_PER_MM)
}

interface Drawn {
  readonly width: number
  readonly height: number
  readonly path: string
}

/** Finer than a module, so that the glyphs of the text are not rounded to whole modules. */
const UNITS_PER_MODULE = 8
/** bwip-js counts a module as a point. */
const UNITS_PER_MM = (72 / 25.4) * UNITS_PER_MODULE
/** Before the size is known. */
const BARS_MM = 20

function drawn({ kind, value, level, isTextShown, isUtf8Named = false }: Code, barsMm = BARS_MM): Drawn {
  const { id, isLinear } = KINDS[kind]
  const options: RenderOptions = {
    bcid: id,
    ...(isUtf8Named && !isAscii(value)
      ? { text: `${UTF8_MARK}${value.replaceAll('^', '^^')}`, parsefnc: true }
      : { text: value }),
    scale: isLinear ? UNITS_PER_MODULE : UNITS_PER_MODULE / 2,
    ...(isLinear ? { height: barsMm, includetext: isTextShown === true } : {}),
    ...(level === undefined ? {} : { eclevel: level }),
  }
  try {
    return library().render(options, pathDrawing())
  } catch (cause) {
    throw new FigureFault(reasonOf(cause), { cause })
  }
}

/** bwip-js's form of a message: "bwipp.ean13badCheckDigit#6915: Incorrect EAN-13 check digit provided". */
function reasonOf(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : String(cause)
  const reason = /^bwipp\.\w+#\d+: (.{1,200})$/s.exec(message)?.[1]
  return reason === undefined ? 'value does not fit this type of code' : `value does not fit: ${reason}`
}

function library(): typeof import('bwip-js/node') {
  loaded ??= createRequire(import.meta.url)('bwip-js/node') as typeof import('bwip-js/node')
  return loaded
}
let loaded: typeof import('bwip-js/node') | undefined

function withQuietZone({ width, height, path }: Drawn, quiet: { x: number; y: number }): Drawn {
  const [x, y] = [quiet.x * UNITS_PER_MODULE, quiet.y * UNITS_PER_MODULE]
  return { width: width + 2 * x, height: height + 2 * y, path: moved(path, x, y) }
}

/** The commands must be absolute. */
function moved(path: string, x: number, y: number): string {
  if (x === 0 && y === 0) return path
  return path.replaceAll(/(-?[\d.]+) (-?[\d.]+)/g, (_, left: string, top: string) =>
    pointOf(Number(left) + x, Number(top) + y),
  )
}

function pointOf(x: number, y: number): string {
  return `${rounded(x)} ${rounded(y)}`
}

/** One path is enough: bwip-js draws in one colour, and no shape over another. */
function pathDrawing(): DrawingContext<Drawn> {
  const parts: string[] = []
  let size = { width: 0, height: 0 }
  const polygon = (points: readonly (readonly [number, number])[]) => {
    parts.push(`M${points.map(([x, y]) => pointOf(x, y)).join('L')}Z`)
  }
  return {
    scale: () => null,
    measure: measureText,
    init: (width, height) => {
      size = { width, height }
    },
    // Lines are vertical or horizontal, with flat ends. An odd width lies half a unit to the left, as in bwip-js.
    line(...[x0, y0, x1, y1, lineWidth]) {
      const wide = Math.round(lineWidth) || 1
      const [before, after] = [Math.ceil(wide / 2), Math.floor(wide / 2)]
      const isUpright = x0 === x1
      const [left, right] = isUpright ? [x0 - before, x0 + after] : [Math.min(x0, x1), Math.max(x0, x1)]
      const [top, bottom] = isUpright ? [Math.min(y0, y1), Math.max(y0, y1)] : [y0 - before, y0 + after]
      polygon([
        [left, top],
        [right, top],
        [right, bottom],
        [left, bottom],
      ])
    },
    polygon,
    hexagon: polygon,
    // Only kinds that we do not offer draw round dots.
    ellipse: () => undefined,
    fill: () => undefined,
    text(...[x, y, text, , font]) {
      parts.push(...glyphPaths(text, font, { x, y }))
    },
    end: () => ({ ...size, path: parts.join('') }),
  }
}

function measureText(...[text, font, width, height]: Parameters<DrawingContext<Drawn>['measure']>) {
  const { FontLib } = library()
  const glyphs = codesOf(text).map((code) => FontLib.getpaths(FontLib.lookup(font), code, width, height))
  return {
    width: glyphs.reduce((sum, glyph) => sum + (glyph?.advance ?? 0), 0),
    ascent: Math.max(0, ...glyphs.map((glyph) => glyph?.ascent ?? 0)),
    descent: Math.max(0, ...glyphs.map((glyph) => glyph?.descent ?? 0)),
  }
}

interface CodeFont {
  readonly name: string
  readonly width: number
  readonly height: number
  readonly dx: number
}

/** Outlines, because only bwip-js has the font OCR-B. */
function glyphPaths(text: string, font: CodeFont, start: { x: number; y: number }): readonly string[] {
  const { FontLib } = library()
  let x = start.x
  return codesOf(text).map((code) => {
    const glyph = FontLib.getpaths(FontLib.lookup(font.name), code, font.width, font.height)
    const at = (left: number, up: number) => pointOf(x + left, start.y - up)
    const path = (glyph ?? []).map((segment) => {
      if (segment.type === 'Q') return `Q${at(segment.cx, segment.cy)} ${at(segment.x, segment.y)}`
      if (segment.type !== 'C') return `${segment.type}${at(segment.x, segment.y)}`
      return `C${at(segment.cx1, segment.cy1)} ${at(segment.cx2, segment.cy2)} ${at(segment.x, segment.y)}`
    })
    x += (glyph?.advance ?? 0) + font.dx
    return path.length === 0 ? '' : `${path.join('')}Z`
  })
}

function codesOf(text: string): readonly number[] {
  return Array.from(text, (character) => character.charCodeAt(0))
}

export function pathOf({ shapes: [path] }: Figure): PathShape {
  if (path === undefined || !('path' in path)) throw new TypeError('a code is one path')
  return path
}

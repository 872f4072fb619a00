/**
 * Tests everything that react-pdf's layout and embedding need of a font. So a broken file is refused by name when its template is
 * published, and not during a render.
 */
import { ServiceError } from '@platen/contract/domain/error.ts'
import { create, type Font } from 'fontkit'
import { FONT_BYTES_MAX } from '../../limit.ts'
import type { FontKind } from '../kind.ts'
import { readTables, type Tables } from './sfnt.ts'
import { unpackWoff } from './woff.ts'
import { unpackWoff2 } from './woff2.ts'

/** Returns TrueType or OpenType. Throws `ServiceError` with `asset_unavailable`. */
export async function unpackFont(bytes: Uint8Array, kind: FontKind): Promise<Buffer> {
  if (bytes.length > FONT_BYTES_MAX) throw refusal(`the font has more than ${FONT_BYTES_MAX} bytes`)
  // A copy: fontkit does not read shared memory.
  const data = Buffer.from(bytes)
  try {
    if (kind === 'woff') return unpackWoff(data)
    return kind === 'woff2' ? await unpackWoff2(data) : data
  } catch (cause) {
    throw damage(cause)
  }
}

export interface FontFacts {
  /** The PostScript name, reduced to the characters of a PDF name. */
  readonly name: string
  /** Why react_pdf cannot draw this font although a browser can. */
  readonly unfit?: string
}

/** Tests an unpacked font. Throws `ServiceError` with `asset_unavailable` if it is damaged. */
export function inspectFont(sfnt: Buffer): FontFacts {
  return attempt(() => {
    const tables = readTables(sfnt)
    const missing = REQUIRED.filter((tag) => !tables.has(tag))
    if (missing.length > 0) throw refusal(`${DAMAGED}: it has no table ${missing.join(', ')}`)
    const font = openFont(sfnt)
    refuseOddNumbers(font)
    const unfit = unfitnessOf(tables)
    if (unfit === undefined) tryOut(font)
    // An empty name counts as no name.
    const name = font.postscriptName?.replace(/[^\w-]/g, '').slice(0, POSTSCRIPT_NAME_CHARS_MAX) || 'Font'
    return { name, ...(unfit !== undefined && { unfit }) }
  })
}

/** `sfnt` must have passed `inspectFont`. */
export function openFont(sfnt: Buffer): Font {
  const font = create(sfnt)
  if ('fonts' in font) throw refusal(DAMAGED)
  // Applied to an object over the font: a font keeps the engine of its first layout, and with it the glyphs of all renders.
  skipMissingAnchors(Object.create(font))
  return font
}

/** Whether glyphs of an unpacked font are pictures or colors, and so need no outlines. */
export function hasPictures(sfnt: Buffer): boolean {
  const tables = readTables(sfnt)
  return ['COLR', 'CBDT', 'sbix', 'SVG '].some((tag) => tables.has(tag))
}

/** Missing in fontkit's types. */
interface LayoutParts {
  readonly _layoutEngine?: { readonly engine?: { readonly GPOSProcessor?: MarkPlacer | null } | null }
}
type AnchorPlace = readonly [mark: { readonly markAnchor: object | null }, base: object | null, index: number]
interface MarkPlacer {
  applyAnchor: (...place: AnchorPlace) => void
}

/**
 * Makes fontkit skip a mark if the letter has no anchor for it. OpenType allows such letters (Noto Sans Gurmukhi has some), but fontkit
 * throws. All fonts share the method, so it is replaced once.
 */
function skipMissingAnchors(font: Font & LayoutParts): void {
  const placer = font._layoutEngine?.engine?.GPOSProcessor
  if (!placer) return
  const shared: MarkPlacer = Object.getPrototypeOf(placer)
  if (SKIPS in shared.applyAnchor) return
  shared.applyAnchor = Object.assign(skipping(shared.applyAnchor), { [SKIPS]: true })
}

const SKIPS = Symbol('skips missing anchors')

function skipping(apply: MarkPlacer['applyAnchor']): MarkPlacer['applyAnchor'] {
  return function (this: MarkPlacer, ...place) {
    const [{ markAnchor }, base] = place
    if (markAnchor !== null && base !== null) apply.apply(this, place)
  }
}

const DAMAGED = 'the font is damaged'
/** Glyphs to embed as a test, spread over the font. All glyphs of a large font would take seconds. */
const GLYPHS_TRIED = 200
/** The limit of a name in a PDF, with space for the suffix that is added to it. */
const POSTSCRIPT_NAME_CHARS_MAX = 63

function refusal(reason: string, cause?: unknown): ServiceError {
  return new ServiceError('asset_unavailable', reason, { cause })
}

function attempt<T>(action: () => T): T {
  try {
    return action()
  } catch (cause) {
    throw damage(cause)
  }
}

function damage(cause: unknown): ServiceError {
  return cause instanceof ServiceError ? cause : refusal(DAMAGED, cause)
}

const REQUIRED = ['cmap', 'head', 'hhea', 'hmtx', 'maxp', 'post']

function unfitnessOf(tables: Tables): string | undefined {
  const has = (...tags: readonly string[]) => tags.every((tag) => tables.has(tag))
  if (has('COLR', 'CPAL')) return 'a color font: react_pdf draws fonts of one color'
  if (!has('glyf', 'loca') && !has('CFF '))
    return 'a font without TrueType or CFF outlines, and react_pdf draws no others'
  // react-pdf would draw it, but always in its default weight.
  return has('fvar')
    ? 'a variable font: react_pdf needs a separate font for each weight (fonttools varLib.instancer makes them)'
    : undefined
}

function tryOut(font: Font): void {
  const { glyphs, positions } = font.layout(sampleOf(font), undefined, undefined, undefined, 'ltr')
  if (!positions.every(({ xAdvance }) => Number.isFinite(xAdvance))) throw refusal(DAMAGED)
  // The library's interface. Its types describe an older version, in which a subset was a stream.
  const subset = font.createSubset() as unknown as { includeGlyph(id: number): void; encode(): Uint8Array }
  for (const { id } of glyphs) subset.includeGlyph(id)
  for (let step = 0; step < GLYPHS_TRIED; step += 1) {
    subset.includeGlyph(Math.floor((step * font.numGlyphs) / GLYPHS_TRIED))
  }
  if (subset.encode().length === 0) throw refusal(DAMAGED)
}

function refuseOddNumbers(font: Font): void {
  const { unitsPerEm, numGlyphs, bbox, ascent, descent, italicAngle } = font
  const isSound = unitsPerEm >= 16 && unitsPerEm <= 16_384 && numGlyphs > 0
  const numbers = [ascent, descent, italicAngle, bbox.minX, bbox.minY, bbox.maxX, bbox.maxY]
  if (!isSound || !numbers.every(Number.isFinite)) throw refusal(DAMAGED)
}

function sampleOf(font: Font): string {
  const codePoints = Array.from({ length: 2000 }, (_, index) => (index < 500 ? index + 32 : index * 97))
  return String.fromCodePoint(
    ...codePoints.filter((point) => (point & ~0x7ff) !== 0xd800 && font.hasGlyphForCodePoint(point)),
  )
}

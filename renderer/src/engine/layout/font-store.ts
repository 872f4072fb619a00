/**
 * The fonts that react-pdf draws with. They replace react-pdf's own store, which is global, never forgets, and loads all of react-pdf. The
 * fonts of a template are here only during one render, under names that no template can write. Between renders we keep only the files,
 * unpacked and tested.
 */
import assert from 'node:assert/strict'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { Asset, AssetDigest, FontReference, TenantId } from '@platen/contract/domain/tenant.ts'
import { openLruCache, tenantPart } from '@platen/lib/lru-cache.ts'
import type { Font as Store } from '@react-pdf/renderer'
import type { Font } from 'fontkit'
import { THREAD_ASSET_CACHE_BYTES_MAX } from '../../limit.ts'
import {
  DEFAULT_FAMILIES,
  DEFAULT_FAMILY,
  DEJAVU_FAMILIES,
  defaultFaces,
  type FontFace,
  METRIC_FAMILIES,
} from '../../template/asset/font/default-fonts.ts'
import { inspectFont, openFont, unpackFont } from '../../template/asset/font/font-file.ts'
import { FACE_NAMES, type Families, faceFor, LAST_RESORT } from '../../template/asset/fonts.ts'
import { isDrawn } from '../../template/asset/glyph.ts'
import { isFontKind, kindOf } from '../../template/asset/kind.ts'
import { PLAIN_WRAPPING } from '../../template/wrapping.ts'
import {
  type FallbackFonts,
  measureLetters,
  openFace,
  openFallbackFonts,
  prepared,
  withoutGlyphs,
} from './fallback-fonts.ts'
import { drawnFont, embedUses, nameEachUse } from './glyph-use.ts'
import { cachePairs } from './shape/shaping.ts'

export interface FontStore {
  readonly reader: FontReader
  /**
   * Adds a template's fonts until they are disposed. Throws `ServiceError` with `asset_unavailable`, naming the asset, if a font cannot be
   * used.
   */
  register(fonts: readonly FontReference[], owner: FontOwner): Promise<Disposable & { readonly families: Families }>
  /** The character that a glyph of a laid-out run stands for, if no font has it. */
  readonly missing: (font: unknown, glyph: Glyph) => string | undefined
}

export interface FontReader extends Pick<typeof Store, 'getEmojiSource' | 'getHyphenationCallback'> {
  getFont(descriptor: FontDescriptor): Source
  /** Our fonts are loaded already. */
  load(): void
}

type FontDescriptor = Parameters<typeof Store.getFont>[0]

interface FontOwner {
  readonly tenant: TenantId
  readonly locale?: string | undefined
  readonly assets: readonly Asset[]
}

export interface Glyph {
  readonly id: number
  readonly codePoints: readonly number[]
}

/** Loads the fonts that every template has. Call it once per thread. It serves one render at a time. */
export function openFontStore(faces: readonly FontFace[] = defaultFaces()): FontStore {
  const registered: Registered = new Map()
  const fallback = addDefaults(faces, registered)
  const kept = openLruCache<LoadedFont>(THREAD_ASSET_CACHE_BYTES_MAX, ({ bytes }) => bytes)
  return {
    reader: readerOf(registered),
    async register(fonts, { tenant, assets, locale }) {
      fallback.begin(locale)
      const ownKept = tenantPart(kept, tenant)
      const faces: OwnFace[] = []
      for (const { family, weight, style, asset: name } of fonts) {
        const asset = assets.find((candidate) => candidate.name === name)
        if (asset === undefined) throw new ServiceError('asset_unavailable', `asset ${name}: there is no such asset`)
        const { font } = ownKept.get(asset.digest) ?? ownKept.set(asset.digest, await loadFont(asset))
        faces.push({ family, weight, style, digest: asset.digest, file: font })
      }
      const own = ownFonts(faces)
      const families = new Map(own.map(({ family }, index) => [family, `template ${index}`]))
      for (const [family, name] of families) {
        const members = own.filter((face) => face.family === family)
        registered.set(name, familyOf(name, members, true))
      }
      return {
        families,
        [Symbol.dispose]() {
          for (const name of families.values()) registered.delete(name)
        },
      }
    },
    missing: (font, { id, codePoints: [codePoint] }) =>
      id === 0 && codePoint !== undefined && fallback.isLastResort(font) ? String.fromCodePoint(codePoint) : undefined,
  }
}

interface LoadedFont {
  readonly font: Font
  readonly bytes: number
}

interface Face extends Pick<FontReference, 'weight' | 'style'> {
  /** Always returns the same font. */
  readonly font: () => Font
}

interface OwnFace extends Pick<FontReference, 'family' | 'weight' | 'style'> {
  readonly digest: AssetDigest
  readonly file: Font
}

async function loadFont({ name, bytes, digest }: Asset): Promise<LoadedFont> {
  try {
    const kind = kindOf(bytes)
    if (kind === undefined || !isFontKind(kind)) throw new ServiceError('asset_unavailable', 'this is not a font')
    const sfnt = await unpackFont(bytes, kind)
    const facts = inspectFont(sfnt)
    if (facts.unfit !== undefined) throw new ServiceError('asset_unavailable', `this is ${facts.unfit}`)
    // Open it again: the tested one has cached glyphs from its test.
    const font = openFont(sfnt)
    measureLetters(font)
    embedUses(font)
    refuseAbsentGlyphs(font)
    // pdfkit writes this name into the PDF unchanged, and treats fonts with the same name as one font.
    Object.defineProperty(font, 'postscriptName', { value: `${facts.name}-${digest.slice(0, 8)}` })
    return { font, bytes: sfnt.length }
  } catch (cause) {
    // Only the file can cause an error here. fontkit throws any kind of error for it, including stack overflows.
    const reason = cause instanceof ServiceError ? cause.message : 'the font is damaged'
    throw new ServiceError('asset_unavailable', `asset ${name}: ${reason}`, { cause })
  }
}

/** Some fonts claim characters that they do not draw. Lets another font draw them. */
function refuseAbsentGlyphs(font: Font): void {
  const claims = font.hasGlyphForCodePoint.bind(font)
  const known = new Map<number, boolean>()
  Object.assign(font, {
    hasGlyphForCodePoint(codePoint: number) {
      const has = known.get(codePoint) ?? (claims(codePoint) && isDrawn(font, codePoint))
      known.set(codePoint, has)
      return has
    },
  })
}

function ownFonts(faces: readonly OwnFace[]): readonly (Face & { readonly family: string })[] {
  const own = new Map<AssetDigest, Font>()
  return faces.map(({ family, weight, style, digest, file }) => {
    const font: Font = own.get(digest) ?? withoutGlyphs(file)
    own.set(digest, font)
    return { family, weight, style, font: () => font }
  })
}

type Family = (wanted: Omit<FontDescriptor, 'fontFamily'>) => Source

interface Source {
  readonly fontWeight: number
  readonly fontStyle: string
  readonly data: object
}

type Registered = Map<string, Family>

function readerOf(registered: Registered): FontReader {
  return {
    getFont({ fontFamily, ...wanted }) {
      const family = registered.get(fontFamily)
      assert(family !== undefined, `the family ${fontFamily} is registered`)
      return family(wanted)
    },
    load: () => undefined,
    getEmojiSource: () => null,
    // Only for texts of drawings. All others have their own wrapping.
    getHyphenationCallback: () => PLAIN_WRAPPING,
  }
}

/**
 * Every text gets its own object for the same font. Otherwise, if an inner text takes a letter from the same font of the chain, react-pdf
 * sees one run. It then draws the inner text with the first font of its chain, which does not have the letters: Ω in Helvetica comes out as
 * ©.
 */
function familyOf(name: string, faces: readonly Face[], isOwn = false): Family {
  const found = new Map<string, Face | undefined>()
  const find = (weight: number, style: Face['style']) => {
    const key = `${weight} ${style}`
    if (!found.has(key)) found.set(key, faceFor(faces, { weight, style }))
    return found.get(key)
  }
  return ({ fontWeight, fontStyle }) => {
    const face = find(weightOf(fontWeight), fontStyle === 'italic' ? 'italic' : 'normal')
    if (face === undefined) throw new RangeError(`the family ${name} has no face`)
    const data: object = Object.assign(Object.create(face.font()), isOwn ? { isOwn } : {})
    return { fontWeight: face.weight, fontStyle: face.style, data }
  }
}

const WEIGHTS: Readonly<Record<string, number>> = {
  thin: 100,
  hairline: 100,
  ultralight: 200,
  extralight: 200,
  light: 300,
  medium: 500,
  semibold: 600,
  demibold: 600,
  bold: 700,
  ultrabold: 800,
  extrabold: 800,
  heavy: 900,
  black: 900,
}

/** A style has a number here. An SVG attribute has what the author wrote. */
function weightOf(fontWeight: unknown): number {
  return Number(fontWeight) || WEIGHTS[String(fontWeight).toLowerCase()] || 400
}

/**
 * Adds the fonts that every template has, and the last resort. Only the file of the default family is read now, the others on first use.
 */
function addDefaults(faces: readonly FontFace[], registered: Registered): FallbackFonts {
  const byFamily = Map.groupBy(faces, ({ family }) => family)
  const facesOf = (family: string) => byFamily.get(family) ?? byFamily.get(DEFAULT_FAMILY) ?? []
  const readOnce = new Map(faces.map((face) => [face, once(() => readDefault(face))]))
  const textFont = (face: FontFace) => readOnce.get(face)?.() ?? readDefault(face)
  const [first] = facesOf(DEFAULT_FAMILY)
  assert(first !== undefined, 'the default family is among them')
  const fallback = openFallbackFonts(faces, textFont(first))
  for (const family of DEFAULT_FAMILIES) {
    const isKept = TEXT_FAMILIES.has(family) || !byFamily.has(family)
    const fontOf = (face: FontFace) => (isKept ? textFont(face) : fallback.fontOf(face))
    const own = facesOf(family).map((face) => ({ ...face, font: () => fontOf(face) }))
    registered.set(family, familyOf(family, own))
  }
  for (const { name, family, weight, style } of FACE_NAMES) {
    const face = faceFor(facesOf(family), { weight, style })
    if (face !== undefined) registered.set(name, familyOf(name, [{ ...face, font: () => textFont(face) }]))
  }
  registered.set(LAST_RESORT, lastFamily(fallback))
  // react-pdf appends this to every chain. It is never reached, so it must not read a file.
  registered.set('Helvetica', lastFamily(fallback))
  return fallback
}

function lastFamily(fallback: FallbackFonts): Family {
  return ({ fontWeight }) => {
    const weight = weightOf(fontWeight)
    return { fontWeight: weight, fontStyle: 'normal', data: fallback.lastResort(weight) }
  }
}

/** The families that most documents use. A thread keeps their fonts with all their glyphs. */
const TEXT_FAMILIES: ReadonlySet<string> = new Set([...DEJAVU_FAMILIES, ...METRIC_FAMILIES])

function readDefault(face: FontFace): Font {
  const font = openFace(face)
  nameEachUse(font)
  setAsStandard(font, face.family)
  cachePairs(font)
  return drawnFont(prepared(font))
}

/**
 * Makes the faces that stand for the standard PDF families set text as react-pdf does with these: with the same heights, in thousandths of
 * the font size, and without kerning, unless a style asks for it. So lines and pages of Helvetica break where they did when PDF readers
 * supplied it.
 */
export function setAsStandard(font: Font, family: string): void {
  const measures = STANDARD_MEASURES[family]
  if (measures === undefined) return
  const layout = font.layout.bind(font)
  Object.assign(font, {
    layout(...[text, features, ...others]: Parameters<Font['layout']>) {
      const asked = Array.isArray(features) ? Object.fromEntries(features.map((tag) => [tag, true])) : features
      return layout(text, { kern: false, ...asked }, ...others)
    },
  })
  const [ascent, descent, capHeight, xHeight] = measures.map((measure) => (measure * font.unitsPerEm) / 1000)
  for (const [name, value] of Object.entries({ ascent, descent, capHeight, xHeight, lineGap: 0 })) {
    Object.defineProperty(font, name, { value, configurable: true })
  }
}

const STANDARD_MEASURES: Readonly<Record<string, readonly [number, number, number, number]>> = {
  Arimo: [900, -200, 690, 490],
  Tinos: [900, -220, 650, 440],
  Cousine: [900, -230, 550, 390],
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/**
 * The fonts that react-pdf draws with. react-pdf's own store is global and never forgets. So the fonts of a template are in it only during
 * one render, under names that no template can write. Between renders we keep only the files, unpacked and tested.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { ServiceError } from '@platen/contract/error.ts'
import { openLruCache, tenantPart } from '@platen/contract/lru-cache.ts'
import type { Asset, AssetDigest, FontReference, TenantId } from '@platen/contract/tenant.ts'
import { Font as Store } from '@react-pdf/renderer'
import type { Font } from 'fontkit'
import { THREAD_ASSET_CACHE_BYTES_MAX } from '../../limit.ts'
import { inspectFont, openFont, unpackFont } from '../../template/asset/font/font-file.ts'
import {
  DEFAULT_FAMILY,
  type Families,
  faceFor,
  fontFaces,
  LAST_RESORT,
  plainText,
} from '../../template/asset/fonts.ts'
import { isVisible } from '../../template/asset/glyph.ts'
import { isFontKind, kindOf } from '../../template/asset/kind.ts'
import { cachePairs } from './shaping.ts'
import { cacheSubsets } from './subset-cache.ts'

export interface FontStore {
  /**
   * Puts a template's fonts into react-pdf's store until they are disposed. Throws `ServiceError` with `asset_unavailable`, naming the
   * asset, if a font cannot be used.
   */
  register(fonts: readonly FontReference[], owner: FontOwner): Disposable & { readonly families: Families }
  /** The character that a glyph of a laid-out run stands for, if no font has it. */
  readonly missing: (font: unknown, glyph: Glyph) => string | undefined
}

/** The tenant that owns the fonts, and their files. */
interface FontOwner {
  readonly tenant: TenantId
  readonly assets: readonly Asset[]
}

/** A glyph of a laid-out run. */
export interface Glyph {
  readonly id: number
  readonly codePoints: readonly number[]
}

/** Loads the fonts that every template has. Call it once per thread. It serves one render at a time. */
export function openFontStore(): FontStore {
  const lastResort = lastResortOver(addDefaults())
  addFamily(LAST_RESORT, [{ weight: 400, style: 'normal', font: () => lastResort }])
  const kept = openLruCache<LoadedFont>(THREAD_ASSET_CACHE_BYTES_MAX, ({ bytes }) => bytes)
  return {
    register(fonts, { tenant, assets }) {
      const ownKept = tenantPart(kept, tenant)
      const faces = fonts.map(({ family, weight, style, asset: name }) => {
        const asset = assets.find((candidate) => candidate.name === name)
        if (asset === undefined) throw new ServiceError('asset_unavailable', `asset ${name}: there is no such asset`)
        const { font } = ownKept.get(asset.digest) ?? ownKept.set(asset.digest, loadFont(asset))
        return { family, weight, style, digest: asset.digest, file: font }
      })
      const own = ownFonts(faces)
      const families = new Map(own.map(({ family }, index) => [family, `template ${index}`]))
      for (const [family, name] of families) {
        addFamily(
          name,
          own.filter((face) => face.family === family),
        )
      }
      return {
        families,
        [Symbol.dispose]() {
          for (const name of families.values()) delete registered()[name]
        },
      }
    },
    missing: (font, { id, codePoints: [codePoint] }) =>
      id === 0 && codePoint !== undefined && isFont(font, lastResort) ? String.fromCodePoint(codePoint) : undefined,
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

function loadFont({ name, bytes, digest }: Asset): LoadedFont {
  try {
    const kind = kindOf(bytes)
    if (kind === undefined || !isFontKind(kind)) throw new ServiceError('asset_unavailable', 'this is not a font')
    const sfnt = unpackFont(bytes, kind)
    const facts = inspectFont(sfnt)
    if (facts.unfit !== undefined) throw new ServiceError('asset_unavailable', `this is ${facts.unfit}`)
    // Open it again: the tested one has cached glyphs from its test.
    const font = openFont(sfnt)
    measureLetters(font)
    cacheSubsets(font)
    // pdfkit writes this name into the PDF unchanged, and treats fonts with the same name as one font.
    Object.defineProperty(font, 'postscriptName', { value: `${facts.name}-${digest.slice(0, 8)}` })
    return { font, bytes: sfnt.length }
  } catch (cause) {
    // Only the file can cause an error here. fontkit throws any kind of error for it, including stack overflows.
    const reason = cause instanceof ServiceError ? cause.message : 'the font is damaged'
    throw new ServiceError('asset_unavailable', `asset ${name}: ${reason}`, { cause })
  }
}

/**
 * Makes the fonts of one render. A font caches each glyph with the characters it was first used for, so one document would leave traces in
 * the next. So each render gets a font without glyphs over the tables of the cached font. The cached font itself is never laid out.
 */
function ownFonts(faces: readonly OwnFace[]): readonly (Face & { readonly family: string })[] {
  const own = new Map<AssetDigest, Font>()
  return faces.map(({ family, weight, style, digest, file }) => {
    const font: Font = own.get(digest) ?? prepared(Object.assign(Object.create(file), { _glyphs: {} }))
    own.set(digest, font)
    return { family, weight, style, font: () => font }
  })
}

/** What react-pdf uses of a family, and of the source it gets for a face. */
interface Family {
  readonly sources: readonly Source[]
  resolve(descriptor: { fontWeight?: unknown; fontStyle?: unknown }): Source
}
interface Source {
  readonly fontWeight: number
  readonly fontStyle: string
  readonly data: object | null
  load(): Promise<void>
}

/** react-pdf's own record of families. react-pdf returns the object itself, so additions to it take effect. */
function registered(): Record<string, Family> {
  return Store.getRegisteredFonts()
}

/**
 * Adds or replaces a family. Every text gets its own object for the same font. Otherwise react-pdf sees one run if an inner text takes a
 * letter from the same font of the chain. It then draws the inner text with the first font of its chain. The letters come out wrong,
 * because that font does not include them (Ω in Helvetica comes out as ©).
 */
function addFamily(name: string, faces: readonly Face[]): void {
  const found = new Map<string, Face | undefined>()
  const find = (weight: number, style: Face['style']) => {
    const key = `${weight} ${style}`
    if (!found.has(key)) found.set(key, faceFor(faces, { weight, style }))
    return found.get(key)
  }
  registered()[name] = {
    sources: [],
    resolve({ fontWeight, fontStyle }) {
      const face = find(weightOf(fontWeight), fontStyle === 'italic' ? 'italic' : 'normal')
      if (face === undefined) throw new RangeError(`the family ${name} has no face`)
      return {
        fontWeight: face.weight,
        fontStyle: face.style,
        data: Object.create(face.font()),
        load: async () => undefined,
      }
    },
  }
}

/**
 * Computes what a font computes once, so that the objects over it do not each compute it. Also stores the measures that every run of
 * letters reads, which otherwise need a table lookup.
 */
function prepared(font: Font): Font {
  font.layout('')
  font.hasGlyphForCodePoint(0x20)
  assert(font.bbox !== undefined, 'a font has a box')
  for (const measure of MEASURES) Object.defineProperty(font, measure, { value: font[measure], configurable: true })
  return font
}

const MEASURES = ['unitsPerEm', 'ascent', 'descent', 'lineGap'] as const

/** Whether this is an object over the font. */
function isFont(font: unknown, original: object): boolean {
  return typeof font === 'object' && font !== null && Object.getPrototypeOf(font) === original
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

/** In a style it is already a number. In an SVG attribute it is as the author wrote it. */
function weightOf(fontWeight: unknown): number {
  return Number(fontWeight) || WEIGHTS[String(fontWeight).toLowerCase()] || 400
}

/** Adds the fonts that every template has and returns the default one. Each file is read on first use. */
function addDefaults(): Font {
  for (const [name, { sources }] of Object.entries(registered())) {
    const faces = sources.map((source) => ({ ...faceOf(source), font: () => standardFont(source) }))
    addFamily(name, faces)
  }
  const faces = fontFaces().map((face) => ({ ...face, font: once(() => readDefault(face.file)) }))
  for (const [name, family] of Map.groupBy(faces, ({ family }) => family)) addFamily(name, family)
  const first = faces.find(({ family }) => family === DEFAULT_FAMILY)
  assert(first !== undefined, 'the default family is among them')
  return first.font()
}

function faceOf({ fontWeight, fontStyle }: Source): Pick<Face, 'weight' | 'style'> {
  return { weight: fontWeight, style: fontStyle === 'italic' ? 'italic' : 'normal' }
}

/** One of the standard PDF fonts. react-pdf gives it the interface of a fontkit font, and loads it synchronously. */
function standardFont(source: Source): Font {
  if (source.data === null) void source.load()
  assert(source.data !== null, 'a standard font is there at once')
  return source.data as Font
}

function readDefault(file: string): Font {
  const font = openFont(readFileSync(file))
  nameGlyphs(font)
  measureLetters(font)
  cacheSubsets(font)
  cachePairs(font)
  // The first layout makes it read its rules.
  font.layout('a')
  return prepared(font)
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/**
 * Prevents the traces that `ownFonts` prevents, for fonts that keep their glyphs. Problem: writing a document may first meet a glyph as a
 * part of another, as the s of ś, and caches it without characters. In every later document of the thread that letter is visible but cannot
 * be copied or searched. So we give every glyph its characters before the first document.
 */
function nameGlyphs(font: Font): void {
  for (const codePoint of font.characterSet) {
    const glyph = font.glyphForCodePoint(codePoint)
    const letters = Array.from(
      plainText(String.fromCodePoint(codePoint)),
      (letter) => letter.codePointAt(0) ?? codePoint,
    )
    Object.assign(glyph, { codePoints: letters, isLigature: letters.length > 1 })
  }
}

/** Measures heights that older fonts, such as DejaVu, do not declare. A drawing whose text uses them would fail. */
function measureLetters(font: Font): void {
  const heightOf = (letter: string) => font.glyphForCodePoint(letter.codePointAt(0) ?? 0).bbox.maxY
  for (const [height, letter] of [
    ['capHeight', 'H'],
    ['xHeight', 'x'],
  ] as const) {
    // The type says number, but old files do not have it.
    const known: number | undefined = font[height]
    if (known === undefined) Object.defineProperty(font, height, { value: heightOf(letter) })
  }
}

/**
 * The last font of every chain. Without it react-pdf uses Helvetica there, which draws another letter for a character it does not have.
 * This one draws the box of the default font and keeps the character with each box.
 */
function lastResortOver(font: Font): Font {
  const space = font.glyphForCodePoint(0x20)
  const glyphForCodePoint = (codePoint: number): typeof space =>
    isVisible(String.fromCodePoint(codePoint))
      ? Object.create(font.getGlyph(0), { codePoints: { value: [codePoint] } })
      : space
  return Object.assign(Object.create(font), {
    hasGlyphForCodePoint: () => true,
    glyphForCodePoint,
    layout(text: string) {
      const characters = Array.from(text)
      const glyphs = characters.map((character) => glyphForCodePoint(character.codePointAt(0) ?? 0))
      const positions = glyphs.map((glyph, index) => ({
        xAdvance: glyph === space && characters[index] !== '\t' ? 0 : glyph.advanceWidth,
        yAdvance: 0,
        xOffset: 0,
        yOffset: 0,
      }))
      return { glyphs, positions }
    },
  })
}

/**
 * The fonts react-pdf draws with. Its own store is global and never forgets, so a template's fonts are in it for the length
 * of one render only, under names no template can write; what is kept here between renders is the files, unpacked and tried out.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { ServiceError } from '@platen/contract/error.ts'
import { THREAD_ASSET_CACHE_BYTES_MAX } from '@platen/contract/limit.ts'
import type { Asset, AssetDigest, FontReference, TenantId } from '@platen/contract/tenant.ts'
import { Font as Store } from '@react-pdf/renderer'
import type { Font } from 'fontkit'
import { openLruCache, tenantPart } from '../../lru-cache.ts'
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
   * Puts a template's fonts into react-pdf's store, until they are disposed of. Throws `ServiceError` with
   * `asset_unavailable`, naming the asset, for a font that cannot be used.
   */
  register(fonts: readonly FontReference[], owner: FontOwner): Disposable & { readonly families: Families }
  /** The character a glyph of a laid-out run stands for, if no font has it. */
  readonly missing: (font: unknown, glyph: Glyph) => string | undefined
}

/** Whose the fonts are, and the files they are in. */
interface FontOwner {
  readonly tenant: TenantId
  readonly assets: readonly Asset[]
}

/** Of a laid-out run. */
export interface Glyph {
  readonly id: number
  readonly codePoints: readonly number[]
}

/** Loads the fonts every template has. Once in a thread, and for one render at a time. */
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
  /** Always the same one. */
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
    // Anew, as the one that was tried out has kept glyphs of its trial.
    const font = openFont(sfnt)
    measureLetters(font)
    cacheSubsets(font)
    // pdfkit writes it into the PDF as it is, and takes fonts of one name for one font.
    Object.defineProperty(font, 'postscriptName', { value: `${facts.name}-${digest.slice(0, 8)}` })
    return { font, bytes: sfnt.length }
  } catch (cause) {
    // Nothing but the file is at work here, and fontkit throws whatever it stumbles over, stack overflows included.
    const reason = cause instanceof ServiceError ? cause.message : 'the font is damaged'
    throw new ServiceError('asset_unavailable', `asset ${name}: ${reason}`, { cause })
  }
}

/**
 * The fonts of one render. A font keeps each glyph with the characters it was first asked for, so that one document would
 * leave its traces in the next: each render gets a font of no glyphs yet over the tables of the kept one, which is never laid out.
 */
function ownFonts(faces: readonly OwnFace[]): readonly (Face & { readonly family: string })[] {
  const own = new Map<AssetDigest, Font>()
  return faces.map(({ family, weight, style, digest, file }) => {
    const font: Font = own.get(digest) ?? prepared(Object.assign(Object.create(file), { _glyphs: {} }))
    own.set(digest, font)
    return { family, weight, style, font: () => font }
  })
}

/** What react-pdf asks of a family, and of the source it is given for a face. */
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

/** react-pdf's own record of families: it hands it out, and takes from it what is put there. */
function registered(): Record<string, Family> {
  return Store.getRegisteredFonts()
}

/**
 * Adds a family, or takes the place of one. Every text gets an object of its own for the same font: where a text stands within
 * another and takes a letter from the same font of the chain, react-pdf else sees one run over both, and draws the inner
 * text with the first font of its chain, letters it has not included (Ω in Helvetica comes out as ©).
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
 * The font, when it has made what it makes once, so that the objects over it do not make it each; and with what is asked with
 * every run of letters at hand, for which it else looks into its tables.
 */
function prepared(font: Font): Font {
  font.layout('')
  font.hasGlyphForCodePoint(0x20)
  assert(font.bbox !== undefined, 'a font has a box')
  for (const measure of MEASURES) Object.defineProperty(font, measure, { value: font[measure], configurable: true })
  return font
}

const MEASURES = ['unitsPerEm', 'ascent', 'descent', 'lineGap'] as const

/** Is this the font, or one of its objects? */
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

/** In a style it is a number by now, in an attribute of an SVG it is as it was written. */
function weightOf(fontWeight: unknown): number {
  return Number(fontWeight) || WEIGHTS[String(fontWeight).toLowerCase()] || 400
}

/** Adds the fonts every template has, each to be read when it is first used, and gives the default one. */
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

/** One of the fonts of PDF itself, which react-pdf makes to look like one of fontkit's, and without waiting for anything. */
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
  // It reads its rules when it first sets a letter.
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
 * What `ownFonts` does for a template's fonts, for those that are worth keeping with their glyphs: a glyph first met as a
 * part of another (the s of ś, when a document is written out) is kept without characters, and in every later document of the
 * thread that letter could be seen but not copied or searched. So every glyph is given its characters before any document can.
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

/** Heights an older font, as DejaVu is, does not tell: a drawing that sets its text by them would fail. */
function measureLetters(font: Font): void {
  const heightOf = (letter: string) => font.glyphForCodePoint(letter.codePointAt(0) ?? 0).bbox.maxY
  for (const [height, letter] of [
    ['capHeight', 'H'],
    ['xHeight', 'x'],
  ] as const) {
    // Its type promises more than old files keep.
    const known: number | undefined = font[height]
    if (known === undefined) Object.defineProperty(font, height, { value: heightOf(letter) })
  }
}

/**
 * The end of every chain of fonts. Without it react-pdf takes Helvetica there, which draws another letter for a character it
 * has not. This one draws the box of the default font, keeping the character with each.
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

/**
 * Knows which characters the fonts of a document have. If a family lacks a character, Chromium draws it with any other font it knows. So a
 * character is missing only if neither the service's fonts nor the fonts that the text names have it. That is rare, and most documents are
 * ruled out by one regular expression.
 */

import type { Asset, TenantId } from '@platen/contract/domain/tenant.ts'
import { openLruCache, tenantPart } from '@platen/lib/lru-cache.ts'
import type { Font } from 'fontkit'
import { MISSING_GLYPHS_COUNTED_MAX } from '../../limit.ts'
import type { RenderWork } from '../../port/engine.ts'
import { defaultFaces, EMOJI_FAMILY, type FontFace } from '../asset/font/default-fonts.ts'
import { readTable } from '../asset/font/table-file.ts'
import { isDrawn, isVisible } from '../asset/glyph.ts'
import { isFontKind, kindOf } from '../asset/kind.ts'
import { isPlain } from './plain.ts'

const KIB = 1024

/**
 * Limits the text with the characters of all fonts of a template that goes into a page. Adjacent characters are one range. A font beyond
 * the limit counts as complete.
 */
export const FONT_COVERAGE_CHARS_MAX = 512 * KIB

/** Template fonts whose characters a render thread caches, at most a megabyte each. */
const FONT_COVERAGES_MAX = 32

/** Each text of characters is the inside of a character class with the flag `u`. */
export interface Coverage {
  readonly defaults: string
  /** The fonts of the template. Their characters together are at most `FONT_COVERAGE_CHARS_MAX` long. */
  readonly fonts: readonly FontCoverage[]
}

interface FontCoverage {
  readonly families: readonly string[]
  readonly characters: string
  /** Characters of the document that the font has but does not draw. A browser takes no other font for them. */
  readonly blanks: string
}

interface KnownFont {
  readonly characters: string
  /** By code point: whether the font has the character but draws nothing. */
  readonly blanks: Map<number, boolean>
}

interface GlyphScan {
  /** The characters of `html`, a header or footer, that no font of the service has. */
  missingIn(html: string): Promise<string>
  /** Finds missing characters in the page. Undefined if no character of `html` can be missing. */
  coverageFor(html: string, work: RenderWork): Promise<Coverage | undefined>
}

/** Reads no font, and loads no font reader, before the first document that needs one. */
export function openGlyphScan(faces: readonly FontFace[] = defaultFaces()): GlyphScan {
  const known = openLruCache<KnownFont>(FONT_COVERAGES_MAX)
  let defaults: Promise<string> | undefined
  let outside: RegExp | undefined

  const ofDefaults = () => {
    defaults ??= defaultCharacters(faces).then(classOf)
    return defaults
  }
  const strangers = async (html: string): Promise<ReadonlySet<string>> => {
    const found = new Set<string>()
    if (isPlain(html)) return found
    outside ??= new RegExp(`[^${await ofDefaults()}]`, 'gu')
    for (const [character] of decodeEntities(html).matchAll(outside)) {
      if (found.size === MISSING_GLYPHS_COUNTED_MAX) break
      found.add(character)
    }
    return found
  }
  const knownFont = async (asset: Asset, tenant: TenantId): Promise<KnownFont> => {
    const own = tenantPart(known, tenant)
    const { digest } = asset
    return own.get(digest) ?? own.set(digest, { characters: classOf(await charactersOf(asset)), blanks: new Map() })
  }

  return {
    missingIn: async (html) => Array.from(await strangers(html)).join(''),
    async coverageFor(html, { tenant, template, assets, javascriptEnabled }) {
      const isScripted = javascriptEnabled && template.html?.javascript === true
      const own = Array.from(
        Map.groupBy(template.fonts ?? [], ({ asset }) => asset),
        ([name, faces]) => ({ asset: assets.find((asset) => asset.name === name), faces }),
      )
      const shown = own.length === 0 ? [] : visibleIn(html)
      const fonts: FontCoverage[] = []
      for (const { asset, faces } of own) {
        if (asset === undefined) continue
        const font = await knownFont(asset, tenant)
        const blanks = await blanksOf(asset, font, shown)
        fonts.push({ families: faces.map(({ family }) => family), characters: font.characters, blanks })
      }
      // Scripts may write any character.
      const mayMiss = isScripted || fonts.some(({ blanks }) => blanks !== '') || (await strangers(html)).size > 0
      return mayMiss ? { defaults: await ofDefaults(), fonts: fonts.map(bounded(FONT_COVERAGE_CHARS_MAX)) } : undefined
    },
  }
}

/** Numeric entities only: DejaVu has the characters of named ones, except for a few letters of formulas. */
function decodeEntities(html: string): string {
  return html.replace(/&#(?:(\d{1,7})|x([\da-f]{1,6}));?/gi, (entity, decimal?: string, hex?: string) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })
}

function bounded(charsMax: number): (font: FontCoverage) => FontCoverage {
  let charsLeft = charsMax
  return (font) => {
    const characters = font.characters.length <= charsLeft ? font.characters : EVERY_CHARACTER
    charsLeft -= characters.length
    return { ...font, characters }
  }
}

/** Including the characters of tags. */
function visibleIn(html: string): readonly number[] {
  const characters = Array.from(new Set(decodeEntities(html))).filter(isVisible)
  return characters.slice(0, BLANKS_TRIED_MAX).map((character) => character.codePointAt(0) ?? 0)
}

/** Characters of a document that are tried in its fonts. Up to twice as many are cached for each font. */
const BLANKS_TRIED_MAX = 10_000

/** The characters of `shown` that the font does not draw. It is opened only for new characters. */
async function blanksOf(asset: Asset, { blanks }: KnownFont, shown: readonly number[]): Promise<string> {
  if (blanks.size > BLANKS_TRIED_MAX) blanks.clear()
  const unknown = shown.filter((code) => !blanks.has(code))
  if (unknown.length > 0) {
    const opened = await openedOf(asset)
    for (const code of unknown) blanks.set(code, opened?.isBlank(code) === true)
  }
  const found = shown.filter((code) => blanks.get(code) === true)
  return found.slice(0, MISSING_GLYPHS_COUNTED_MAX).map(escaped).join('')
}

async function charactersOf(asset: Asset): Promise<readonly number[]> {
  return (await openedOf(asset))?.font.characterSet ?? []
}

interface OpenedFont {
  readonly font: Font
  readonly isBlank: (codePoint: number) => boolean
}

/** An unreadable font has no characters, and an unreadable glyph is not blank. Chromium will report the fault. */
async function openedOf({ bytes }: Asset): Promise<OpenedFont | undefined> {
  const { hasPictures, openFont, unpackFont } = await import('../asset/font/font-file.ts')
  const kind = kindOf(bytes)
  if (kind === undefined || !isFontKind(kind)) return undefined
  try {
    const sfnt = await unpackFont(bytes, kind)
    const font = openFont(sfnt)
    const mayBeBlank = !hasPictures(sfnt)
    const isBlank = (code: number) => {
      try {
        return mayBeBlank && font.hasGlyphForCodePoint(code) && !isDrawn(font, code)
      } catch {
        return false
      }
    }
    return { font, isBlank }
  } catch {
    return undefined
  }
}

/** Only families that Chromium sees (`font-config.ts`). If a bold face lacks a character, Chromium takes the regular one. */
async function defaultCharacters(faces: readonly FontFace[]): Promise<readonly number[]> {
  const regular = faces.filter(
    ({ family, weight, style }) => family !== EMOJI_FAMILY && weight === 400 && style === 'normal',
  )
  const { create } = await import('fontkit')
  const fonts = regular.map(({ file }) => create(readTable(file, 'cmap')))
  return fonts.flatMap((font) => ('characterSet' in font ? font.characterSet : []))
}

const EVERY_CHARACTER = '\\0-\\u{10ffff}'

const UNSEEN = '\\p{Cc}\\p{Cs}\\p{Z}\\p{Default_Ignorable_Code_Point}'

function classOf(characters: readonly number[]): string {
  const ranges: { first: number; last: number }[] = []
  for (const code of Array.from(new Set(characters)).sort((left, right) => left - right)) {
    const range = ranges.at(-1)
    if (range?.last === code - 1) range.last = code
    else ranges.push({ first: code, last: code })
  }
  return UNSEEN + ranges.map(({ first, last }) => `${escaped(first)}-${escaped(last)}`).join('')
}

function escaped(code: number): string {
  return `\\u{${code.toString(16)}}`
}

/**
 * Knows which characters the fonts of a document have. If a family lacks a character, Chromium draws it with any other font it knows. So a
 * character is missing only if neither the service's fonts nor the fonts that the text names have it. Characters that no font has are rare.
 * One regular expression recognises documents that cannot have any, and they cost no more than that.
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
 * Size of the text that lists the characters of all fonts of a template on its way into a page. A range of adjacent characters takes
 * little. A font with too many separate ones counts as having every character.
 */
export const FONT_COVERAGE_CHARS_MAX = 512 * KIB

/** Fonts of templates whose characters a render thread caches, a megabyte each at most. */
const FONT_COVERAGES_MAX = 32

/** Sets of characters. Each is the inside of a character class in a regular expression with the flag `u`. */
export interface Coverage {
  /** The characters of the service's fonts. */
  readonly defaults: string
  /** The fonts of the template. Their characters together are at most `FONT_COVERAGE_CHARS_MAX` long. */
  readonly fonts: readonly FontCoverage[]
}

interface FontCoverage {
  /** The families that it is used in. */
  readonly families: readonly string[]
  readonly characters: string
  /** Those of the document that it has, and draws nothing for. A browser takes no other font for them. */
  readonly blanks: string
}

/** What is known of a font of a template. */
interface KnownFont {
  readonly characters: string
  /** By code point: whether it has the character and draws nothing for it. */
  readonly blanks: Map<number, boolean>
}

interface GlyphScan {
  /** The characters of `html`, a header or footer, that no font of the service has. */
  missingIn(html: string): Promise<string>
  /** The data to find missing characters in the page. Undefined if no character of `html` can be missing. */
  coverageFor(html: string, work: RenderWork): Promise<Coverage | undefined>
}

/** Opens a scan. It reads no font, and loads nothing that could, before the first document that has something to look for. */
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
      // Nobody knows what scripts will write.
      const mayMiss = isScripted || fonts.some(({ blanks }) => blanks !== '') || (await strangers(html)).size > 0
      return mayMiss ? { defaults: await ofDefaults(), fonts: fonts.map(bounded(FONT_COVERAGE_CHARS_MAX)) } : undefined
    },
  }
}

/** Decodes numeric entities only. DejaVu has the characters of named ones, except for a few letters of formulas. */
function decodeEntities(html: string): string {
  return html.replace(/&#(?:(\d{1,7})|x([\da-f]{1,6}));?/gi, (entity, decimal?: string, hex?: string) => {
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : entity
  })
}

/** Counts the fonts beyond the limit as complete. */
function bounded(charsMax: number): (font: FontCoverage) => FontCoverage {
  let charsLeft = charsMax
  return (font) => {
    const characters = font.characters.length <= charsLeft ? font.characters : EVERY_CHARACTER
    charsLeft -= characters.length
    return { ...font, characters }
  }
}

/** Visible characters of `html`, those of its tags among them. */
function visibleIn(html: string): readonly number[] {
  const characters = Array.from(new Set(decodeEntities(html))).filter(isVisible)
  return characters.slice(0, BLANKS_TRIED_MAX).map((character) => character.codePointAt(0) ?? 0)
}

/** Characters of a document to try in its fonts. Of each font twice as many are known. */
const BLANKS_TRIED_MAX = 10_000

/** The characters among `shown` for which the font draws nothing. It is opened only for characters that are new. */
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

/** A font that cannot be read has no characters, and a glyph that cannot be read is no blank. Chromium will report what is wrong with it. */
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

/** Only of the families that Chromium sees. See `font-config.ts`. If a bold face lacks a character, Chromium takes the regular one. */
async function defaultCharacters(faces: readonly FontFace[]): Promise<readonly number[]> {
  const regular = faces.filter(
    ({ family, weight, style }) => family !== EMOJI_FAMILY && weight === 400 && style === 'normal',
  )
  const { create } = await import('fontkit')
  const fonts = regular.map(({ file }) => create(readTable(file, 'cmap')))
  return fonts.flatMap((font) => ('characterSet' in font ? font.characterSet : []))
}

/** A font above the limit counts as complete. */
const EVERY_CHARACTER = '\\0-\\u{10ffff}'

/** These characters are invisible in every font. */
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

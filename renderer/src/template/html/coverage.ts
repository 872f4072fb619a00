/**
 * Knows which characters the fonts of a document have. If a family lacks a character, Chromium draws it with any other font it knows. So a
 * character is missing only if neither the service's fonts nor the fonts that the text names have it. Characters that no font has are rare.
 * One regular expression recognises documents that cannot have any, and they cost no more than that.
 */
import { openLruCache, tenantPart } from '@platen/contract/lru-cache.ts'
import type { Asset, TenantId } from '@platen/contract/tenant.ts'
import { MISSING_GLYPHS_COUNTED_MAX } from '../../limit.ts'
import type { RenderWork } from '../../port/engine.ts'
import { defaultFaces, EMOJI_FAMILY, type FontFace } from '../asset/font/default-fonts.ts'
import { readTable } from '../asset/font/table-file.ts'
import { FONT_COVERAGE_CHARS_MAX, FONT_COVERAGES_MAX } from '../limit.ts'
import { isPlain } from './plain.ts'

/** Sets of characters. Each is the inside of a character class in a regular expression with the flag `u`. */
export interface Coverage {
  /** The characters of the service's fonts. */
  readonly defaults: string
  /** The characters of each font of the template, and the families it is used in. Together at most `FONT_COVERAGE_CHARS_MAX` long. */
  readonly fonts: readonly { readonly families: readonly string[]; readonly characters: string }[]
}

export interface GlyphScan {
  /** The characters of `html`, a header or footer, that no font of the service has. */
  missingIn(html: string): Promise<string>
  /** The data to find missing characters in the page. Undefined if no character of `html` can be missing. */
  coverageFor(html: string, work: RenderWork): Promise<Coverage | undefined>
}

/** Opens a scan. It reads no font, and loads nothing that could, before the first document that has something to look for. */
export function openGlyphScan(faces: readonly FontFace[] = defaultFaces()): GlyphScan {
  const known = openLruCache<string>(FONT_COVERAGES_MAX)
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
  const ofFont = async ({ digest, bytes }: Asset, tenant: TenantId): Promise<string> => {
    const own = tenantPart(known, tenant)
    return own.get(digest) ?? own.set(digest, classOf(await charactersOf(Buffer.from(bytes))))
  }

  return {
    missingIn: async (html) => Array.from(await strangers(html)).join(''),
    async coverageFor(html, { tenant, template, assets, javascriptEnabled }) {
      const isScripted = javascriptEnabled && template.html?.javascript === true
      // Nobody knows what scripts will write.
      if (!isScripted && (await strangers(html)).size === 0) return undefined
      const named = Map.groupBy(template.fonts ?? [], ({ asset }) => assets.find(({ name }) => name === asset))
      let charsLeft = FONT_COVERAGE_CHARS_MAX
      const fonts: Coverage['fonts'][number][] = []
      for (const [asset, faces] of named) {
        if (asset === undefined) continue
        const own = await ofFont(asset, tenant)
        const characters = own.length <= charsLeft ? own : EVERY_CHARACTER
        charsLeft -= characters.length
        fonts.push({ families: faces.map(({ family }) => family), characters })
      }
      return { defaults: await ofDefaults(), fonts }
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

/** Only of the families that Chromium sees. See `font-config.ts`. If a bold face lacks a character, Chromium takes the regular one. */
async function defaultCharacters(faces: readonly FontFace[]): Promise<readonly number[]> {
  const regular = faces.filter(
    ({ family, weight, style }) => family !== EMOJI_FAMILY && weight === 400 && style === 'normal',
  )
  const characters = await Promise.all(regular.map(({ file }) => charactersOf(readTable(file, 'cmap'))))
  return characters.flat()
}

/** A font that cannot be read has no characters. Chromium will report what is wrong with it. */
async function charactersOf(file: Buffer): Promise<readonly number[]> {
  const { create } = await import('fontkit')
  try {
    const font = create(file)
    return 'characterSet' in font ? font.characterSet : []
  } catch {
    return []
  }
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

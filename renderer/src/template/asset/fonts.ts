/**
 * The fonts that every document can use: DejaVu, which covers Latin, Greek, Cyrillic and symbols, and the 14 fonts that PDF readers
 * include.
 */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { FontReference } from '@platen/contract/tenant.ts'

export interface FontFace {
  readonly family: string
  /** Absolute path of a TrueType file. */
  readonly file: string
  readonly weight: 400 | 700
  readonly style: 'normal' | 'italic'
}

export const DEFAULT_FAMILY = 'DejaVu Sans'

const DEJAVU = [
  { family: DEFAULT_FAMILY, stem: 'DejaVuSans', slanted: 'Oblique' },
  { family: 'DejaVu Serif', stem: 'DejaVuSerif', slanted: 'Italic' },
  { family: 'DejaVu Sans Mono', stem: 'DejaVuSansMono', slanted: 'Oblique' },
] as const

/** The standard PDF families, by react-pdf's names. PDF readers include them. They cover only Western European letters. */
const STANDARD_FAMILIES = [
  'Helvetica',
  'Helvetica-Bold',
  'Helvetica-Oblique',
  'Helvetica-BoldOblique',
  'Times-Roman',
  'Times-Bold',
  'Times-Italic',
  'Times-BoldItalic',
  'Courier',
  'Courier-Bold',
  'Courier-Oblique',
  'Courier-BoldOblique',
]

export const FAMILIES: ReadonlySet<string> = new Set([...DEJAVU.map(({ family }) => family), ...STANDARD_FAMILIES])

/** The folder of the DejaVu files, for code that configures fonts by folder. */
export function fontFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf')
}

/** The DejaVu faces: three families in regular, bold, and their italic forms. */
export function fontFaces(): readonly FontFace[] {
  const folder = fontFolder()
  return DEJAVU.flatMap(({ family, stem, slanted }) => [
    { family, file: join(folder, `${stem}.ttf`), weight: 400, style: 'normal' },
    { family, file: join(folder, `${stem}-Bold.ttf`), weight: 700, style: 'normal' },
    { family, file: join(folder, `${stem}-${slanted}.ttf`), weight: 400, style: 'italic' },
    { family, file: join(folder, `${stem}-Bold${slanted}.ttf`), weight: 700, style: 'italic' },
  ])
}

/** Maps the family names of a template's author to the names that react-pdf knows. No author can write the latter. */
export type Families = ReadonlyMap<string, string>

/** Has a glyph for every character: a box for a visible one, and nothing for an invisible one. */
export const LAST_RESORT = 'last resort'

/**
 * A family and its fallbacks for missing letters, those of its own kind first. A template's own family hides a default family of the same
 * name.
 */
export function withFallback(names: readonly string[], families: Families): readonly string[] {
  const [first = ''] = names
  const kin = first.startsWith('Times') ? ['DejaVu Serif'] : first.startsWith('Courier') ? ['DejaVu Sans Mono'] : []
  return [...new Set([...names.map((name) => families.get(name) ?? name), ...kin, DEFAULT_FAMILY, LAST_RESORT])]
}

/** The face of a family that CSS would choose. */
export function faceFor<Face extends Pick<FontReference, 'weight' | 'style'>>(
  faces: readonly Face[],
  { weight, style }: Pick<FontReference, 'weight' | 'style'>,
): Face | undefined {
  // If the italic face is missing, the text is upright, and the other way round. A brand rarely has every face, and a browser would slant
  // the upright one.
  const styled = faces.filter((face) => face.style === style)
  const candidates = styled.length > 0 ? styled : faces
  // If two weights are equally suitable, medium text takes the medium one, light text the lighter one, and bold text the bolder one.
  const isMedium = weight >= 400 && weight <= 500
  const rank = (candidate: number) => {
    if (candidate === weight) return 0
    if (isMedium && candidate > weight && candidate <= 500) return 1
    return candidate < weight === weight <= 500 ? 2 : 3
  }
  const distance = (face: Face) => rank(face.weight) * 1000 + Math.abs(face.weight - weight)
  return candidates.toSorted((left, right) => distance(left) - distance(right))[0]
}

/**
 * Replaces presentation forms (ﬁ, ﷺ, the four shapes of an Arabic letter) by their letters. Fonts choose forms themselves; text consists of
 * letters.
 */
export function plainText(text: string): string {
  return text.replace(/[\uFB00-\uFDFF\uFE70-\uFEFC]/g, (form) => form.normalize('NFKC'))
}

/** The fonts every document can use without asking: DejaVu, which covers Latin, Greek, Cyrillic and symbols, and the 14 that PDF readers bring along. */
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

/** Standard families of PDF itself, as react-pdf names them. Readers bring them; they cover Western European letters only. */
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

/** The folder of the DejaVu files, for whoever configures fonts by folder. */
export function fontFolder(): string {
  return join(dirname(createRequire(import.meta.url).resolve('dejavu-fonts-ttf/package.json')), 'ttf')
}

/** The DejaVu faces: three families in regular, bold and their slanted forms. */
export function fontFaces(): readonly FontFace[] {
  const folder = fontFolder()
  return DEJAVU.flatMap(({ family, stem, slanted }) => [
    { family, file: join(folder, `${stem}.ttf`), weight: 400, style: 'normal' },
    { family, file: join(folder, `${stem}-Bold.ttf`), weight: 700, style: 'normal' },
    { family, file: join(folder, `${stem}-${slanted}.ttf`), weight: 400, style: 'italic' },
    { family, file: join(folder, `${stem}-Bold${slanted}.ttf`), weight: 700, style: 'italic' },
  ])
}

/** The families of a template's own, by the names its author gives them → the names react-pdf knows them by, which no author can write. */
export type Families = ReadonlyMap<string, string>

/** Has a glyph for every character: a box for what can be seen, and nothing for what cannot. */
export const LAST_RESORT = 'last resort'

/** A family and what stands in, of its own kind first, for the letters it has not. A family of the template's own hides a default one of its name. */
export function withFallback(names: readonly string[], families: Families): readonly string[] {
  const [first = ''] = names
  const kin = first.startsWith('Times') ? ['DejaVu Serif'] : first.startsWith('Courier') ? ['DejaVu Sans Mono'] : []
  return [...new Set([...names.map((name) => families.get(name) ?? name), ...kin, DEFAULT_FAMILY, LAST_RESORT])]
}

/** Of the faces of one family, the one CSS would take. */
export function faceFor<Face extends Pick<FontReference, 'weight' | 'style'>>(
  faces: readonly Face[],
  { weight, style }: Pick<FontReference, 'weight' | 'style'>,
): Face | undefined {
  // A slant there is not is drawn upright, and the other way round: a brand rarely comes with every face, and a browser would slant it.
  const styled = faces.filter((face) => face.style === style)
  const candidates = styled.length > 0 ? styled : faces
  // Of two weights on either side of the one that is asked for, text of medium weight takes the medium one, light text the lighter, bold text the bolder.
  const isMedium = weight >= 400 && weight <= 500
  const rank = (candidate: number) => {
    if (candidate === weight) return 0
    if (isMedium && candidate > weight && candidate <= 500) return 1
    return candidate < weight === weight <= 500 ? 2 : 3
  }
  const distance = (face: Face) => rank(face.weight) * 1000 + Math.abs(face.weight - weight)
  return candidates.toSorted((left, right) => distance(left) - distance(right))[0]
}

/** Presentation forms (ﬁ, ﷺ, the four shapes of an Arabic letter) → the letters they show. Fonts choose forms by themselves; text is letters. */
export function plainText(text: string): string {
  return text.replace(/[\uFB00-\uFDFF\uFE70-\uFEFC]/g, (form) => form.normalize('NFKC'))
}

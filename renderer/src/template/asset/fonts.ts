/** The fonts every document can use without asking: DejaVu, which covers Latin, Greek, Cyrillic and symbols, and the 14 that PDF readers bring along. */
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

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

/** A family and what stands in, of its own kind first, for the letters it has not. */
export function withFallback(families: readonly string[]): readonly string[] {
  const first = families[0] ?? ''
  const kin = first.startsWith('Times') ? ['DejaVu Serif'] : first.startsWith('Courier') ? ['DejaVu Sans Mono'] : []
  return [...new Set([...families, ...kin, DEFAULT_FAMILY])]
}

/** Presentation forms (ﬁ, ﷺ, the four shapes of an Arabic letter) → the letters they show. Fonts choose forms by themselves; text is letters. */
export function plainText(text: string): string {
  return text.replace(/[\uFB00-\uFDFF\uFE70-\uFEFC]/g, (form) => form.normalize('NFKC'))
}

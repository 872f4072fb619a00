import type { FontReference } from '@platen/contract/domain/tenant.ts'
import { DEFAULT_FAMILIES, DEFAULT_FAMILY, METRIC_FAMILIES } from './font/default-fonts.ts'

/**
 * Names of fonts that are not installed, by the family that replaces them: one of equal widths where there is one. Chromium requests its
 * generic families by the names of Microsoft's fonts, so each of these has the same family as its generic name.
 */
export const ALIASES: Readonly<Record<string, readonly string[]>> = {
  Arimo: ['sans-serif', 'system-ui', 'Arial', 'Helvetica', 'Segoe UI', 'Roboto', 'Inter'],
  Tinos: ['serif', 'Times New Roman', 'Times', 'Times-Roman', 'Georgia', 'Garamond', 'Cambria'],
  Cousine: ['monospace', 'Courier New', 'Courier', 'Consolas'],
  'DejaVu Sans': ['Verdana', 'Tahoma'],
  'DejaVu Sans Mono': ['Menlo', 'Monaco'],
}

const MEANINGS: ReadonlyMap<string, string> = new Map(
  Object.entries(ALIASES).flatMap(([family, names]) => names.map((name) => [name, family] as const)),
)

/** react-pdf also has the single faces of the standard PDF families as families. */
export const FACE_NAMES = [
  ['Helvetica', 'Arimo', 'Oblique'],
  ['Times', 'Tinos', 'Italic'],
  ['Courier', 'Cousine', 'Oblique'],
].flatMap(([name = '', family = '', slanted = '']) => [
  { name: `${name}-Bold`, family, weight: 700, style: 'normal' } as const,
  { name: `${name}-${slanted}`, family, weight: 400, style: 'italic' } as const,
  { name: `${name}-Bold${slanted}`, family, weight: 700, style: 'italic' } as const,
])

export const FAMILIES: ReadonlySet<string> = new Set([
  ...DEFAULT_FAMILIES,
  ...MEANINGS.keys(),
  ...FACE_NAMES.map(({ name }) => name),
])

export const TEXT_FAMILIES: readonly string[] = [
  ...DEFAULT_FAMILIES.slice(0, DEFAULT_FAMILIES.indexOf(METRIC_FAMILIES[0])),
  'Helvetica',
  'Times',
  'Courier',
  'sans-serif',
  'serif',
  'monospace',
]

/** Maps the family names of a template's author to names for react-pdf, which no author can write. */
export type Families = ReadonlyMap<string, string>

/** Has a glyph for every character: a box for a visible one, and nothing for an invisible one. */
export const LAST_RESORT = 'last resort'

/** A template's own family hides a default family of the same name. `LAST_RESORT` asks the families of other scripts. */
export function withFallback(names: readonly string[], families: Families): readonly string[] {
  const known = names.map((name) => families.get(name) ?? MEANINGS.get(name) ?? name)
  return [...new Set([...known, DEFAULT_FAMILY, LAST_RESORT])]
}

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

/** Replaces presentation forms (ﬁ, ﷺ, the four shapes of an Arabic letter) by their letters. Fonts choose the forms themselves. */
export function plainText(text: string): string {
  return text.replace(/[\uFB00-\uFDFF\uFE70-\uFEFC]/g, (form) => form.normalize('NFKC'))
}

/**
 * The font files that every document can use, the same for both engines. They come from npm packages, not from the machine. A package may
 * be absent: then its characters are boxes.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { FALLBACK_FAMILIES, HAN_FAMILIES } from './script.ts'

export interface FontFace {
  readonly family: string
  /** Absolute path of a TrueType file. */
  readonly file: string
  readonly weight: 400 | 700
  readonly style: 'normal' | 'italic'
  /** Threads share it. See `shared-font.ts`. */
  readonly memory?: SharedArrayBuffer
}

export const DEFAULT_FAMILY = 'DejaVu Sans'

const DEJAVU = [
  { family: DEFAULT_FAMILY, stem: 'DejaVuSans', slanted: 'Oblique' },
  { family: 'DejaVu Serif', stem: 'DejaVuSerif', slanted: 'Italic' },
  { family: 'DejaVu Sans Mono', stem: 'DejaVuSansMono', slanted: 'Oblique' },
] as const

export const DEJAVU_FAMILIES: readonly string[] = DEJAVU.map(({ family }) => family)

/** Their letters are as wide as those of Helvetica, Times and Courier. */
export const METRIC_FAMILIES = ['Arimo', 'Tinos', 'Cousine'] as const

/** The colour font is for Chromium. The outline font is for react_pdf only: Chromium would take it for some text. */
export const COLOR_EMOJI_FAMILY = 'Noto Color Emoji'
export const EMOJI_FAMILY = 'Noto Emoji'

/** Families that documents can name, those for text first. */
export const DEFAULT_FAMILIES: readonly string[] = [
  ...DEJAVU_FAMILIES,
  ...METRIC_FAMILIES,
  ...FALLBACK_FAMILIES,
  ...Object.values(HAN_FAMILIES),
  EMOJI_FAMILY,
]

export function defaultFaces(): readonly FontFace[] {
  return [...DEFAULT_FAMILIES, COLOR_EMOJI_FAMILY].flatMap(facesOf)
}

const require = createRequire(import.meta.url)

function facesOf(family: string): readonly FontFace[] {
  const dejavu = DEJAVU.find((known) => known.family === family)
  const folder = packageFolder(
    dejavu ? 'dejavu-fonts-ttf' : `@expo-google-fonts/${family.toLowerCase().replaceAll(' ', '-')}`,
  )
  if (folder === undefined) return []
  const face = (weight: FontFace['weight'], style: FontFace['style'], file: string) => ({ family, file, weight, style })
  if (dejavu) {
    const { stem, slanted } = dejavu
    const file = (suffix: string) => join(folder, 'ttf', `${stem}${suffix}.ttf`)
    return [
      face(400, 'normal', file('')),
      face(700, 'normal', file('-Bold')),
      face(400, 'italic', file(`-${slanted}`)),
      face(700, 'italic', file(`-Bold${slanted}`)),
    ]
  }
  const file = (name: string) => join(folder, name, `${family.replaceAll(' ', '')}_${name}.ttf`)
  return [
    face(400, 'normal', file('400Regular')),
    face(700, 'normal', file('700Bold')),
    face(400, 'italic', file('400Regular_Italic')),
    face(700, 'italic', file('700Bold_Italic')),
  ].filter(({ file }) => existsSync(file))
}

function packageFolder(name: string): string | undefined {
  try {
    return dirname(require.resolve(`${name}/package.json`))
  } catch {
    return undefined
  }
}

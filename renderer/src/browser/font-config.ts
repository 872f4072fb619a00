/**
 * The fonts that Chromium sees: those of `defaultFaces`, whatever the machine has. So a document looks the same on every machine, without
 * configuration. They come through fontconfig: a page would load them each time.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  COLOR_EMOJI_FAMILY,
  DEFAULT_FAMILY,
  defaultFaces,
  EMOJI_FAMILY,
  type FontFace,
} from '../template/asset/font/default-fonts.ts'
import { FALLBACKS, hanFamilies } from '../template/asset/font/script.ts'
import { ALIASES } from '../template/asset/fonts.ts'

/** Writes a fontconfig file and its cache folder into `folder`. Resolves with the file's path, for `FONTCONFIG_FILE`. */
export async function writeFontConfig(folder: string, faces: readonly FontFace[] = defaultFaces()): Promise<string> {
  const [file, cache] = [join(folder, 'fonts.conf'), join(folder, 'font-cache')]
  await mkdir(cache, { recursive: true })
  await writeFile(file, fontConfig({ faces, cache }))
  return file
}

/**
 * The order in which Chromium looks for a character that the families of a text lack. Fontconfig's own order depends on the machine. The
 * order is the same for every language: Chromium keeps its first answer for a character, whatever the language of later documents.
 */
const ORDER = [
  DEFAULT_FAMILY,
  ...FALLBACKS.flatMap(({ family }) => family ?? hanFamilies(undefined)),
  COLOR_EMOJI_FAMILY,
]

function fontConfig({ faces, cache }: { faces: readonly FontFace[]; cache: string }): string {
  // The outline font would win over the colour font for emoji.
  const seen = faces.filter(({ family }) => family !== EMOJI_FAMILY)
  const folders = new Set(seen.map(({ file }) => dirname(file)))
  const aliases = Object.entries(ALIASES).flatMap(([font, names]) => names.map((name) => alias({ name, font })))
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
${Array.from(folders, (folder) => `<dir>${escapeXml(folder)}</dir>`).join('\n')}
<cachedir>${escapeXml(cache)}</cachedir>
<!-- A font of formulas, which would win where nothing else is asked for. -->
<selectfont><rejectfont><glob>*/DejaVuMathTeXGyre.ttf</glob></rejectfont></selectfont>
${aliases.join('\n')}
<!-- The language by which Chromium asks for emoji. -->
<match target="pattern"><test name="lang"><string>und-zsye</string></test>${families('prepend', [COLOR_EMOJI_FAMILY])}</match>
<match target="pattern">${families('append', ORDER)}</match>
</fontconfig>
`
}

/** Binding `same`: Chromium rejects a weak substitute. */
function alias({ name, font }: { name: string; font: string }): string {
  return `<alias binding="same"><family>${name}</family><prefer><family>${font}</family></prefer></alias>`
}

function families(mode: 'prepend' | 'append', names: readonly string[]): string {
  const strings = names.map((name) => `<string>${name}</string>`).join('')
  return `<edit name="family" mode="${mode}" binding="strong">${strings}</edit>`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

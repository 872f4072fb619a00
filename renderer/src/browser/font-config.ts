/**
 * The fonts that Chromium sees: those of one npm package, whatever the machine has. So a document looks the same on every machine, and has
 * Latin, Greek, Cyrillic and symbols without configuration. They come through fontconfig, because a page would pay for loading them each
 * time.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fontFolder } from '../template/asset/fonts.ts'

/**
 * Which font replaces which names. Chromium requests its generic families by the names of Microsoft's fonts, and templates use the common
 * names. A name that is not here uses the next one in its list. The last fallback is Chromium's default font: serif.
 */
const FAMILIES = {
  'DejaVu Sans': ['sans-serif', 'system-ui', 'Arial', 'Helvetica', 'Verdana', 'Tahoma', 'Segoe UI', 'Roboto', 'Inter'],
  'DejaVu Serif': ['serif', 'Times New Roman', 'Times', 'Georgia', 'Garamond', 'Cambria'],
  'DejaVu Sans Mono': ['monospace', 'Courier New', 'Courier', 'Consolas', 'Menlo', 'Monaco'],
}

/** Writes a fontconfig file and its cache folder into `folder`. Resolves with the file's path, for `FONTCONFIG_FILE`. */
export async function writeFontConfig(folder: string): Promise<string> {
  const [file, cache] = [join(folder, 'fonts.conf'), join(folder, 'font-cache')]
  await mkdir(cache, { recursive: true })
  await writeFile(file, fontConfig({ fonts: fontFolder(), cache }))
  return file
}

function fontConfig({ fonts, cache }: { fonts: string; cache: string }): string {
  const aliases = Object.entries(FAMILIES).flatMap(([font, names]) => names.map((name) => alias({ name, font })))
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<dir>${escapeXml(fonts)}</dir>
<cachedir>${escapeXml(cache)}</cachedir>
<!-- A font of formulas, which would win where nothing else is asked for. -->
<selectfont><rejectfont><glob>*/DejaVuMathTeXGyre.ttf</glob></rejectfont></selectfont>
${aliases.join('\n')}
</fontconfig>
`
}

/** `same` binding, because Chromium rejects a weak substitute. */
function alias({ name, font }: { name: string; font: string }): string {
  return `<alias binding="same"><family>${name}</family><prefer><family>${font}</family></prefer></alias>`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/**
 * The documents of `document/` printed by react-pdf alone, as its documentation has it: real React, the default pagination, no
 * sandbox and no translation. It is what the engine is measured against.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { compileFunction } from 'node:vm'
import { setAsStandard } from '@platen/renderer/engine/layout/font-store.ts'
import { DEFAULT_FAMILY, DEJAVU_FAMILIES, defaultFaces } from '@platen/renderer/template/asset/font/default-fonts.ts'
import { FACE_NAMES, plainText } from '@platen/renderer/template/asset/fonts.ts'
import { transpile } from '@platen/renderer/template/tsx/transpile.ts'
import * as reactPdf from '@react-pdf/renderer'
import { createElement, type ReactElement } from 'react'

const FOLDER = join(import.meta.dirname, 'document')

/** One exported component of a file of `document/`. */
export interface Specimen {
  /** `text/Widows`: the file and the export. */
  readonly name: string
  /** A template whose component it is. */
  readonly source: string
}

/** What they are given: both pictures have twelve by eight pixels, and the first is transparent in places. */
export const SPECIMEN_DATA = {
  image:
    'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAwAAAAICAYAAADN5B7xAAAAJ0lEQVR42mP8z4AdVDJU/BdhYGBAxyyMctglRHAYxMIgx0ASGJEaABeHBjOGkX1PAAAAAElFTkSuQmCC',
  photograph:
    'data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAIAAwDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAX/xAAbEAABBAMAAAAAAAAAAAAAAAAAAQYioQMEMf/EABUBAQEAAAAAAAAAAAAAAAAAAAID/8QAGhEAAgIDAAAAAAAAAAAAAAAAAAMEMQUREv/aAAwDAQACEQMRAD8Al6bf5Cizib8EhQBB8pu7DipruLP/2Q==',
  values: [10, 30, 80, 60, 55],
}

export function specimens(): readonly Specimen[] {
  return readdirSync(FOLDER).flatMap((file) => {
    const source = readFileSync(join(FOLDER, file), 'utf8')
    const names = [...source.matchAll(/^export const (\w+)/gm)].map(([, name = '']) => name)
    return names.map((name) => ({
      name: `${basename(file, '.tsx')}/${name}`,
      source: `${source}\nexport { ${name} as default }\n`,
    }))
  })
}

/** In the place of the fonts that PDF readers supply, those that the engine embeds for them. */
function registerStandard(): void {
  const registered = reactPdf.Font.getRegisteredFonts()
  const whole = [
    ['Helvetica', 'Arimo'],
    ['Times-Roman', 'Tinos'],
    ['Courier', 'Cousine'],
  ].flatMap(([name = '', family]) =>
    defaultFaces()
      .filter((face) => face.family === family)
      .map((face) => ({ name, face })),
  )
  const single = FACE_NAMES.flatMap(({ name, ...wanted }) =>
    defaultFaces()
      .filter((face) => face.family === wanted.family && face.weight === wanted.weight && face.style === wanted.style)
      .map((face) => ({ name, face: { ...face, weight: 400, style: 'normal' as const } })),
  )
  for (const { name } of [...whole, ...single]) registered[name]?.sources.splice(0)
  for (const { name, face } of [...whole, ...single]) {
    reactPdf.Font.register({ family: name, src: face.file, fontWeight: face.weight, fontStyle: face.style })
  }
}

interface FontFile {
  readonly familyName: string
  readonly characterSet: readonly number[]
  readonly capHeight?: number
  readonly xHeight?: number
  glyphForCodePoint(codePoint: number): { codePoints: readonly number[]; readonly bbox: { readonly maxY: number } }
}

/**
 * The same fonts and the same hyphenation as in a render thread. Of what DejaVu lacks react-pdf alone would fail, or lose letters:
 * it is given the heights of its letters, and each glyph its character before a document can name it otherwise.
 */
export async function setUpFonts(): Promise<void> {
  for (const { family, file, weight, style } of defaultFaces()) {
    if (!DEJAVU_FAMILIES.includes(family)) continue
    reactPdf.Font.register({ family, src: file, fontWeight: weight, fontStyle: style })
  }
  registerStandard()
  reactPdf.Font.registerHyphenationCallback((word) => word.split('\u00ad'))
  for (const source of Object.values(reactPdf.Font.getRegisteredFonts()).flatMap(({ sources }) => sources)) {
    await source.load()
    // react-pdf's type of a font is built on that of a library without types.
    const font = source.data as FontFile | null
    if (font === null) continue
    // The first character of a glyph: the hyphen, and not the soft hyphen, which no reader shows.
    for (const codePoint of font.characterSet.toReversed()) {
      const letters = Array.from(plainText(String.fromCodePoint(codePoint)), (letter) => letter.codePointAt(0) ?? 0)
      font.glyphForCodePoint(codePoint).codePoints = letters
    }
    setAsStandard(font as unknown as Parameters<typeof setAsStandard>[0], font.familyName)
    const heightOf = (letter: string) => font.glyphForCodePoint(letter.codePointAt(0) ?? 0).bbox.maxY
    if (font.capHeight === undefined) Object.defineProperty(font, 'capHeight', { value: heightOf('H') })
    if (font.xHeight === undefined) Object.defineProperty(font, 'xHeight', { value: heightOf('x') })
  }
}

type Props = Readonly<Record<string, unknown>>

const MODULES: Readonly<Record<string, unknown>> = {
  '@react-pdf/renderer': {
    ...Object.fromEntries(Object.entries(reactPdf)),
    Page: (props: Props) =>
      createElement('PAGE', { ...props, style: [{ fontFamily: DEFAULT_FAMILY }, props['style']] } as Props),
    Svg: (props: Props) => createElement('SVG', { fontFamily: DEFAULT_FAMILY, ...props } as Props),
  },
}

export async function printPlain({ source }: Specimen): Promise<Uint8Array> {
  const require = createRequire(import.meta.url)
  const run = compileFunction(transpile(source).code, ['require', 'module', 'exports'])
  const module: { exports: { default?: (props: Props) => ReactElement<reactPdf.DocumentProps> } } = { exports: {} }
  run((name: string) => MODULES[name] ?? require(name), module, module.exports)
  const component = module.exports.default
  if (component === undefined) throw new Error('the specimen has no component')
  return reactPdf.renderToBuffer(component({ data: SPECIMEN_DATA, options: {} }))
}

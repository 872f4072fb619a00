import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { facesWithoutLarge } from '../../../test/fixture/asset.ts'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { defaultFaces } from '../template/asset/font/default-fonts.ts'
import { writeFontConfig } from './font-config.ts'

async function written(name: string) {
  const folder = aFolder()
  const file = await writeFontConfig(join(folder, name))
  return { file, xml: readFileSync(file, 'utf8'), folder: join(folder, name) }
}

test('names the folders of its fonts, which have them, and a cache of its own', async () => {
  const { xml, folder } = await written('font')
  const folders = xml.match(/(?<=<dir>).*(?=<\/dir>)/g) ?? []
  const files = folders.flatMap((each) => readdirSync(each))
  for (const file of ['DejaVuSans.ttf', 'Arimo_700Bold.ttf', 'NotoSansJP_400Regular.ttf']) expect(files).toContain(file)
  // Chromium would take the font of outlines for some emoji.
  const emoji = files.filter((file) => /Emoji.*ttf$/.test(file))
  expect(emoji).toEqual(['NotoColorEmoji_400Regular.ttf'])
  expect(xml).toContain(`<cachedir>${join(folder, 'font-cache')}</cachedir>`)
  expect(existsSync(join(folder, 'font-cache'))).toBe(true)
})

test('names no folder of a font that is not there', async () => {
  const japanese = defaultFaces().filter(({ family }) => family === 'Noto Sans JP')
  const file = await writeFontConfig(aFolder(), [...facesWithoutLarge(), ...japanese])
  const folders = readFileSync(file, 'utf8').match(/(?<=<dir>).*(?=<\/dir>)/g) ?? []
  const large = folders.filter((each) => /noto-(sans-(sc|tc|jp|kr)|color-emoji)/.test(each))
  expect(large).toEqual([
    expect.stringContaining('noto-sans-jp/400Regular'),
    expect.stringContaining('noto-sans-jp/700Bold'),
  ])
})

test('is well-formed whatever the folder is called', async () => {
  const { xml } = await written('a & b <c>')
  expect(xml).toContain('a &amp; b &lt;c>/font-cache')
})

test('may be written again over itself', async () => {
  const { folder, xml } = await written('font')
  expect(readFileSync(await writeFontConfig(folder), 'utf8')).toBe(xml)
})

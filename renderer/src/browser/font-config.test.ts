import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { writeFontConfig } from './font-config.ts'

async function written(name: string) {
  const folder = aFolder()
  const file = await writeFontConfig(join(folder, name))
  return { file, xml: readFileSync(file, 'utf8'), folder: join(folder, name) }
}

test('names one folder of fonts, which has them, and a cache of its own', async () => {
  const { xml, folder } = await written('font')
  const fonts = xml.match(/(?<=<dir>).*(?=<\/dir>)/g)
  expect(fonts).toHaveLength(1)
  expect(existsSync(join(fonts?.[0] ?? '', 'DejaVuSans.ttf'))).toBe(true)
  expect(xml).toContain(`<cachedir>${join(folder, 'font-cache')}</cachedir>`)
  expect(existsSync(join(folder, 'font-cache'))).toBe(true)
})

test('is well-formed whatever the folder is called', async () => {
  const { xml } = await written('a & b <c>')
  expect(xml).toContain('a &amp; b &lt;c>/font-cache')
})

test('may be written again over itself', async () => {
  const { folder, xml } = await written('font')
  expect(readFileSync(await writeFontConfig(folder), 'utf8')).toBe(xml)
})

/** The chart's README lists its values as their schema has them. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHART, rendered, type Values } from './helm.ts'
import { valueList } from './value-list.ts'
import { MATRIX } from './values.ts'

const read = (file: string) => readFileSync(join(CHART, file), 'utf8')
const values = valueList()

test('lists every value, its default and its meaning', async () => {
  const cell = (text: string) => text.replaceAll('|', '\\|')
  const rows = values.map(({ path, fallback, description }) => {
    const shown =
      fallback === undefined || fallback === '' || fallback === null ? '' : `\`${JSON.stringify(fallback)}\``
    return `| \`${path}\` | ${cell(shown)} | ${cell(description)} |`
  })
  const table = ['| value | default | meaning |', '| --- | --- | --- |', ...rows].join('\n')
  const filled = read('README.md').replace(
    /(<!-- values: [^>]* -->\n)[^]*(\n<!-- end of values -->)/,
    (_, before, after) => `${before}\n${table}\n${after}`,
  )
  await expect(filled).toMatchFileSnapshot(join(CHART, 'README.md'))
  expect(values.length).toBeGreaterThan(80)
})

test('shows values that the chart takes', async () => {
  const blocks = [...read('README.md').matchAll(/```yaml\n([^]*?)```/g)].map(([, text = '']) => parse(text) as Values)
  const [first, apart] = blocks
  await expect(rendered(first)).resolves.toBeDefined()
  expect(apart).toEqual(MATRIX['renderers of their own for sync renders'])
  expect(blocks).toHaveLength(2)
})

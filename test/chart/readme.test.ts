/** The chart's README lists its values as their schema has them, and each of them is used. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { CHART } from './helm.ts'

interface Schema {
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly $ref?: string
}

interface Value {
  readonly path: string
  readonly fallback: unknown
  readonly description: string
}

const read = (file: string) => readFileSync(join(CHART, file), 'utf8')
const schema = JSON.parse(read('values.schema.json')) as Schema & { readonly $defs: Readonly<Record<string, Schema>> }

/** All values, by their paths: what is described is one, whatever it has inside. */
function valuesOf(of: Schema, defaults: unknown, path = ''): readonly Value[] {
  const named = of.$ref === undefined ? undefined : schema.$defs[of.$ref.replace('#/$defs/', '')]
  const { properties, description } = { ...named, ...of }
  if (description !== undefined) return [{ path, fallback: defaults, description }]
  if (properties === undefined) throw new Error(`values.schema.json does not describe ${path}`)
  return Object.entries(properties).flatMap(([name, each]) =>
    valuesOf(each, Object(defaults)[name], path === '' ? name : `${path}.${name}`),
  )
}

const values = valuesOf(schema, parse(read('values.yaml'))).filter(({ path }) => path !== 'global')

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

test('lists nothing that no template reads', () => {
  const files = readdirSync(join(CHART, 'templates'), { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  )
  const text = files.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8')).join('\n')
  const unread = values.filter(({ path }) => {
    const name = path.split('.').at(-1) ?? ''
    return !new RegExp(`\\.${name}\\b`).test(text)
  })
  expect(unread.map(({ path }) => path)).toEqual([])
})

import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { urlOfOwn } from './own-modules.ts'

const ROOT = new URL('../../', import.meta.url)

test('finds each module of ours where Node finds it', () => {
  const files = globSync('*/src/**/*.ts', { cwd: ROOT }).map((file) => new URL(file, ROOT).pathname)
  const imports = files.flatMap((file) =>
    Array.from(
      readFileSync(file, 'utf8').matchAll(/^(?:import|export|\} from) .*'((?:\.|@platen\/).+\.ts)'$/gm),
      ([, specifier = '']) => ({
        file,
        specifier,
      }),
    ),
  )
  expect(imports.length).toBeGreaterThan(1000)
  const found = (find: (one: (typeof imports)[number]) => string | undefined) =>
    imports.map((one) => `${one.file} ${one.specifier} ${find(one)}`)
  expect(found(({ specifier, file }) => urlOfOwn(specifier, pathToFileURL(file).href))).toEqual(
    found(({ specifier, file }) => pathToFileURL(createRequire(file).resolve(specifier)).href),
  )
})

test.for(['fastify', 'node:fs', './index.js', '../lib/yoga.ts'])('leaves %s of a package to Node', (specifier) => {
  expect(urlOfOwn(specifier, 'file:///elsewhere/node_modules/some/index.js')).toBeUndefined()
})

/** Secrets and signatures are compared in constant time: by structure, since no timed test could show it. */
import { expect, test } from 'vitest'
import { listFiles, readText } from './architecture/source-tree.ts'

const modules = listFiles().filter((file) => /^\w+\/src\/.*\.ts$/.test(file) && !file.endsWith('.test.ts'))
const using = (word: RegExp) => modules.filter((module) => word.test(readText(module)))

test('modules that make a code of a secret are those that compare it in constant time, and those that never compare it', () => {
  const comparing = [
    'adapters/src/fs/signed-url.ts',
    'api/src/route/list/cursor.ts',
    'contract/src/domain/render-id.ts',
  ]
  const making = ['contract/src/domain/event.ts', 'lib/src/seal.ts', 'events/src/webhook/sign.ts']
  expect(using(/\b(?:createHmac|hmacSha256)\b/).sort()).toEqual(['lib/src/hmac.ts', ...comparing, ...making].sort())
  expect(using(/\btimingSafeEqual\(/).sort()).toEqual(comparing)
  expect(making.filter((module) => /\.equals\(|\bcompare\(/.test(readText(module)))).toEqual([])
})

test('the client has the platform compare, which does it in constant time', () => {
  expect(using(/\bsubtle\.verify\(/)).toEqual(['client/src/webhook.ts'])
  // It signs for the tests of receivers, and compares nothing with that.
  expect(using(/\bsubtle\.sign\(/)).toEqual(['client/src/webhook/sign.ts'])
})

test('no secret, signature or code of one is compared as a text', () => {
  const name = '[\\w.]*(?:[sS]ignature|[sS]ecret|[hH]mac|[mM]ac)'
  const comparison = new RegExp(`\\b${name}\\s*[!=]==(?! (?:undefined|null|'))|[!=]== ${name}\\b`)
  const lines = modules.flatMap((module) =>
    readText(module)
      .split('\n')
      .map((line) => `${module}: ${line.trim()}`),
  )
  expect(lines.filter((line) => comparison.test(line))).toEqual([])
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { findChromium } from './executable.ts'

/** A folder with two executable files and one that is not executable. */
function someFiles(): string {
  const folder = aFolder()
  for (const name of ['shell', 'chromium']) writeFileSync(join(folder, name), '', { mode: 0o755 })
  writeFileSync(join(folder, 'text'), '', { mode: 0o644 })
  return folder
}

test.for([
  [['shell', 'chromium'], 'shell'],
  [['missing', 'chromium'], 'chromium'],
  [['text', 'chromium'], 'chromium'],
  [['missing'], undefined],
  [[], undefined],
] as const)('finds of %j the first that can be run', async ([names, found]) => {
  const folder = someFiles()
  const candidates = names.map((name) => join(folder, name))
  expect(await findChromium({ candidates })).toBe(found === undefined ? undefined : join(folder, found))
})

test('takes the configured path before all others', async () => {
  const folder = someFiles()
  const configured = join(folder, 'chromium')
  expect(await findChromium({ configured, candidates: [join(folder, 'shell')] })).toBe(configured)
})

test.for(['missing', 'text', 'shell/below'])('refuses a configured path that cannot be run: %s', async (name) => {
  const folder = someFiles()
  await expect(findChromium({ configured: join(folder, name), candidates: [join(folder, 'shell')] })).rejects.toThrow(
    'the configured Chromium is not an executable file',
  )
})

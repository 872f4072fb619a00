/** Checks the images: their size, their user, and that they contain nothing their users do not need. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { IMAGES, imageOf, megabytes, sizeOf, userOf, withImage } from './machine/image.ts'

/** Without compression. */
const MEGABYTES_MAX = { 'platen-renderer': 750, platen: 750 } as const
/** Of the operator a tenth is the compiler that checks templates, and what Node keeps of it. */
const OTHERS_MEGABYTES_MAX = 330

describe.for(IMAGES)('the image %s', (name) => {
  test('is no larger than it need be', () => {
    const size = megabytes(sizeOf(imageOf(name)))
    process.stdout.write(`${name}: ${size} MB\n`)
    expect(size).toBeLessThanOrEqual(name in MEGABYTES_MAX ? MEGABYTES_MAX['platen'] : OTHERS_MEGABYTES_MAX)
  })

  test('is of a user without rights, and has no npm and no tools to build with', () => {
    expect(userOf(imageOf(name))).toBe('10001:10001')
    const tools = ['npm', 'npx', 'yarn', 'corepack', 'gcc', 'cc', 'make', 'python3', 'git']
    const found = withImage(imageOf(name), (root) =>
      ['usr/local/bin', 'usr/bin', 'usr/local/lib/node_modules'].flatMap((folder) =>
        tools.filter((tool) => existsSync(join(root, folder, tool))),
      ),
    )
    expect(found).toEqual([])
  })
})

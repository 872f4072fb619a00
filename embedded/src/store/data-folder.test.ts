import { chmod, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '@platen/lib/log.ts'
import { beforeEach, expect, test } from 'vitest'
import { SILENT } from '../../../test/fixture/build.ts'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { openDataFolder } from './data-folder.ts'

let folder = ''
let warned: readonly string[] = []
const log: Log = { ...SILENT, warn: (_fields, message) => void (warned = [...warned, message]) }
const modeOf = async (path: string) => ((await stat(path)).mode & 0o7777).toString(8)

beforeEach(() => {
  folder = aFolder()
  warned = []
})

test.for<[string, number, string, RegExp | undefined]>([
  ['closed', 0o700, '700', undefined],
  ['open to read', 0o755, '700', /permissions tightened$/],
  ['open to a group', 0o2770, '2700', /permissions tightened$/],
  ['that belongs to everybody', 0o1777, '1777', /open to others, set its mode/],
])(
  'a folder %s is left so that others cannot read it, or the log says why it can be read',
  async ([, before, after, message]) => {
    await chmod(folder, before)
    await openDataFolder(folder, log)
    expect(await modeOf(folder)).toBe(after)
    expect(warned).toEqual(message === undefined ? [] : [expect.stringMatching(message)])
  },
)

test('a missing folder is created for its owner only, without a log line', async () => {
  const path = join(folder, 'made/data')
  await openDataFolder(path, log)
  expect([await modeOf(path), warned]).toEqual(['700', []])
})

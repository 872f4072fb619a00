import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SILENT } from '../../../test/fixture/build.ts'
import { aFolder } from '../../../test/fixture/lifetime.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { followSettings } from './follow.ts'
import { anyText, integer } from './format.ts'
import { SETTING_FILES_READ_MS } from './limit.ts'
import { setting, table } from './setting.ts'

const SETTINGS = table({
  user: setting('USER', anyText('a user'), { description: '', isSecret: true }),
  password: setting('PASSWORD', integer([1, 9999]), { description: '', isSecret: true }),
})

/** A folder with a Secret as the kubelet mounts it: its files are links into a folder that is replaced as a whole. */
function aMountedSecret(first: readonly [user: string, password: string]) {
  const folder = aFolder()
  let versions = 0
  const write = ([user, password]: readonly [string, string]) => {
    const version = join(folder, `..version-${++versions}`)
    mkdirSync(version)
    writeFileSync(join(version, 'user'), `${user}\n`)
    writeFileSync(join(version, 'password'), password)
    symlinkSync(version, join(folder, '..next'))
    renameSync(join(folder, '..next'), join(folder, '..data'))
  }
  write(first)
  for (const name of ['user', 'password']) symlinkSync(join('..data', name), join(folder, name))
  return { variables: { USER_FILE: join(folder, 'user'), PASSWORD_FILE: join(folder, 'password') }, write }
}

test('a changed Secret is in force after the next look, and the settings are the same object until then', async () => {
  const { variables, write } = aMountedSecret(['ann', '1'])
  const clock = manualClock()
  const startedAt = clock.now()
  await using settings = followSettings(SETTINGS, variables, { clock, log: SILENT })
  const first = settings.latest()
  expect(first).toEqual({ user: 'ann', password: 1 })
  await clock.advance(SETTING_FILES_READ_MS)
  expect(settings.latest()).toBe(first)
  expect(settings.since()).toBe(startedAt)
  write(['bea', '2'])
  await clock.advance(SETTING_FILES_READ_MS)
  expect(settings.latest()).toEqual({ user: 'bea', password: 2 })
  expect(settings.since()).toBe(startedAt + 2 * SETTING_FILES_READ_MS)
})

test('a wrong file changes nothing, and is told once, without its text', async () => {
  const { variables, write } = aMountedSecret(['ann', '1'])
  const clock = manualClock()
  const lines: [fields: object, message: string][] = []
  const record = (fields: object, message: string) => void lines.push([fields, message])
  await using settings = followSettings(SETTINGS, variables, { clock, log: { ...SILENT, info: record, warn: record } })
  const first = settings.latest()
  write(['bea', 'hunter2'])
  await clock.advance(3 * SETTING_FILES_READ_MS)
  expect(settings.latest()).toBe(first)
  expect(settings.isRefused()).toBe(true)
  expect(lines).toEqual([[{ err: expect.any(Error) }, expect.stringContaining('refused')]])
  expect(String(Object.values(lines[0]?.[0] ?? {})[0])).not.toContain('hunter2')
  write(['bea', '2'])
  await clock.advance(SETTING_FILES_READ_MS)
  expect(settings.latest()).toEqual({ user: 'bea', password: 2 })
  expect(settings.isRefused()).toBe(false)
})

test('two values that change together are never taken one without the other', async () => {
  const { variables, write } = aMountedSecret(['ann', '1'])
  const clock = manualClock()
  let reads = 0
  // The kubelet replaces the folder after the first of two files was read.
  const read = () => {
    const { user } = SETTINGS.read(variables)
    if (++reads === 2) write(['bea', '2'])
    return { user, password: SETTINGS.read(variables).password }
  }
  await using settings = followSettings({ entries: [], read }, variables, { clock, log: SILENT })
  await clock.advance(SETTING_FILES_READ_MS)
  expect(settings.latest()).toEqual({ user: 'ann', password: 1 })
  await clock.advance(SETTING_FILES_READ_MS)
  expect(settings.latest()).toEqual({ user: 'bea', password: 2 })
})

/** Large changes of a folder of manifests, which a thread reads while the service answers callers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { EMPTY_FOLDER, type Reader, readFolder } from '@platen/settings/manifest/folder.ts'
import { openReadAhead, READ_AT_ONCE_CHARS_MAX } from '@platen/settings/manifest/text/read-ahead.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { html, manifestOf, plan, template } from '../fixture/manifests.ts'

const LARGE = template('acme', 'large', {
  ...html('<p>'),
  sampleData: { rows: Array.from({ length: READ_AT_ONCE_CHARS_MAX / 4 }, () => ['x']) },
})
const BROKEN = template('acme', 'broken', { html: 'no object' })

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'platen-manifests-'))
})
afterEach(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }))

/** Counts what is read on this thread. */
function counted(readAhead?: Reader['readAhead']) {
  const counts = { here: 0 }
  const read = resourceReader()
  const reader: Reader = {
    read(json) {
      counts.here++
      return read(json)
    },
    readAhead,
  }
  return { counts, reader }
}

test('a large change is read in a thread, comes to the same, and is not read again', async () => {
  await writeFile(join(dir, 'all.yaml'), manifestOf([LARGE, BROKEN, plan('small', {})]))
  const plain = await readFolder(dir, EMPTY_FOLDER, counted().reader)
  const { counts, reader } = counted(openReadAhead(systemClock()))
  const folder = await readFolder(dir, EMPTY_FOLDER, reader)
  expect(folder).toEqual(plain)
  expect([folder.documents.length, folder.faults.length, counts.here]).toEqual([2, 1, 0])
  await writeFile(join(dir, 'all.yaml'), manifestOf([LARGE, BROKEN, plan('other', {}), plan('small', {})]))
  const { documents } = await readFolder(dir, folder, reader)
  expect([documents.length, counts.here]).toEqual([3, 1])
})

test('one that cannot be read in time is a fault of its file, which keeps what it had', async () => {
  await writeFile(join(dir, 'all.yaml'), manifestOf([plan('small', {})]))
  const { reader } = counted(openReadAhead({ timeout: () => AbortSignal.abort() }))
  const before = await readFolder(dir, EMPTY_FOLDER, reader)
  await writeFile(join(dir, 'all.yaml'), manifestOf([LARGE]))
  await writeFile(join(dir, 'other.yaml'), manifestOf([plan('other', {})]))
  const { documents, faults } = await readFolder(dir, before, reader)
  expect(documents.map(({ place }) => place)).toEqual(['Plan small', 'Plan other'])
  expect(faults).toEqual([{ file: 'all.yaml', line: 1, column: 1, message: 'cannot be read: it takes too long' }])
})

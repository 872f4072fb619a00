/** What every directory promises, together with its publishing side; see the doc comments of the port. */
import type { Directory, DirectoryPublisher, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aTemplate, aTenant } from '../fixture/build.ts'
import type { Harness } from './harness.ts'

export function describeDirectory(
  name: string,
  makeHarness: () => Promise<Harness<Directory & DirectoryPublisher>>,
): void {
  describe(`directory: ${name}`, () => {
    let harness: Harness<Directory & DirectoryPublisher>
    let directory: Directory & DirectoryPublisher
    beforeEach(async () => {
      harness = await makeHarness()
      directory = await harness.open()
    })
    afterEach(() => harness[Symbol.asyncDispose]())

    test('knows nobody before anything was published', () => {
      const { tenants, keys, templates } = directory.current()
      expect([tenants.size, keys.size, templates.size]).toStrictEqual([0, 0, 0])
    })

    test('gives what was published to every later call', async ({ signal }) => {
      const snapshot = aSnapshot(1)
      await directory.publish(snapshot, signal)
      expect(directory.current()).toStrictEqual(snapshot)
    })

    test('leaves a snapshot alone that somebody holds', async ({ signal }) => {
      await directory.publish(aSnapshot(1), signal)
      const held = directory.current()
      await directory.publish({ ...aSnapshot(2), tenants: new Map() }, signal)
      expect(held).toStrictEqual(aSnapshot(1))
      expect(directory.current().tenants.size).toBe(0)
    })

    test.for([7, 6, 0, -1, Number.NaN])('refuses revision %d after revision 7', async (revision, { signal }) => {
      await directory.publish(aSnapshot(7), signal)
      await expect(directory.publish(aSnapshot(revision), signal)).rejects.toThrow(RangeError)
      expect(directory.current().revision).toBe(7)
    })
  })
}

function aSnapshot(revision: number): DirectorySnapshot {
  const tenant = aTenant()
  const template = aTemplate()
  return {
    revision,
    tenants: new Map([[tenant.id, tenant]]),
    keys: new Map(),
    templates: new Map([[tenant.id, new Map([[template.code, template]])]]),
  }
}

import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import type { Resource } from '@platen/contract/domain/resource.ts'
import { DEFAULT_LIMITS } from '@platen/contract/domain/tenant.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, test } from 'vitest'
import { NEVER } from '../../../test/fixture/build.ts'
import { aPlanResource, aTenantResource } from '../../../test/fixture/resource.ts'
import { compile } from '../compilation/compile.ts'
import { publishSettings } from './publish-settings.ts'

const NOTHING = { configMaps: new Map(), checks: new Map(), foundKeys: new Map(), webhookSecrets: new Map(), now: 0 }

function settingsOf(...resources: readonly Resource[]) {
  return compile({ ...NOTHING, resources, defaults: DEFAULT_LIMITS, serviceBucket: 'platen' }).snapshot
}

describe('a revision', () => {
  test('stays when nothing that is published changed', async () => {
    const directory = memoryDirectory()
    const first = await publishSettings(directory, settingsOf(aPlanResource(), aTenantResource()), NEVER)
    const renamed = settingsOf(aPlanResource({ spec: { displayName: 'Starter' } }), aTenantResource())
    expect(await publishSettings(directory, renamed, NEVER)).toBe(first)
  })

  test('is the next one when anything did', async () => {
    const directory = memoryDirectory()
    const first = await publishSettings(directory, settingsOf(aPlanResource(), aTenantResource()), NEVER)
    const suspended = settingsOf(aPlanResource(), aTenantResource({ spec: { suspend: true } }))
    expect(await publishSettings(directory, suspended, NEVER)).toBe(first + 1)
    expect(directory.current()).toMatchObject({ ...suspended, revision: first + 1 })
  })

  test('is published even when there is nothing at all', async () => {
    const directory = memoryDirectory()
    expect(await publishSettings(directory, settingsOf(), NEVER)).toBe(1)
    expect(directory.current().revision).toBe(1)
  })

  test('that somebody else has published is repaired, and the next call succeeds', async () => {
    const directory = memoryDirectory()
    let known = 0
    const publisher = {
      ...directory,
      nextRevision: () => known + 1,
      repair: async () => {
        known = directory.revision()
        return true
      },
    }
    await directory.publish({ ...settingsOf(), revision: 7 }, NEVER)
    const settings = settingsOf(aPlanResource(), aTenantResource())
    await expect(publishSettings(publisher, settings, NEVER)).rejects.toThrow(Unavailable)
    expect(await publishSettings(publisher, settings, NEVER)).toBe(8)
  })
})

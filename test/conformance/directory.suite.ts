/** The promises of every directory with its publisher. The doc comments of the port describe them. */

import type { ApiKey, KeyHash, TemplateCode } from '@platen/contract/domain/tenant.ts'
import type { Directory, DirectoryPublisher, DirectorySnapshot } from '@platen/contract/port/directory.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { aTemplate, aTenant } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import type { Harness } from './harness.ts'

export function describeDirectory(
  name: string,
  makeHarness: () => Promise<Harness<Directory & DirectoryPublisher>>,
): void {
  describe(`directory: ${name}`, () => {
    let harness: Harness<Directory & DirectoryPublisher>
    let directory: Directory & DirectoryPublisher
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
      directory = await harness.open()
    })

    test('knows nobody before anything was published', () => {
      const { tenants, keys, templates } = directory.current()
      expect([tenants.size, keys.size, templates.size]).toStrictEqual([0, 0, 0])
    })

    test('gives what was published to every later call', async ({ signal }) => {
      const snapshot = aSnapshot(1)
      await directory.publish(snapshot, signal)
      expect(directory.current()).toStrictEqual(snapshot)
    })

    test('has all that a tenant, a key and a template can have', async ({ signal }) => {
      const secret = { sealed: 'v1.c2VhbGVk' }
      const tenant = aTenant({
        suspended: true,
        suspendedReason: 'unpaid: 7 €',
        webhookAllowCidrs: ['10.0.0.0/8'],
        webhookSecrets: [{ ...secret, until: 1 }, secret],
        limits: { rateLimitPerMinute: 5, renderLimitMonthly: 100 },
      })
      const variablesSchema = { type: 'object', properties: { 'a/b': { enum: [null, 1.5, 'Ω'] } } }
      // Code that validates resources sets the brand of codes.
      const codes = ['a', 'm', 'z'] as TemplateCode[]
      const templates = new Map(codes.map((code) => [code, aTemplate({ code, variablesSchema })]))
      const hash = 'f'.repeat(64) as KeyHash
      const key: ApiKey = { hash, tenant: tenant.id, environment: 'test', suspended: true, expiresAt: 9 }
      const snapshot = {
        ...aSnapshot(1),
        tenants: new Map([[tenant.id, tenant]]),
        keys: new Map([[hash, key]]),
        templates: new Map([[tenant.id, templates]]),
      }
      await directory.publish(snapshot, signal)
      expect(directory.current()).toStrictEqual(snapshot)
      expect([...(directory.current().templates.get(tenant.id)?.keys() ?? [])]).toEqual(codes)
    })

    test('takes away what is published no more', async ({ signal }) => {
      await directory.publish(aSnapshot(1), signal)
      await directory.publish({ ...aSnapshot(2), templates: new Map() }, signal)
      expect(directory.current()).toStrictEqual({ ...aSnapshot(2), templates: new Map() })
      await directory.publish({ ...aSnapshot(3), tenants: new Map(), templates: new Map() }, signal)
      expect(directory.current()).toStrictEqual({ ...aSnapshot(3), tenants: new Map(), templates: new Map() })
    })

    test('keeps the templates of a tenant in the order of their codes, in whatever order they came', async ({
      signal,
    }) => {
      const publish = async (revision: number, codes: readonly string[]) => {
        const templates = codes.map(
          (code) => [code as TemplateCode, aTemplate({ code: code as TemplateCode })] as const,
        )
        await directory.publish(
          { ...aSnapshot(revision), templates: new Map([[aTenant().id, new Map(templates)]]) },
          signal,
        )
      }
      const codes = () => [...(directory.current().templates.get(aTenant().id)?.keys() ?? [])]
      await publish(1, ['b', 'd'])
      await publish(2, ['a', 'b', 'c', 'd'])
      expect(codes()).toEqual(['a', 'b', 'c', 'd'])
    })

    test('leaves a snapshot alone that somebody holds', async ({ signal }) => {
      await directory.publish(aSnapshot(1), signal)
      const held = directory.current()
      await directory.publish({ ...aSnapshot(2), tenants: new Map() }, signal)
      expect(held).toStrictEqual(aSnapshot(1))
      expect(directory.current().tenants.size).toBe(0)
    })

    test('says which revision is published, and whether it has these settings', async ({ signal }) => {
      expect([directory.revision(), directory.isPublished(aSnapshot(1))]).toEqual([0, false])
      await directory.publish(aSnapshot(7), signal)
      expect([directory.revision(), directory.nextRevision()]).toEqual([7, 8])
      const same = aSnapshot(8)
      const others = [same, { ...same, tenants: new Map() }, { ...same, templates: new Map() }]
      expect(others.map((each) => directory.isPublished(each))).toEqual([true, false, false])
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

import type { Template, TemplateCode, TenantId } from '@platen/contract/domain/tenant.ts'
import { PersistentMap } from '@platen/lib/persistent-map.ts'
import { expect, test } from 'vitest'
import { aTemplate, aTenant } from '../../../../test/fixture/build.ts'
import { EMPTY } from './snapshot-builder.ts'
import { NO_VALUES, valueWriter } from './value.ts'

/** Nothing is stored in Redis. */
const nothing = () => NO_VALUES

/** A template that reports when it is serialized. */
function watchedTemplate(onSpell: () => void): Template {
  return {
    ...aTemplate(),
    get variablesSchema() {
      onSpell()
      return {}
    },
  }
}

test('a writer spells a setting once, and a map of settings once, whatever changes beside it', () => {
  let spelled = 0
  const template = watchedTemplate(() => spelled++)
  const tenant = aTenant()
  const tenants = new Map([[tenant.id, tenant]])
  const first = { ...EMPTY, tenants, templates: new Map([[template.tenant, new Map([[template.code, template]])]]) }
  const write = valueWriter(nothing)
  const before = write(first)
  const after = write({ ...first, templates: new Map(first.templates) })
  expect(spelled).toBe(1)
  expect(after.tenants).toBe(before.tenants)
  expect(after.templates).toBe(before.templates)
})

test('a writer makes the values of templates from those of the last snapshot', () => {
  const [one, other] = [aTemplate(), aTemplate({ tenant: 'globex' as TenantId })]
  const templatesOf = (...all: readonly Template[]) =>
    PersistentMap.of(all.map((template) => [template.tenant, new Map([[template.code, template]])] as const))
  const write = valueWriter(nothing)
  const snapshots = [
    templatesOf(one),
    templatesOf(one, other),
    templatesOf(one, { ...other, version: 7 }),
    templatesOf(other),
    templatesOf({ ...other, code: 'letter' as TemplateCode }),
    templatesOf(),
  ]
  const values = snapshots.map((templates) => write({ ...EMPTY, templates }).templates)
  const whole = snapshots.map((templates) => valueWriter(nothing)({ ...EMPTY, templates }).templates)
  expect(values.map((each) => new Map(each))).toEqual(whole.map((each) => new Map(each)))
  expect(values.map(({ size }) => size)).toEqual([1, 2, 2, 1, 1, 0])
  const [, before = PersistentMap.of(), after = PersistentMap.of()] = values
  // Only the shard of the changed template is another one.
  expect([...before.differingShards(after)]).toHaveLength(1)
})

test('a writer spells an equal setting of another object as the same value', () => {
  const write = valueWriter(nothing)
  const [one, other] = [aTenant({ limits: { rateLimitPerMinute: 5 } }), aTenant({ limits: { rateLimitPerMinute: 5 } })]
  const valueOf = (tenant: typeof one) => write({ ...EMPTY, tenants: new Map([[tenant.id, tenant]]) }).tenants
  expect(valueOf(one)).toStrictEqual(valueOf(other))
  expect(valueOf({ ...one, suspended: !one.suspended })).not.toStrictEqual(valueOf(one))
})

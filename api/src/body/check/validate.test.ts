import type { TenantId } from '@platen/contract/domain/tenant.ts'
import { expect, test } from 'vitest'
import { DATA_VALIDATORS_MAX, DATA_VALIDATORS_OF_ONE_TENANT, openDataValidation } from './validate.ts'

const [ACME, GLOBEX] = ['acme' as TenantId, 'globex' as TenantId]
const schemaOf = (minimum: number) => JSON.stringify({ type: 'object', properties: { a: { minimum } } })
const dataOf = (value: unknown) => Buffer.from(JSON.stringify(value))

test('names the places that do not fit, and no value', () => {
  const check = openDataValidation()
  expect(check({ tenant: ACME, schema: schemaOf(5), data: dataOf({ a: 4 }) })).toEqual([
    { path: '/a', message: 'must be >= 5' },
  ])
  expect(check({ tenant: ACME, schema: schemaOf(5), data: dataOf({ a: 5 }) })).toEqual([])
})

test('answers by the schema it is asked with, however many others there were', () => {
  const check = openDataValidation()
  const count = DATA_VALIDATORS_OF_ONE_TENANT + 5
  for (const round of [1, 2])
    for (let at = 0; at < count; at++)
      for (const tenant of [ACME, GLOBEX]) {
        const faults = [at - 1, at].map((a) => check({ tenant, schema: schemaOf(at), data: dataOf({ a }) }).length)
        expect([round, at, faults]).toEqual([round, at, [1, 0]])
      }
})

test('answers as many tenants as there may be, and more', () => {
  const check = openDataValidation()
  const schema = schemaOf(1)
  const tenants = Array.from({ length: DATA_VALIDATORS_MAX + 20 }, (_, at) => `tenant-${at}` as TenantId)
  for (const tenant of [...tenants, ...tenants.slice(0, 5)])
    expect(check({ tenant, schema, data: dataOf({ a: 0 }) })).toHaveLength(1)
}, 60_000)

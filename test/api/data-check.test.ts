/** Data is held against schemas in threads: what one tenant's schema costs, no other waits for. */
import { systemClock } from '@platen/adapters/system/clock.ts'
import { type DataChecks, openDataChecks } from '@platen/api/admission/check/data-checks.ts'
import type { JsonObject } from '@platen/contract/brand.ts'
import { Unavailable } from '@platen/contract/port/unavailable.ts'
import type { TenantId } from '@platen/contract/tenant.ts'
import { expect, onTestFinished, test } from 'vitest'
import { aTemplate } from '../fixture/build.ts'

/** A level of references that branch: its check goes on until it is out of steps. */
const level = (next: string) => ({ allOf: Array.from({ length: 8 }, () => ({ $ref: next })) })
const ENDLESS: JsonObject = {
  type: 'object',
  $defs: {
    a: level('#/$defs/b'),
    b: level('#/$defs/c'),
    c: level('#/$defs/d'),
    d: level('#/$defs/e'),
    e: level('#/$defs/f'),
    f: level('#/$defs/g'),
    g: level('#/$defs/h'),
    h: level('#/$defs/i'),
    i: { properties: { b: { not: { const: 1 } } } },
  },
  properties: { a: { $ref: '#/$defs/a' } },
}
const PLAIN: JsonObject = { type: 'object', properties: { a: { type: 'string' } } }

function opened(clock = systemClock()): DataChecks {
  const checks = openDataChecks(clock)
  onTestFinished(() => checks[Symbol.asyncDispose]())
  return checks
}

function templateOf(tenant: string, variablesSchema: JsonObject) {
  return aTemplate({ tenant: tenant as TenantId, variablesSchema })
}

const dataOf = (value: unknown) => Buffer.from(JSON.stringify(value))

test('tells what does not fit', async () => {
  const { faultsOf } = opened()
  expect(await faultsOf(templateOf('acme', PLAIN), dataOf({ a: 1 }))).toEqual([
    { path: '/a', message: 'must be string' },
  ])
  expect(await faultsOf(templateOf('acme', PLAIN), dataOf({ a: 'text' }))).toEqual([])
  expect(await faultsOf(templateOf('acme', { type: 'object' }), dataOf({ a: 1 }))).toEqual([])
})

test('of two tenants one waits for nothing that the other asks', async () => {
  const { faultsOf } = opened()
  const ended: string[] = []
  const ask = async (tenant: string, schema: JsonObject) => {
    const [fault] = await faultsOf(templateOf(tenant, schema), dataOf({ a: {} }))
    ended.push(tenant)
    return fault?.message
  }
  const hostile = Array.from({ length: 5 }, () => ask('hostile', ENDLESS))
  const honest = Array.from({ length: 5 }, () => ask('honest', PLAIN))
  expect(await Promise.all(honest)).toEqual(Array.from({ length: 5 }, () => 'must be string'))
  expect(ended.filter((tenant) => tenant === 'hostile').length).toBeLessThan(5)
  const outOfSteps = 'takes more time to check than a request may take'
  expect(await Promise.all(hostile)).toEqual(Array.from({ length: 5 }, () => outOfSteps))
})

test('a check that takes too long is ended with its thread, and the next has another', async () => {
  const limit = { ms: 20 }
  const clock = { ...systemClock(), timeout: () => AbortSignal.timeout(limit.ms) }
  const { faultsOf } = opened(clock)
  await expect(faultsOf(templateOf('acme', ENDLESS), dataOf({ a: {} }))).rejects.toThrow(Unavailable)
  limit.ms = 60_000
  expect(await faultsOf(templateOf('acme', PLAIN), dataOf({ a: 'text' }))).toEqual([])
})

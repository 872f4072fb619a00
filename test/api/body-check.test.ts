/** Large bodies are parsed, and data is held against schemas, in threads: what one tenant's cost, no other waits for. */
import { setImmediate } from 'node:timers/promises'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { type BodyChecks, openBodyChecks } from '@platen/api/body/check/body-checks.ts'
import { bytesOf, type RequestData } from '@platen/api/body/check/parse-request.ts'
import { BODY_PARSED_INLINE_BYTES_MAX } from '@platen/api/body/limit.ts'
import { ServiceError } from '@platen/contract/domain/error.ts'
import type { TenantId } from '@platen/contract/domain/tenant.ts'
import type { JsonObject } from '@platen/lib/brand.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { describe, expect, onTestFinished, test } from 'vitest'
import { aTemplate, NEVER } from '../fixture/build.ts'

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

function opened(clock = systemClock()): BodyChecks {
  const checks = openBodyChecks(clock)
  onTestFinished(() => checks[Symbol.asyncDispose]())
  return checks
}

function templateOf(tenant: string, variablesSchema: JsonObject) {
  return aTemplate({ tenant: tenant as TenantId, variablesSchema })
}

const dataOf = (value: unknown) => ({ bytes: Buffer.from(JSON.stringify(value)) })

test('tells what does not fit', async () => {
  const { faultsOf } = opened()
  expect(await faultsOf(templateOf('acme', PLAIN), dataOf({ a: 1 }), NEVER)).toEqual([
    { path: '/a', message: 'must be string' },
  ])
  expect(await faultsOf(templateOf('acme', PLAIN), dataOf({ a: 'text' }), NEVER)).toEqual([])
  expect(await faultsOf(templateOf('acme', { type: 'object' }), dataOf({ a: 1 }), NEVER)).toEqual([])
})

test('of two tenants one waits for nothing that the other asks', async () => {
  const { faultsOf } = opened()
  const ended: string[] = []
  const ask = async (tenant: string, schema: JsonObject) => {
    const [fault] = await faultsOf(templateOf(tenant, schema), dataOf({ a: {} }), NEVER)
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
  await expect(faultsOf(templateOf('acme', ENDLESS), dataOf({ a: {} }), NEVER)).rejects.toThrow(Unavailable)
  limit.ms = 60_000
  expect(await faultsOf(templateOf('acme', PLAIN), dataOf({ a: 'text' }), NEVER)).toEqual([])
})

describe('a large body', () => {
  const ACME = 'acme' as TenantId
  const bodyOf = (data: string) => Buffer.from(`{"template":"invoice","data":${data},"mode":"async"}`)
  const textOf = (data: RequestData = { value: {} }) => Buffer.from(bytesOf(data)).toString()
  /** Millions of empty objects: parsing them, and spelling them again, takes seconds. */
  const HOSTILE = bodyOf(`{"a":[${'{},'.repeat(3_000_000)}{}]}`)

  test('is parsed as a small one', async () => {
    const { parse } = opened()
    const data = { a: 'ż'.repeat(BODY_PARSED_INLINE_BYTES_MAX) }
    const [small, large] = await Promise.all(
      [{ a: 'ż' }, data].map((each) =>
        parse(ACME, { bytes: bodyOf(JSON.stringify(each)), hasFingerprint: true }, NEVER),
      ),
    )
    expect({ ...small, data: textOf(small?.data) }).toEqual({
      template: 'invoice',
      mode: 'async',
      data: '{"a":"ż"}',
      fingerprint: sha256('{"data":{"a":"ż"},"mode":"async","template":"invoice"}'),
    })
    expect(JSON.parse(textOf(large?.data))).toEqual(data)
    expect(large).toMatchObject({
      template: 'invoice',
      mode: 'async',
      fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  })

  test('is refused as a small one', async () => {
    const { parse } = opened()
    const blanks = ' '.repeat(BODY_PARSED_INLINE_BYTES_MAX)
    const refusals = ['{"a":1e999}', '{]', '{"__proto__":1}', '[]'].map(async (data) => {
      const ask = async (bytes: Uint8Array) =>
        await parse(ACME, { bytes, hasFingerprint: false }, NEVER).catch((error: unknown) => error)
      const [small, large] = [await ask(bodyOf(data)), await ask(bodyOf(`${data}${blanks}`))]
      expect([small, large]).toEqual([expect.any(ServiceError), expect.any(ServiceError)])
      expect(large).toMatchObject({ ...Object(small), message: Object(small).message })
    })
    await Promise.all(refusals)
  })

  test('holds up neither the thread that answers everybody nor the bodies of other tenants', async () => {
    const { parse } = opened({ ...systemClock(), timeout: () => NEVER })
    const parsed = new AbortController()
    const hostile = [1, 2, 3].map(() => parse(ACME, { bytes: HOSTILE, hasFingerprint: true }, NEVER))
    const first = Promise.race(hostile).then(() => parsed.abort())
    const other = bodyOf(JSON.stringify({ a: 'x'.repeat(BODY_PARSED_INLINE_BYTES_MAX) }))
    await parse('globex' as TenantId, { bytes: other, hasFingerprint: true }, NEVER)
    expect(parsed.signal.aborted).toBe(false)
    // As long as it takes, this thread has its turns.
    let turns = 0
    while (!parsed.signal.aborted && turns < 1000) {
      await setImmediate()
      turns += 1
    }
    expect(turns).toBe(1000)
    await first
    expect((await Promise.all(hostile)).map(({ data }) => bytesOf(data).length)).toEqual(
      [1, 2, 3].map(() => '{"a":[]}'.length + 3 * 3_000_000 + 2),
    )
  }, 120_000)

  test('of a caller who has gone is parsed no more', async () => {
    const { parse } = opened()
    const gone = new AbortController()
    const parsing = [1, 2].map(() => parse(ACME, { bytes: HOSTILE, hasFingerprint: true }, gone.signal))
    gone.abort(new Error('gone'))
    for (const each of parsing) await expect(each).rejects.toThrow('gone')
    const bytes = bodyOf(JSON.stringify({ a: 'x'.repeat(BODY_PARSED_INLINE_BYTES_MAX) }))
    expect(await parse(ACME, { bytes, hasFingerprint: false }, NEVER)).toMatchObject({ template: 'invoice' })
  })
})

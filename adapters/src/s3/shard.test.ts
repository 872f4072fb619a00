import { mintRenderId, RENDER_ID_RANDOM_BYTES, type RenderId, uuidOf } from '@platen/contract/render-id.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainKey, shardedKey } from './shard.ts'

const NOON = Date.UTC(2026, 10, 21, 12)
const BEFORE = idAt(NOON - 1)
const AFTER = idAt(NOON)
const EVENT = '01922f3c-8d4e-7abc-8def-0123456789ab'
const EVENT_AT = 0x01922f3c8d4e

describe('the shard of a key', () => {
  test.for([
    ['a manifest', `manifest/${AFTER}.json`, 'manifest/'],
    ['a PDF', `acme/${AFTER}/0f3a.pdf`, 'acme/'],
    ['an input below a longer prefix', `pdf/acme/${AFTER}/input`, 'pdf/acme/'],
    ['a delivery', `delivery/of/${AFTER}/${EVENT}`, 'delivery/of/'],
    ['all that is stored of a render', `acme/${AFTER}/`, 'acme/'],
  ] as const)('stands before the id of %s, and is that of the render', ([, key, folder]) => {
    const shard = shardedKey(AFTER, NOON).slice(0, 3)
    expect(shard).toMatch(/^[0-9a-f]{2}\/$/)
    expect(shardedKey(key, NOON)).toBe(folder + shard + key.slice(folder.length))
  })

  test('stands before the id of an event', () => {
    expect(shardedKey(`delivery/by-id/${EVENT}`, EVENT_AT)).toMatch(new RegExp(`^delivery/by-id/[0-9a-f]{2}/${EVENT}$`))
    expect(shardedKey(`delivery/by-id/${EVENT}`, EVENT_AT + 1)).toBe(`delivery/by-id/${EVENT}`)
  })

  test.for([
    `manifest/${BEFORE}.json`,
    `acme/${BEFORE}/input`,
    `delivery/of/${BEFORE}/${EVENT}`,
    `template/${'0f'.repeat(32)}.json`,
    `idempotency/0c3e6f3a-52cc-4ea2-9e10-6f8a3c1d2b4e/live/${'0f'.repeat(32)}/1`,
    'expiry/2026-11-21/0f3a.json',
    'acme/',
    'acme',
    '',
  ])('is none where no id is, or one from before: %s', (key) => {
    expect(shardedKey(key, NOON)).toBe(key)
    expect(plainKey(key, NOON)).toBe(key)
  })

  test('spreads ids of one millisecond over all shards', () => {
    const ids = Array.from({ length: 4096 }, (_, i) => idAt(NOON, Buffer.from([0, 0, 0, i >> 8, i & 0xff])))
    const counts = Map.groupBy(ids, (id) => shardedKey(id, NOON).slice(0, 2))
    expect(counts.size).toBe(256)
    // Sixteen are expected in each; a shard with three times as many would indicate a poor hash.
    expect(Math.max(...counts.values().map(({ length }) => length))).toBeLessThan(48)
  })

  // Names that tenants may choose: some like ids, some like shards.
  const name = fc.oneof(
    fc.stringMatching(/^[a-z0-9]{1,3}$/),
    fc.constantFrom('manifest', BEFORE, AFTER, `${AFTER}.json`, EVENT, shardedKey(AFTER, 0).slice(0, 2)),
  )
  const key = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'))
  const since = fc.constantFrom(0, EVENT_AT, NOON, NOON + 1)

  test('is taken away again by what names objects, and no two objects share a place', () => {
    fc.assert(
      fc.property(key, since, (given, from) => {
        expect(plainKey(shardedKey(given, from), from)).toBe(given)
      }),
      { numRuns: 2000 },
    )
  })

  test('leaves a key below its folder, so that listing the folder finds it', () => {
    fc.assert(
      fc.property(key, since, fc.nat(5), (given, from, depth) => {
        const folder = given
          .split('/')
          .slice(0, depth)
          .map((each) => `${each}/`)
          .join('')
        if (given.startsWith(folder)) expect(shardedKey(given, from).startsWith(shardedKey(folder, from))).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test('tells what the service would look for elsewhere', () => {
    expect(plainKey(`manifest/${AFTER}.json`, NOON)).toBeUndefined()
    expect(plainKey(`manifest/zz/${AFTER}.json`, NOON)).toBeUndefined()
  })
})

test('the id of an event here is one', () => {
  const bytes = Buffer.from(EVENT.replaceAll('-', ''), 'hex')
  expect([uuidOf(bytes), bytes.readUIntBE(0, 6)]).toStrictEqual([EVENT, EVENT_AT])
})

function idAt(now: number, random: Uint8Array = Buffer.alloc(RENDER_ID_RANDOM_BYTES)): RenderId {
  return mintRenderId({ incarnation: 'acme', environment: 'live' }, [Buffer.alloc(32, 1)], { now, random })
}

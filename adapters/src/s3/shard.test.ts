import { mintRenderId, RENDER_ID_RANDOM_BYTES, type RenderId, uuidOf } from '@platen/contract/domain/render-id.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainKey, shardedKey } from './shard.ts'

const NOON = Date.UTC(2026, 10, 21, 12)
const ID = idAt(NOON)
const EVENT = '01922f3c-8d4e-7abc-8def-0123456789ab'

describe('the shard of a key', () => {
  test.for([
    ['a manifest', `manifest/${ID}.json`, 'manifest/'],
    ['a PDF', `acme/${ID}/0f3a.pdf`, 'acme/'],
    ['an input below a longer prefix', `pdf/acme/${ID}/input`, 'pdf/acme/'],
    ['a delivery', `delivery/of/${ID}/${EVENT}`, 'delivery/of/'],
    ['all that is stored of a render', `acme/${ID}/`, 'acme/'],
  ] as const)('stands before the id of %s, and is that of the render', ([, key, folder]) => {
    const shard = shardedKey(ID).slice(0, 3)
    expect(shard).toMatch(/^[0-9a-f]{2}\/$/)
    expect(shardedKey(key)).toBe(folder + shard + key.slice(folder.length))
  })

  test('stands before the id of an event', () => {
    expect(shardedKey(`delivery/by-id/${EVENT}`)).toMatch(new RegExp(`^delivery/by-id/[0-9a-f]{2}/${EVENT}$`))
  })

  test.for([
    `template/${'0f'.repeat(32)}.json`,
    `idempotency/0c3e6f3a-52cc-4ea2-9e10-6f8a3c1d2b4e/live/${'0f'.repeat(32)}/1`,
    'expiry/2026-11-21/0f3a.json',
    'acme/',
    'acme',
    '',
  ])('is none where no id is: %s', (key) => {
    expect(shardedKey(key)).toBe(key)
    expect(plainKey(key)).toBe(key)
  })

  test('spreads ids of one millisecond over all shards', () => {
    const ids = Array.from({ length: 4096 }, (_, i) => idAt(NOON, Buffer.from([0, 0, 0, i >> 8, i & 0xff])))
    const counts = Map.groupBy(ids, (id) => shardedKey(id).slice(0, 2))
    expect(counts.size).toBe(256)
    // Sixteen are expected in each; a shard with three times as many would indicate a poor hash.
    expect(Math.max(...counts.values().map(({ length }) => length))).toBeLessThan(48)
  })

  // Names that tenants may choose: some like ids, some like shards.
  const name = fc.oneof(
    fc.stringMatching(/^[a-z0-9]{1,3}$/),
    fc.constantFrom('manifest', ID, `${ID}.json`, EVENT, shardedKey(ID).slice(0, 2)),
  )
  const key = fc.array(name, { minLength: 1, maxLength: 5 }).map((names) => names.join('/'))

  test('is taken away again by what names objects, and no two objects share a place', () => {
    fc.assert(
      fc.property(key, (given) => {
        expect(plainKey(shardedKey(given))).toBe(given)
      }),
      { numRuns: 2000 },
    )
  })

  test('leaves a key below its folder, so that listing the folder finds it', () => {
    fc.assert(
      fc.property(key, fc.nat(5), (given, depth) => {
        const folder = given
          .split('/')
          .slice(0, depth)
          .map((each) => `${each}/`)
          .join('')
        if (given.startsWith(folder)) expect(shardedKey(given).startsWith(shardedKey(folder))).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  test('tells what the service would look for elsewhere', () => {
    expect(plainKey(`manifest/${ID}.json`)).toBeUndefined()
    expect(plainKey(`manifest/zz/${ID}.json`)).toBeUndefined()
  })
})

test('the id of an event here is one', () => {
  expect(uuidOf(Buffer.from(EVENT.replaceAll('-', ''), 'hex'))).toBe(EVENT)
})

function idAt(now: number, random: Uint8Array = Buffer.alloc(RENDER_ID_RANDOM_BYTES)): RenderId {
  return mintRenderId({ account: 'acme', environment: 'live' }, [Buffer.alloc(32, 1)], { now, random })
}

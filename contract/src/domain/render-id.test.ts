import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type IdScope,
  issuedAt,
  type KeyRing,
  leastIdSince,
  mintBatchId,
  mintRenderId,
  RENDER_ID_RANDOM_BYTES,
  renderIdsOfBatch,
  renderUuid,
  verifyBatchId,
  verifyRenderId,
} from './render-id.ts'

const key = fc.uint8Array({ minLength: 32, maxLength: 32 })
const twoKeys = fc.tuple(key, key)
const scope: fc.Arbitrary<IdScope> = fc.record({
  account: fc.uuid(),
  environment: fc.constantFrom('live', 'test'),
})
const source = fc.record({
  now: fc.integer({ min: 0, max: 2 ** 48 - 2 }),
  random: fc.uint8Array({ minLength: RENDER_ID_RANDOM_BYTES, maxLength: RENDER_ID_RANDOM_BYTES }),
})

describe('a render id', () => {
  test('is known again by its scope, whichever place its key has in the ring', () => {
    fc.assert(
      fc.property(scope, source, twoKeys, (issuedTo, from, [mine, other]) => {
        const id = mintRenderId(issuedTo, [mine], from)
        expect(verifyRenderId(id, issuedTo, [mine])).toBe(id)
        expect(verifyRenderId(id, issuedTo, [other, mine])).toBe(id)
        expect(verifyRenderId(id.toLowerCase(), issuedTo, [mine])).toBe(id)
        expect(verifyRenderId(renderUuid(id), issuedTo, [mine])).toBe(id)
        expect(verifyRenderId(renderUuid(id).toUpperCase(), issuedTo, [mine])).toBe(id)
      }),
    )
  })

  test('tells when it was issued, and sorts by it', () => {
    fc.assert(
      fc.property(scope, fc.tuple(source, source), key, (issuedTo, [one, two], mine) => {
        const first = mintRenderId(issuedTo, [mine], one)
        const second = mintRenderId(issuedTo, [mine], two)
        expect(issuedAt(first)).toBe(one.now)
        if (one.now !== two.now) expect(first < second).toBe(one.now < two.now)
      }),
    )
  })

  test('is not before the least id of any moment up to its own, and before that of every later one', () => {
    fc.assert(
      fc.property(scope, source, fc.tuple(key, fc.integer({ max: 2 ** 48 - 1 })), (issuedTo, from, [mine, moment]) => {
        const id = mintRenderId(issuedTo, [mine], from)
        expect(id >= leastIdSince(moment)).toBe(from.now >= moment)
        expect(id >= leastIdSince(from.now)).toBe(true)
        expect(id >= leastIdSince(from.now + 1)).toBe(false)
      }),
    )
  })

  test('is spelled as a ULID and as a UUIDv7 of the same 128 bits', () => {
    fc.assert(
      fc.property(scope, source, key, (issuedTo, from, mine) => {
        const id = mintRenderId(issuedTo, [mine], from)
        const uuid = renderUuid(id)
        expect(id).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/)
        expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        expect(crockford(id)).toBe(BigInt(`0x${uuid.replaceAll('-', '')}`))
      }),
    )
  })

  test('is unknown to another tenant, to the other environment and to another key', () => {
    fc.assert(
      fc.property(fc.tuple(scope, scope), source, twoKeys, ([issuedTo, asking], from, [mine, other]) => {
        fc.pre(issuedTo.account !== asking.account && !Buffer.from(mine).equals(Buffer.from(other)))
        const id = mintRenderId(issuedTo, [mine], from)
        const otherEnvironment = issuedTo.environment === 'live' ? 'test' : 'live'
        expect(verifyRenderId(id, asking, [mine])).toBeUndefined()
        expect(verifyRenderId(id, { ...issuedTo, environment: otherEnvironment }, [mine])).toBeUndefined()
        expect(verifyRenderId(id, issuedTo, [other])).toBeUndefined()
      }),
    )
  })

  test('is unknown after any change to any of its characters', () => {
    const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
    const change = fc.tuple(fc.nat(25), fc.nat(31))
    fc.assert(
      fc.property(scope, fc.tuple(source, key), change, (issuedTo, [from, mine], [at, letter]) => {
        const id = mintRenderId(issuedTo, [mine], from)
        const changed = `${id.slice(0, at)}${alphabet.charAt(letter)}${id.slice(at + 1)}`
        expect(verifyRenderId(changed, issuedTo, [mine])).toBe(changed === id ? id : undefined)
      }),
    )
  })

  test('is never made out of whatever text a caller sends', () => {
    const ring: KeyRing = [new Uint8Array(32)]
    const issuedTo: IdScope = { account: 'a', environment: 'live' }
    const texts = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.ulid(),
      fc.uuid(),
      fc.stringMatching(/^[0-9A-Z]{26}$/),
    )
    fc.assert(
      fc.property(texts, (text) => {
        expect(verifyRenderId(text, issuedTo, ring)).toBeUndefined()
      }),
      { numRuns: 1000 },
    )
  })
})

/** Crockford's base32, read independently of the code under test. */
function crockford(id: string): bigint {
  return id
    .split('')
    .reduce((sum, letter) => sum * 32n + BigInt('0123456789ABCDEFGHJKMNPQRSTVWXYZ'.indexOf(letter)), 0n)
}

describe('the id of a batch', () => {
  test('is no id of a render, and no id of a render is one of a batch', () => {
    fc.assert(
      fc.property(scope, source, key, (issuedTo, from, mine) => {
        const id = mintBatchId(issuedTo, [mine], from)
        expect(verifyBatchId(id, issuedTo, [mine])).toBe(id)
        expect(verifyRenderId(id, issuedTo, [mine])).toBeUndefined()
        expect(verifyBatchId(mintRenderId(issuedTo, [mine], from), issuedTo, [mine])).toBeUndefined()
        expect(verifyBatchId(id, { ...issuedTo, account: 'another' }, [mine])).toBeUndefined()
      }),
    )
  })

  test('gives ids to as many renders, all different, always the same, and of its time', () => {
    fc.assert(
      fc.property(scope, source, key, (issuedTo, from, mine) => {
        const id = mintBatchId(issuedTo, [mine], from)
        const renders = renderIdsOfBatch(id, 100, { scope: issuedTo, keys: [mine] })
        expect(new Set(renders).size).toBe(100)
        expect(renderIdsOfBatch(id, 100, { scope: issuedTo, keys: [mine] })).toEqual(renders)
        expect(renders.every((render) => verifyRenderId(render, issuedTo, [mine]) === render)).toBe(true)
        expect(new Set(renders.map(issuedAt))).toEqual(new Set([from.now]))
      }),
      { numRuns: 20 },
    )
  })

  test('gives ids that sort as its items do', () => {
    const issuedTo = { account: 'a', environment: 'live' } as const
    const mine = Buffer.alloc(32, 1)
    // The low bits of the first halves are used up on the way.
    const id = mintBatchId(issuedTo, [mine], { now: 1, random: Buffer.from([0x0f, 0x0e, 0x3f, 0xff, 0xf0]) })
    const renders = renderIdsOfBatch(id, 1000, { scope: issuedTo, keys: [mine] })
    expect(renders.toSorted()).toEqual(renders)
  })
})

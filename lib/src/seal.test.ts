import { createCipheriv, createHmac } from 'node:crypto'
import { assert, property, string, tuple, uint8Array } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reseal, seal, sealKeyId, unseal } from './seal.ts'

const KEY = Buffer.alloc(32, 7)
const SECRET = 'service_webhook_Zm9vYmFyYmF6cXV4MDEyMzQ1Njc4OWFiY2RlZg'
const SEALED = seal(SECRET, { name: 'acme', keys: [KEY] })

/** A sealed text with any content, made with the keys of the service. */
function forged(nonce: Buffer, text: string, { name = 'acme', version = 'v1' } = {}): string {
  const cipher = createCipheriv('aes-256-gcm', createHmac('sha256', KEY).update('platen seal').digest(), nonce)
  cipher.setAAD(Buffer.from(`${version}:${name}`))
  const body = Buffer.concat([nonce, cipher.update(text), cipher.final()])
  return `${version}.${Buffer.concat([body, cipher.getAuthTag()]).toString('base64url')}`
}

describe('a sealed text', () => {
  test('opens again, whatever was sealed for whatever name', () => {
    // A lone surrogate has no UTF-8.
    const text = () => string({ unit: 'binary' }).filter((text) => text.isWellFormed())
    const opens = property(
      tuple(text(), text()),
      uint8Array({ minLength: 32, maxLength: 32 }),
      ([secret, name], key) => {
        expect(unseal(seal(secret, { name, keys: [key] }), { name, keys: [key] })).toBe(secret)
      },
    )
    assert(opens)
  })

  test('is the same every time, and says nothing of the secret', () => {
    expect(seal(SECRET, { name: 'acme', keys: [KEY] })).toBe(SEALED)
    expect(SEALED).toMatch(/^v1\.[A-Za-z0-9_-]+$/)
    expect(Buffer.from(SEALED.slice(3), 'base64url').toString('latin1')).not.toContain(SECRET.slice(0, 8))
  })

  test('opens with each of several keys, and is sealed again with the first', () => {
    const [next, other] = [Buffer.alloc(32, 8), Buffer.alloc(32, 9)]
    const both = { name: 'acme', keys: [next, KEY] as const }
    expect(unseal(SEALED, both)).toBe(SECRET)
    expect(reseal(SEALED, both)).toBe(seal(SECRET, both))
    expect(unseal(reseal(SEALED, both), { name: 'acme', keys: [next] })).toBe(SECRET)
    expect(reseal(reseal(SEALED, both), both)).toBe(reseal(SEALED, both))
    // Nobody can seal what nobody can open.
    expect(reseal(SEALED, { name: 'acme', keys: [next, other] })).toBe(SEALED)
    expect(reseal(SEALED, { name: 'acme', keys: [KEY] })).toBe(SEALED)
  })

  test('is the one that AES-256-GCM gives, with the nonce before and the tag behind', () => {
    const nonce = Buffer.from(SEALED.slice(3), 'base64url').subarray(0, 12)
    expect(forged(nonce, SECRET)).toBe(SEALED)
  })

  test('opens under its own name and key alone', () => {
    for (const name of ['', 'acm', 'acme ', 'Acme', 'globex', 'v1:acme'])
      expect(unseal(SEALED, { name, keys: [KEY] })).toBeUndefined()
    for (let at = 0; at < KEY.length; at++) {
      const other = Buffer.from(KEY)
      other.writeUInt8(KEY.readUInt8(at) ^ 1, at)
      expect(unseal(SEALED, { name: 'acme', keys: [other] })).toBeUndefined()
    }
  })

  test('does not open with any bit changed, nor with any byte left out or added', () => {
    const bytes = Buffer.from(SEALED.slice(3), 'base64url')
    const spelled = (changed: Uint8Array) => `v1.${Buffer.from(changed).toString('base64url')}`
    const opened: string[] = []
    const tryText = (text: string) => unseal(text, { name: 'acme', keys: [KEY] }) === undefined || opened.push(text)
    for (const [at, byte] of bytes.entries()) {
      for (let bit = 0; bit < 8; bit++) tryText(spelled(bytes.with(at, byte ^ (1 << bit))))
      tryText(spelled(Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)])))
      tryText(spelled(Buffer.concat([bytes.subarray(0, at), Buffer.of(0), bytes.subarray(at)])))
    }
    expect(opened).toEqual([])
  })

  test('does not open in any other spelling of the same bytes', () => {
    const opened: string[] = []
    for (let at = 0; at <= SEALED.length; at++) {
      for (const letter of '.=A-_+/ \n') {
        for (const text of [
          `${SEALED.slice(0, at)}${letter}${SEALED.slice(at)}`,
          `${SEALED.slice(0, at)}${letter}${SEALED.slice(at + 1)}`,
        ])
          if (text !== SEALED && unseal(text, { name: 'acme', keys: [KEY] }) !== undefined) opened.push(text)
      }
    }
    expect(opened).toEqual([])
  })

  test('does not open with another last letter, where that stands for bits that no byte has', () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'.split('')
    const sealed = ['', 'a', 'ab', 'abc'].map((secret) => seal(secret, { name: 'acme', keys: [KEY] }))
    const twins = sealed.flatMap((text) => letters.map((letter) => text.slice(0, -1) + letter))
    const others = twins.filter((twin) => !sealed.includes(twin))
    const bytesOf = (text: string) => Buffer.from(text.slice(3), 'base64url').toString('hex')
    expect(others.filter((twin) => sealed.some((text) => bytesOf(text) === bytesOf(twin))).length).toBeGreaterThan(15)
    expect(others.filter((twin) => unseal(twin, { name: 'acme', keys: [KEY] }) !== undefined)).toEqual([])
  })

  test.for(['', 'v1', 'v1.', 'v1.AAAA', `v2.${SEALED.slice(3)}`, SEALED.slice(3), `v1.${'A'.repeat(37)}`, SECRET])(
    '%j is none',
    (text) => {
      expect(unseal(text, { name: 'acme', keys: [KEY] })).toBeUndefined()
    },
  )
})

test('no two texts share a nonce, however name and secret are joined', () => {
  const nonceOf = (secret: string, name: string) => seal(secret, { name, keys: [KEY] }).slice(0, 19)
  const pairs = [
    ['b', 'a'],
    ['', 'ab'],
    ['ab', ''],
    ['b\0c', 'a'],
    ['c', 'a\0b'],
    ['","', ''],
    ['', '","'],
    ['a', 'b'],
  ] as const
  expect(new Set(pairs.map(([secret, name]) => nonceOf(secret, name))).size).toBe(pairs.length)
})

test('a key of another length is refused', () => {
  expect(() => seal(SECRET, { name: 'acme', keys: [Buffer.alloc(31)] })).toThrow('32 bytes')
  expect(() => unseal(SEALED, { name: 'acme', keys: [Buffer.alloc(0)] })).toThrow('32 bytes')
})

test('a key has an id of its own, which processes of every version call it by', () => {
  expect([KEY, Buffer.alloc(32, 8)].map(sealKeyId)).toEqual(['fe49ac91223afc7c', '18548177f9227a2f'])
})

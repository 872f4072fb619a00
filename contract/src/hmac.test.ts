import { createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { hmacSha256Of } from './hmac.ts'

test.for([0, 1, 31, 63, 64, 65, 200])('agrees with Node for a key of %i bytes and any text', (bytes) => {
  for (const text of ['', 'a', '{"id":"ж\u2028"}', '🦊'.repeat(1000), 'half \ud83e of a pair', 'x'.repeat(10_000)]) {
    const key = randomBytes(bytes)
    expect(hmacSha256Of(key, text)).toEqual(createHmac('sha256', key).update(text).digest())
  }
})

test('agrees with RFC 4231, test case 2', () => {
  const code = hmacSha256Of(Buffer.from('Jefe'), 'what do ya want for nothing?')
  expect(code.toString('hex')).toBe('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843')
})

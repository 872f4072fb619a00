import { describe, expect, test } from 'vitest'
import { excerptOf } from './excerpt.ts'
import { WEBHOOK_EXCERPT_BYTES_MAX as MAX } from './limit.ts'

describe('the excerpt of a body', () => {
  test.for<[string, string | readonly number[], string | undefined]>([
    ['nothing', '', undefined],
    ['text', 'größer 🦊\u2028\n', 'größer 🦊\u2028\n'],
    ['control characters', 'a\u0001\u0008\r\n\tb\u001b[2J\u007f\u009b', 'a\n\tb[2J'],
    ['nothing but control characters', '\r\u0007', undefined],
    ['a byte order mark', [0xef, 0xbb, 0xbf, 0x61], 'a'],
    ['bytes that are no UTF-8', [0x61, 0xff, 0xc3, 0x28], 'a\ufffd\ufffd('],
    ['a zero byte', [0x61, 0, 0x62], undefined],
    ['half a character at its end', [0x61, 0xf0, 0x9f, 0xa6], 'a\ufffd'],
  ])('of %s is what people can read', ([, body, excerpt]) => {
    expect(excerptOf(Buffer.from(body), undefined)).toBe(excerpt)
  })

  test.for<[string, string | readonly number[], string]>([
    ['text', 'a'.repeat(MAX + 1), 'a'.repeat(MAX)],
    ['characters of several bytes', `a${'🦊'.repeat(MAX)}`, `a${'🦊'.repeat(MAX / 4 - 1)}`],
    ['bytes that are no UTF-8', Array.from({ length: MAX }, () => 0xff), '\ufffd'.repeat(Math.floor(MAX / 3))],
    ['text before a zero byte', `${'a'.repeat(MAX)}\0`, 'a'.repeat(MAX)],
  ])('of too much %s has 4 KiB at most', ([, body, excerpt]) => {
    expect(excerptOf(Buffer.from(body), undefined)).toBe(excerpt)
  })

  test.for([
    [undefined, 'x'],
    ['identity', 'x'],
    [' Identity ', 'x'],
    ['gzip', undefined],
    ['br, gzip', undefined],
    ['', undefined],
  ])('encoded as %s is %s', ([encoding, excerpt]) => {
    expect(excerptOf(Buffer.from('x'), encoding)).toBe(excerpt)
  })
})

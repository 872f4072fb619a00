import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import { ServiceError } from '@platen/contract/domain/error.ts'
import { BODY_BYTES_MAX, JSON_DEPTH_MAX } from '@platen/contract/domain/limit.ts'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { BodyPayer } from '../traffic/throttle.ts'
import { parseBody, readBody } from './body.ts'
import { openBodyBudget } from './body-budget.ts'

function refusalOf(body: string | Uint8Array): ServiceError {
  try {
    parseBody(Buffer.from(body))
  } catch (error) {
    if (error instanceof ServiceError) return error
  }
  throw new Error('the body was not refused')
}

function nested(depth: number, inside = ''): string {
  return '['.repeat(depth) + inside + ']'.repeat(depth)
}

describe('parseBody', () => {
  test('gives back every JSON value it is sent', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 10 }), (value) => {
        const text = JSON.stringify(value)
        fc.pre(!text.includes('"__proto__"'))
        expect(parseBody(Buffer.from(text))).toEqual(JSON.parse(text))
      }),
    )
  })

  test('refuses whatever JSON.parse refuses, and quotes none of it', () => {
    const text = fc.string({ unit: fc.constantFrom(...'{}[]",:0e1-.tfn\\u \nsecret'.split('')) })
    fc.assert(
      fc.property(text, (text) => {
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        fc.pre(!isJson)
        const { code, message } = refusalOf(text)
        expect(code).toBe('INVALID_PAYLOAD')
        expect(message).toMatch(
          /^The body (is not JSON: it breaks at position \d+ \(line \d+ column \d+\)(; [a-z, ]+)?\.|nests )/,
        )
      }),
    )
  })

  test.for([
    [
      'a name that is there twice',
      '{"data":{"list":[1,{"a/b":"1,{","c":{"a/b":[]},"a/b":2}]}}',
      '/data/list/1/a~1b is there twice',
    ],
    ['a name that is there twice, spelled in two ways', '{"\\u0061":1,"a":1}', '/a is there twice'],
    [
      'an integer that a double does not hold',
      '{"data":[0,{"n":-12345678901234567890}]}',
      '/data/1/n is an integer with too many',
    ],
    ['the least of these', '[9007199254740993]', '/0 is an integer with too many digits'],
    ['an integer of a million digits', `{"n":${'1'.repeat(1_000_000)}}`, '/n is a number out of range'],
  ] as const)('refuses %s', ([, body, message]) => {
    expect(refusalOf(body).message).toContain(message)
  })

  test.for([
    ['of sixteen digits that a double holds', '9007199254740992'],
    ['in a string', '"12345678901234567890"'],
    ['with many decimals', '0.12345678901234567890'],
    ['of 22 digits that a double holds', '1000000000000000000000'],
  ] as const)('accepts a number %s', ([, text]) => {
    expect(parseBody(Buffer.from(`{"a":[{"b":${text}}],"c":{"b":1}}`))).toMatchObject({ a: [{ b: JSON.parse(text) }] })
  })

  test.for([
    ['where JSON breaks', '{"a": 1,\n}', 'The body is not JSON: it breaks at position 9 (line 2 column 1).'],
    [
      'of JSON that breaks at a word not this word',
      '{"password": hunter2}',
      'The body is not JSON: it breaks at position 13 (line 1 column 14).',
    ],
    ['what JSON has in place of None', '{"a": None}', 'column 7); its words are true, false and null.'],
    ['of bytes that are no UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x22]), 'The body is not valid UTF-8.'],
    ['of UTF-16', Buffer.from('{}', 'utf16le'), 'The body is not JSON'],
  ] as const)('says %s', ([, body, message]) => {
    expect(refusalOf(body).message).toContain(message)
  })

  test.for([
    [`{"a": {"b": [0, 1e999]}}`, '/a/b/1', 'is a number out of range'],
    [`{"a": -1e999}`, '/a', 'is a number out of range'],
    [`1e999`, '', 'is a number out of range'],
    [`{"a": [{"__proto__": {}}]}`, '/a/0/__proto__', 'is not an allowed name'],
    [`{"__proto__": null}`, '/__proto__', 'is not an allowed name'],
    [`{"\\u005f_proto__": null}`, '/__proto__', 'is not an allowed name'],
    [`{"a/b~c": 1e999}`, '/a~1b~0c', 'is a number out of range'],
    [`{"${'k'.repeat(1000)}": 1e999}`, `/${'k'.repeat(64)}`, 'is a number out of range'],
  ] as const)('names the place of the trap in %s', ([body, path, message]) => {
    expect(refusalOf(body).details).toEqual([{ path, message }])
  })

  test('finds a trap wherever it is hidden', () => {
    const path = fc.array(fc.oneof(fc.constantFrom('a', 'b/c', '~'), fc.nat(3)), { maxLength: JSON_DEPTH_MAX - 1 })
    fc.assert(
      fc.property(path, (path) => {
        const around = (inside: string, step: string | number) =>
          typeof step === 'number' ? `[${'0,'.repeat(step)}${inside}]` : `{${JSON.stringify(step)}:${inside}}`
        const [fault] = refusalOf(path.toReversed().reduce<string>(around, '1e999')).details
        const pointer = path.map((step) => `/${`${step}`.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
        expect(fault).toEqual({ path: pointer, message: 'is a number out of range' })
      }),
    )
  })

  test('takes numbers that are large, small and precise', () => {
    expect(parseBody(Buffer.from('[1e308, 5e-324, -0, 12345678901234567000]'))).toEqual([
      1e308, 5e-324, -0, 12345678901234567000,
    ])
  })

  test('takes a body nested to the limit and refuses one level more', () => {
    const body = nested(JSON_DEPTH_MAX)
    expect(parseBody(Buffer.from(body))).toEqual(JSON.parse(body))
    expect(refusalOf(nested(JSON_DEPTH_MAX + 1)).message).toContain(`more than ${JSON_DEPTH_MAX} levels deep`)
    expect(refusalOf(`{"a":${nested(JSON_DEPTH_MAX)}}`).message).toContain('levels deep')
  })

  test('counts no bracket inside a string', () => {
    const text = `["${'['.repeat(1000)}", "\\"${'{'.repeat(1000)}"]`
    expect(parseBody(Buffer.from(text))).toEqual(JSON.parse(text))
  })

  test.for([
    ['opened and never closed', '['.repeat(BODY_BYTES_MAX)],
    ['opened and closed', nested(BODY_BYTES_MAX / 2)],
  ])('refuses ten million brackets, %s, without parsing them', ([, body = '']) => {
    expect(refusalOf(body).message).toContain('levels deep')
  })
})

describe('readBody', () => {
  async function read(
    chunks: readonly (string | Buffer)[],
    headers: Record<string, string>,
    payer: BodyPayer = openBodyBudget({ held: () => {} }).open('key'),
  ): Promise<string> {
    // readBody uses only the stream and the headers of a request.
    const bytes = await readBody(
      Object.assign(Readable.from(chunks.map((chunk) => Buffer.from(chunk))), {
        headers,
      }) as unknown as IncomingMessage,
      { payers: [payer] },
    )
    return Buffer.from(bytes).toString()
  }

  test.for([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON;charset="UTF-8"',
    'application/json ; version=1',
  ])('takes a body declared as %s', async (type) => {
    await expect(read(['{"a"', ':1}'], { 'content-type': type })).resolves.toBe('{"a":1}')
  })

  test.for([
    [{}, 'application/json'],
    [{ 'content-type': 'text/plain' }, 'application/json'],
    [{ 'content-type': 'application/jsonp' }, 'application/json'],
    [{ 'content-type': 'application/xml, application/json' }, 'application/json'],
    [{ 'content-type': ';;' }, 'application/json'],
    [{ 'content-type': 'application/json; charset=utf-16' }, 'UTF-8'],
    [{ 'content-type': 'application/json; charset=iso-8859-1' }, 'UTF-8'],
    [{ 'content-type': 'application/json', 'content-encoding': 'br' }, 'Content-Encoding'],
    [{ 'content-type': 'application/json', 'content-encoding': 'deflate' }, 'Content-Encoding'],
    [{ 'content-type': 'application/json', 'content-encoding': 'gzip, gzip' }, 'Content-Encoding'],
    [{ 'content-type': 'application/json', 'content-encoding': 'identity, br' }, 'Content-Encoding'],
  ] as const)('refuses a body declared by %o', async ([headers, message]) => {
    const reading = read(['{}'], headers)
    await expect(reading).rejects.toThrow(message)
    await expect(reading).rejects.toMatchObject({ code: 'UNSUPPORTED_MEDIA_TYPE' })
  })

  test.for([{}, { 'content-type': 'text/plain' }, { 'content-type': 'application/json', 'content-encoding': 'gzip' }])(
    'calls a missing body missing whatever it is declared as: %o',
    async (headers) => {
      await expect(read([], headers)).rejects.toMatchObject({
        code: 'INVALID_PAYLOAD',
        message: 'The request has no body.',
      })
    },
  )

  test('takes a body of the greatest length and refuses a byte more', async () => {
    const headers = { 'content-type': 'application/json' }
    const text = `"${'x'.repeat(BODY_BYTES_MAX - 2)}"`
    await expect(read([text], headers)).resolves.toHaveLength(BODY_BYTES_MAX)
    await expect(read([text, ' '], headers)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' })
  })

  describe('sent as gzip', () => {
    const JSON_GZIP = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const refusalOf = (body: Buffer, payer?: BodyPayer) =>
      read([body], JSON_GZIP, payer).then(
        () => 'taken',
        ({ code, message }: ServiceError) => `${code} ${message}`,
      )

    test.for(['gzip', 'GZIP', 'x-gzip'])('is inflated if the coding is %s', async (coding) => {
      const zipped = gzipSync('{"a":1}')
      const chunks = [zipped.subarray(0, 5), zipped.subarray(5)]
      expect(await read(chunks, { ...JSON_GZIP, 'content-encoding': coding })).toBe('{"a":1}')
    })

    test('may have the greatest length inflated, and no byte more', async () => {
      const text = `"${'x'.repeat(BODY_BYTES_MAX - 2)}"`
      expect(await read([gzipSync(text)], JSON_GZIP)).toHaveLength(BODY_BYTES_MAX)
      expect(await refusalOf(gzipSync(`${text} `))).toMatch(/^PAYLOAD_TOO_LARGE .*; inflated, it has more/)
    })

    test('is inflated no further than the payers pay for', async () => {
      const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024))
      const charged: number[] = []
      expect(await refusalOf(bomb, { charge: (bytes) => charged.push(bytes) })).toMatch(/^PAYLOAD_TOO_LARGE /)
      expect(Math.max(...charged)).toBeLessThanOrEqual(BODY_BYTES_MAX + bomb.length)
      const broke = (bytes: number) => {
        if (bytes > 1024 * 1024 + bomb.length) throw new ServiceError('RATE_LIMITED', 'no more')
      }
      expect(await refusalOf(bomb, { charge: broke })).toBe('RATE_LIMITED no more')
    })

    // The checksum is before the last four bytes.
    const damaged = gzipSync('{"a":1}')
    damaged.writeUInt32LE(0, damaged.length - 8)
    test.for<[string, Buffer]>([
      ['no gzip', Buffer.from('{}')],
      ['broken off', gzipSync('{"a":1}').subarray(0, -1)],
      ['damaged', damaged],
      ['gzip and something else', Buffer.concat([gzipSync('{'), Buffer.from([0x1f, 0x8b, 0])])],
    ])('is refused if it is %s', async ([, body]) => {
      expect(await refusalOf(body)).toBe('INVALID_PAYLOAD The body is not valid gzip.')
    })

    test('is no body if nothing is in it', async () => {
      expect(await refusalOf(gzipSync(''))).toBe('INVALID_PAYLOAD The request has no body.')
    })

    test('may have a million members, which take a moment and no more', async () => {
      const empty = gzipSync('')
      const members = Buffer.alloc(Math.floor(BODY_BYTES_MAX / empty.length) * empty.length, empty)
      expect(await refusalOf(members)).toBe('INVALID_PAYLOAD The request has no body.')
    })
  })

  test('refuses a body by its declared length, without reading', async () => {
    const reading = read(['{}'], { 'content-type': 'application/json', 'content-length': `${BODY_BYTES_MAX + 1}` })
    await expect(reading).rejects.toThrow(`it has ${BODY_BYTES_MAX + 1}`)
  })

  test('refuses a body that breaks off', async () => {
    const request = new Readable({ read() {} })
    const share = openBodyBudget({ held: () => {} }).open('key')
    const reading = readBody(Object.assign(request, { headers: {} }) as unknown as IncomingMessage, {
      payers: [share],
    })
    request.push('{')
    request.destroy()
    await expect(reading).rejects.toThrow('ended before it was complete')
  })
})

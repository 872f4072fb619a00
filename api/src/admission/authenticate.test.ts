import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { memoryDirectory } from '@platen/adapters/memory/directory.ts'
import type { ApiKey, KeyHash, TenantId } from '@platen/contract/domain/tenant.ts'
import { describe, expect, test } from 'vitest'
import { type Api, type ApiOptions, anApi, LIVE_KEY, TEST_KEY } from '../../../test/fixture/api.ts'
import { NOON } from '../../../test/fixture/build.ts'
import { manualClock } from '../../../test/fixture/memory/clock.ts'
import { authenticator } from './authenticate.ts'

const PATH = '/api/v1/templates'

test('while there are no settings at all, nobody is told that a key is wrong', () => {
  const directory = memoryDirectory()
  const judge = authenticator('service', { directory, clock: manualClock(NOON) })
  // Authentication reads only the headers of a request.
  const request = { rawHeaders: ['Authorization', `Bearer ${LIVE_KEY}`] } as IncomingMessage
  expect(() => judge(request)).toThrow(expect.objectContaining({ code: 'RENDER_UNAVAILABLE' }))
})

test('whatever is sent is looked up once, by its SHA-256, and compared with no key', () => {
  const looked: string[] = []
  class Keys extends Map<KeyHash, ApiKey> {
    override get(hash: KeyHash): ApiKey | undefined {
      looked.push(hash)
      return undefined
    }
    override has(): never {
      throw new Error('a key was looked for twice')
    }
    override [Symbol.iterator](): never {
      throw new Error('all keys were gone through')
    }
    override entries(): never {
      throw new Error('all keys were gone through')
    }
  }
  const [tenants, templates, revision] = [new Map(), new Map(), 1]
  const directory = { current: () => ({ revision, tenants, templates, keys: new Keys() }) }
  const judge = authenticator('service', { directory, clock: manualClock(NOON) })
  const sent = [LIVE_KEY, LIVE_KEY.slice(0, -1), 'service_live_', 'x', '']
  for (const text of sent) {
    // Authentication reads only the headers of a request.
    const request = { rawHeaders: ['Authorization', `Bearer ${text}`] } as IncomingMessage
    expect(() => judge(request)).toThrow(expect.objectContaining({ code: 'UNAUTHORIZED' }))
  }
  expect(looked).toEqual(sent.map((text) => createHash('sha256').update(text).digest('hex')))
})

describe('a key', () => {
  test.for([`Bearer ${LIVE_KEY}`, `bearer ${LIVE_KEY}`, `BEARER   ${LIVE_KEY}`, `Bearer ${TEST_KEY}`])(
    'is good as %s',
    async (authorization) => {
      expect((await anApi().call({ path: PATH, headers: { authorization } })).statusCode).toBe(200)
    },
  )

  test.for<readonly [string, Record<string, string | string[]>, ApiOptions]>([
    ['missing', {}, {}],
    ['empty', { authorization: '' }, {}],
    ['without its scheme', { authorization: LIVE_KEY }, {}],
    ['under another scheme', { authorization: `Basic ${LIVE_KEY}` }, {}],
    ['unknown', { authorization: `Bearer ${LIVE_KEY}x` }, {}],
    ['too short to be one', { authorization: `Bearer service_live_${'a'.repeat(32)}` }, {}],
    ['too long to be one', { authorization: `Bearer service_live_${'a'.repeat(129)}` }, {}],
    ['of another brand', { authorization: `Bearer platen_live_${'a'.repeat(40)}` }, {}],
    ['in capitals', { authorization: `Bearer ${LIVE_KEY.toUpperCase()}` }, {}],
    ['followed by another', { authorization: `Bearer ${LIVE_KEY} ${LIVE_KEY}` }, {}],
    ['sent in two headers', { authorization: [`Bearer ${LIVE_KEY}`, `Bearer ${LIVE_KEY}`] }, {}],
    ['suspended', { authorization: `Bearer ${LIVE_KEY}` }, { key: { suspended: true } }],
    ['expired', { authorization: `Bearer ${LIVE_KEY}` }, { key: { expiresAt: NOON } }],
    [
      'published for the other environment than its prefix names',
      { authorization: `Bearer ${LIVE_KEY}` },
      { key: { environment: 'test' } },
    ],
    ['of a tenant that is gone', { authorization: `Bearer ${LIVE_KEY}` }, { key: { tenant: 'gone' as TenantId } }],
  ])('that is %s is refused in the same words', async ([, headers, options]) => {
    const refusal = async (api: Api, sent: typeof headers) => {
      const { statusCode, headers, body } = await api.call({ path: PATH, headers: { ...sent, 'x-request-id': 'r' } })
      return { statusCode, headers: { ...headers, date: '' }, body }
    }
    const answer = await refusal(anApi(options), headers)
    expect(answer.statusCode).toBe(401)
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    expect(JSON.parse(answer.body)).toEqual({
      error: {
        code: 'UNAUTHORIZED',
        reason: 'unauthorized',
        message: 'Send one valid API key as `Authorization: Bearer <key>`.',
        request_id: 'r',
      },
    })
    // Byte for byte the answer to a request without a key, including headers and their order.
    const plain = await refusal(anApi(), {})
    expect(JSON.stringify(answer)).toBe(JSON.stringify(plain))
  })

  test.for<readonly [string, Record<string, string>]>([
    ['missing', {}],
    ['malformed', { authorization: 'Bearer x' }],
    ['unknown', { authorization: `Bearer ${LIVE_KEY}x` }],
    ['good', { authorization: `Bearer ${LIVE_KEY}` }],
  ])('that is %s is looked up once, by a hash', async ([, headers]) => {
    const asked: unknown[] = []
    const { directory } = anApi().ports
    const keys = new Map(directory.current().keys)
    const get = keys.get.bind(keys)
    keys.get = (hash) => {
      asked.push(hash)
      return get(hash)
    }
    await anApi({ ports: { directory: { current: () => ({ ...directory.current(), keys }) } } }).call({
      path: PATH,
      headers,
    })
    expect(asked).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)])
  })

  test('is good until the moment it expires', async () => {
    const api = anApi({ key: { expiresAt: NOON + 1 } })
    expect((await api.get(PATH)).statusCode).toBe(200)
    await api.clock.advance(1)
    expect((await api.get(PATH)).statusCode).toBe(401)
  })

  test('is asked for before the body is looked at', async () => {
    const answer = await anApi().call({ method: 'POST', path: '/api/v1/render', payload: 'not JSON at all' })
    expect(answer.json().error.code).toBe('UNAUTHORIZED')
  })
})

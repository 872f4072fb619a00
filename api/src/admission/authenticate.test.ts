import { describe, expect, test } from 'vitest'
import { type ApiOptions, anApi, LIVE_KEY, TEST_KEY } from '../../../test/fixture/api.ts'
import { NOON } from '../../../test/fixture/build.ts'

const PATH = '/api/v1/templates'

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
  ])('that is %s is refused in the same words', async ([, headers, options]) => {
    const api = anApi(options)
    const answer = await api.call({ path: PATH, headers: { ...headers, 'x-request-id': 'r' } })
    expect(answer.statusCode).toBe(401)
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    expect(answer.json()).toEqual({
      error: {
        code: 'UNAUTHORIZED',
        message: 'Send one valid API key as `Authorization: Bearer <key>`.',
        request_id: 'r',
      },
    })
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

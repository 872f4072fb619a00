/** Tests the requests for tokens: when a token is kept, and what is refused. */
import { createServer } from 'node:http'
import { KAFKA_TOKEN_BYTES_MAX, oauthTokens } from '@platen/adapters/kafka/client/oauth-token.ts'
import { expect, test } from 'vitest'
import { manualClock } from '../fixture/memory/clock.ts'
import { listening } from '../topology/server/port.ts'

/** An endpoint that numbers its tokens. */
async function anEndpoint(answer: (count: number) => { status?: number; body: string; location?: string }) {
  let count = 0
  const server = createServer((request, response) => {
    request.resume()
    const { status = 200, body, location } = answer(++count)
    response.writeHead(status, { ...(location !== undefined && { location }) }).end(body)
  })
  const listener = await listening(server)
  const client = { tokenUrl: `${listener.url}/token`, clientId: 'me', clientSecret: 'hunter2' }
  return { ...listener, client, requests: () => count }
}

const numbered = (lifeSeconds?: number) => (count: number) => ({
  body: JSON.stringify({ access_token: `token-${count}`, expires_in: lifeSeconds }),
})

test('a token is used by all connections for four fifths of its life, and then replaced', async () => {
  await using endpoint = await anEndpoint(numbered(100))
  const clock = manualClock()
  const token = oauthTokens(clock)
  expect(await Promise.all([token(endpoint.client), token(endpoint.client)])).toEqual(['token-1', 'token-1'])
  await clock.advance(79_999)
  expect(await token(endpoint.client)).toBe('token-1')
  await clock.advance(1)
  expect(await token(endpoint.client)).toBe('token-2')
})

test('a token without a known life is used once, and another secret gets another token', async () => {
  await using endpoint = await anEndpoint(numbered())
  const token = oauthTokens(manualClock())
  expect([await token(endpoint.client), await token(endpoint.client)]).toEqual(['token-1', 'token-2'])
  await using lasting = await anEndpoint(numbered(100))
  const { client } = lasting
  expect(await token(client)).toBe('token-1')
  expect(await token({ ...client, clientSecret: 'a newer one' })).toBe('token-2')
})

test.for<[string, Parameters<typeof anEndpoint>[0], RegExp]>([
  ['an error', () => ({ status: 401, body: 'hunter2' }), /it answered 401$/],
  ['no JSON', () => ({ body: 'hunter2' }), /not JSON$/],
  ['no object', () => ({ body: 'null' }), /no access_token$/],
  ['no token', () => ({ body: '{"access_token":"hunter2\\n"}' }), /no access_token$/],
  ['no number of seconds', () => ({ body: '{"access_token":"a","expires_in":"hunter2"}' }), /expires_in/],
  ['too much', () => ({ body: 'x'.repeat(KAFKA_TOKEN_BYTES_MAX + 1) }), /more than \d+ bytes$/],
  ['another place', () => ({ status: 307, body: '', location: 'http://127.0.0.1:1/' }), /fetch failed$/],
])(
  'an answer with %s is refused, without its text, and the next call requests a new one',
  async ([, answer, reason]) => {
    await using endpoint = await anEndpoint((count) => (count === 1 ? answer(count) : numbered(100)(count)))
    const token = oauthTokens(manualClock())
    const refused = token(endpoint.client)
    await expect(refused).rejects.toThrow(reason)
    await expect(refused).rejects.not.toThrow('hunter2')
    expect(await token(endpoint.client)).toBe('token-2')
  },
)

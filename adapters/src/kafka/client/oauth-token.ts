/** Gets access tokens by the client credentials grant of OAuth 2.0 (RFC 6749, section 4.4), and keeps each until shortly before it expires. */
import type { Clock } from '@platen/lib/clock.ts'
import { readBounded } from '@platen/lib/read-bounded.ts'
import { messageOf } from '@platen/lib/thrown.ts'

const KIB = 1024
const SECOND_MS = 1000

/** How long the token endpoint may take, and the size of its answer. A connection waits for it within the time it has to authenticate. */
const KAFKA_TOKEN_MS_MAX = 2.5 * SECOND_MS
export const KAFKA_TOKEN_BYTES_MAX = 64 * KIB

export interface OauthClient {
  readonly tokenUrl: string
  readonly scope?: string | undefined
  readonly clientId: string
  readonly clientSecret: string
}

interface Token {
  readonly value: string
  /** Monotonic time until which it is used. */
  readonly until: number
}

/** Later the broker could find that the token has expired. */
const USED_SHARE = 0.8

/** Concurrent calls share one request. Errors say what is wrong with the answer, without the credentials or the token. */
export function oauthTokens(clock: Clock): (client: OauthClient) => Promise<string> {
  let cached: { readonly client: string; readonly token: Token } | undefined
  const requests = new Map<string, Promise<Token>>()
  const requestOnce = (client: OauthClient, key: string) => {
    const running = requests.get(key)
    if (running !== undefined) return running
    const request = requestToken(client, clock).finally(() => requests.delete(key))
    requests.set(key, request)
    return request
  }
  return async (client) => {
    const key = JSON.stringify(client)
    if (cached?.client === key && clock.monotonic() < cached.token.until) return cached.token.value
    const token = await requestOnce(client, key)
    cached = { client: key, token }
    return token.value
  }
}

async function requestToken({ tokenUrl, scope, clientId, clientSecret }: OauthClient, clock: Clock): Promise<Token> {
  const begunAt = clock.monotonic()
  // RFC 6749, section 2.3.1: both are form-encoded before they are joined.
  const credentials = [clientId, clientSecret].map(formEncoded).join(':')
  try {
    const response = await fetch(tokenUrl, {
      method: 'POST',
      headers: {
        Authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
        Accept: 'application/json',
      },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...(scope !== undefined && { scope }) }),
      // The credentials are for this endpoint alone.
      redirect: 'error',
      signal: clock.timeout(KAFKA_TOKEN_MS_MAX),
    })
    const text = await boundedText(response)
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    const { value, lifeMs } = tokenIn(text)
    return { value, until: begunAt + lifeMs * USED_SHARE }
  } catch (cause) {
    throw new Error(`no token from ${new URL(tokenUrl).origin}: ${messageOf(cause)}`, { cause })
  }
}

function formEncoded(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}

async function boundedText({ body }: Response): Promise<string> {
  if (body === null) return ''
  const bytes = await readBounded(body, KAFKA_TOKEN_BYTES_MAX)
  if (bytes === undefined) throw new Error(`its answer has more than ${KAFKA_TOKEN_BYTES_MAX} bytes`)
  return bytes.toString()
}

/** Without `expires_in`, which is only recommended, the token is used for one connection. */
function tokenIn(text: string): { readonly value: string; readonly lifeMs: number } {
  const answer = parsed(text)
  const value = answer['access_token']
  const seconds = answer['expires_in'] ?? 0
  // The characters of a token in RFC 6750, section 2.1.
  if (typeof value !== 'string' || !/^[A-Za-z0-9._~+/-]+=*$/.test(value))
    throw new Error('its answer has no access_token')
  const lifeMs = Number(seconds) * SECOND_MS
  if (!(lifeMs >= 0)) throw new Error('its answer has an expires_in that is no number')
  return { value, lifeMs }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text))
  } catch {
    // The parser's message quotes the text.
    throw new Error('its answer is not JSON')
  }
}

import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { type ClusterClient, openClusterClient } from '@platen/operator/cluster/client.ts'
import { ClusterError } from '@platen/operator/cluster/error.ts'
import { CLUSTER_BUSY_RETRIES_MAX, CLUSTER_REQUESTS_MAX } from '@platen/operator/cluster/limit.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { NEVER, rejectionOf } from '../../fixture/build.ts'
import { hurriedClock } from '../../time/hurried-clock.ts'
import { poll } from '../../time/poll.ts'
import { listening } from '../../topology/server/port.ts'

const PATH = '/api/v1/namespaces/team/secrets/ci'
const SECRET = 'aHVzaA=='
const OBJECT = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ci', uid: 'u', resourceVersion: '7' } }

interface Asked {
  readonly line: string
  readonly type: string | undefined
  readonly body: unknown
}

let stack: AsyncDisposableStack
let client: ClusterClient
let asked: Asked[]
let counted: string[]
let answer: RequestListener
let isAuthorized: boolean
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  asked = []
  counted = []
  isAuthorized = true
  answer = says(200, OBJECT)
  const server = createServer((request, response) => {
    void askedBy(request).then((one) => {
      asked.push(one)
      return answer(request, response)
    })
  })
  const { url } = stack.use(await listening(server))
  const authorize = async () => {
    if (!isAuthorized) throw new Error('no such file')
    return { headers: { authorization: 'Bearer token' } }
  }
  client = stack.use(
    openClusterClient({
      access: { server: `${url}/base`, authorize },
      clock: { ...hurriedClock(), timeout: () => systemClock().timeout(2000) },
      meter: { requested: (method, code) => void counted.push(`${method} ${code}`) },
    }),
  )
  return () => stack.disposeAsync()
})

async function askedBy(request: IncomingMessage): Promise<Asked> {
  const body = await text(request)
  const { method, url, headers } = request
  const type = headers['content-type']
  return { line: `${method} ${url}`, type, body: body === '' ? undefined : JSON.parse(body) }
}

function says(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): RequestListener {
  return (_request, response) => void response.writeHead(status, headers).end(JSON.stringify(body))
}

function refuses(code: number, reason: string, headers?: Readonly<Record<string, string>>): RequestListener {
  const causes = [{ field: 'data.key', message: `Invalid value: "${SECRET}"` }]
  const message = `Secret "ci" is invalid: data.key: Invalid value: "${SECRET}"`
  return says(code, { kind: 'Status', code, reason, message, details: { causes } }, headers)
}

/** What a call is refused with. */
async function refusal(call: Promise<unknown>): Promise<ClusterError> {
  const error = await rejectionOf(call)
  if (!(error instanceof ClusterError)) throw new Error('it was not refused', { cause: error })
  return error
}

test('says what it wants as the API server wants it said', async () => {
  await client.get(PATH, NEVER)
  await client.create('/api/v1/namespaces/team/secrets', OBJECT, NEVER)
  await client.replace(PATH, OBJECT, NEVER)
  await client.apply(PATH, { object: OBJECT, manager: 'platen-operator' }, NEVER)
  await client.mergePatch(PATH, { metadata: { finalizers: null } }, NEVER)
  const [json, strict] = ['application/json', 'fieldValidation=Strict']
  expect(asked).toEqual([
    { line: `GET /base${PATH}`, type: undefined, body: undefined },
    { line: `POST /base/api/v1/namespaces/team/secrets?${strict}`, type: json, body: OBJECT },
    { line: `PUT /base${PATH}?${strict}`, type: json, body: OBJECT },
    {
      line: `PATCH /base${PATH}?${strict}&fieldManager=platen-operator&force=true`,
      type: 'application/apply-patch+yaml',
      body: OBJECT,
    },
    {
      line: `PATCH /base${PATH}?${strict}`,
      type: 'application/merge-patch+json',
      body: { metadata: { finalizers: null } },
    },
  ])
  expect(counted).toEqual(['GET 200', 'POST 200', 'PUT 200', 'PATCH 200', 'PATCH 200'])
})

describe('what is not there', () => {
  test('is undefined', async () => {
    answer = refuses(404, 'NotFound')
    expect(await client.get(PATH, NEVER)).toBeUndefined()
  })

  test('is an error where the whole kind is not there', async () => {
    answer = (_request, response) => void response.writeHead(404).end('404 page not found\n')
    expect(await refusal(client.get(PATH, NEVER))).toMatchObject({ status: 404, reason: 'Unspecified' })
  })
})

describe('a refusal', () => {
  test('names the field and not its value', async () => {
    answer = refuses(422, 'Invalid')
    const error = await refusal(client.replace(PATH, OBJECT, NEVER))
    expect(error.message).toBe(`PUT ${PATH} (data.key): 422, Invalid`)
    expect(inspect(error, { depth: 5 })).not.toContain(SECRET)
  })

  test('for want of time is tried again as often as it is bearable', async () => {
    answer = refuses(429, 'TooManyRequests', { 'retry-after': '1' })
    expect(await refusal(client.get(PATH, NEVER))).toMatchObject({ status: 429, retryAfterMs: 1000 })
    expect(asked).toHaveLength(1 + CLUSTER_BUSY_RETRIES_MAX)
  })

  test('for want of much time is told at once, with how much', async () => {
    answer = refuses(503, 'ServiceUnavailable', { 'retry-after': '60' })
    expect(await refusal(client.get(PATH, NEVER))).toMatchObject({ status: 503, retryAfterMs: 60_000 })
    expect(asked).toHaveLength(1)
  })
})

describe('no answer', () => {
  test('within the time limit ends the request', async () => {
    answer = () => undefined
    expect(await refusal(client.get(PATH, NEVER))).toMatchObject({ status: 0, reason: 'Timeout' })
    expect(counted).toEqual(['GET <error>'])
  })

  test('is for the one who has no time any more', async () => {
    answer = () => undefined
    const over = new AbortController()
    const asking = client.get(PATH, over.signal)
    await poll(() => asked.length).until((count) => count === 1)
    over.abort(new Error('no longer'))
    await expect(asking).rejects.toThrow('no longer')
  })

  test.for<[string, string, RequestListener]>([
    [
      'that is whole',
      'ECONNRESET',
      (_request, response) => {
        response.writeHead(200, { 'content-length': '100' }).write('{')
        response.socket?.end()
      },
    ],
    ['that is an object', 'Malformed', says(200, { kind: 'Secret' })],
    ['that is JSON', 'Malformed', (_request, response) => void response.end('<html>')],
    ['of a bearable size', 'TooLarge', (_request, response) => void response.end(Buffer.alloc(33 * 1024 * 1024, ' '))],
  ])('%s has a word of its own', async ([, reason, listener]) => {
    answer = listener
    expect(await refusal(client.get(PATH, NEVER))).toMatchObject({ status: 0, reason })
  })

  test('comes without credentials, and nothing is asked', async () => {
    isAuthorized = false
    expect(await refusal(client.get(PATH, NEVER))).toMatchObject({ status: 0, reason: 'NoCredentials' })
    expect(asked).toEqual([])
  })
})

test('no more is asked at once than the API server is to bear, and all of it in the end', async () => {
  const held: (() => void)[] = []
  answer = (request, response) => void held.push(() => says(200, OBJECT)(request, response))
  const count = 3 * CLUSTER_REQUESTS_MAX
  const asking = Promise.all(Array.from({ length: count }, () => client.get(PATH, NEVER)))
  let done = 0
  while (done < count) {
    const wanted = Math.min(CLUSTER_REQUESTS_MAX, count - done)
    await poll(() => held.length).until((waiting) => waiting === wanted)
    expect(asked).toHaveLength(done + wanted)
    for (const release of held.splice(0)) release()
    done += wanted
  }
  expect(await asking).toHaveLength(count)
})

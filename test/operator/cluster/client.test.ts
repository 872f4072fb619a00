import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import type { KubeConfig } from '@kubernetes/client-node'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { CLUSTER_BUSY_RETRIES_MAX, CLUSTER_REQUESTS_MAX } from '@platen/operator/cluster/call.ts'
import { type ClusterClient, openClusterClient } from '@platen/operator/cluster/client.ts'
import { ClusterError } from '@platen/operator/cluster/error.ts'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { NEVER, rejectionOf } from '../../fixture/build.ts'
import { aFolder } from '../../fixture/lifetime.ts'
import { hurriedClock } from '../../time/hurried-clock.ts'
import { poll } from '../../time/poll.ts'
import { listening } from '../../topology/server/port.ts'
import { configOf } from './scripted-api.ts'

const PLACE = { namespace: 'team', name: 'ci' }
const PATH = '/base/api/v1/namespaces/team/secrets/ci'
const SECRET = 'aHVzaA=='
const OBJECT = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'ci', uid: 'u', resourceVersion: '7' } }

interface Asked {
  readonly line: string
  readonly type: string | undefined
  readonly authorization: string | undefined
  readonly body: unknown
}

let stack: AsyncDisposableStack
let client: ClusterClient
let asked: Asked[]
let counted: string[]
let answer: RequestListener
let connections: number
let url: string
beforeEach(async () => {
  stack = new AsyncDisposableStack()
  asked = []
  counted = []
  answer = says(200, OBJECT)
  const server = createServer((request, response) => {
    void askedBy(request).then((one) => {
      asked.push(one)
      return answer(request, response)
    })
  })
  connections = 0
  server.on('connection', () => connections++)
  url = `${stack.use(await listening(server)).url}/base`
  client = clientOf(configOf(url, { token: 'secret' }))
  return () => stack.disposeAsync()
})

function clientOf(config: KubeConfig): ClusterClient {
  const clock = { ...hurriedClock(), timeout: () => systemClock().timeout(2000) }
  const meter = { requested: (method: string, code: string) => void counted.push(`${method} ${code}`) }
  return stack.use(openClusterClient({ config, clock, meter }))
}

async function askedBy(request: IncomingMessage): Promise<Asked> {
  const body = await text(request)
  const { method, url, headers } = request
  const { 'content-type': type, authorization } = headers
  return { line: `${method} ${url}`, type, authorization, body: body === '' ? undefined : JSON.parse(body) }
}

function says(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): RequestListener {
  return (_request, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
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
  const tenant = { group: 'platen.dev', version: 'v1alpha1', plural: 'tenants', name: 'acme' }
  const template = { ...tenant, plural: 'templates', ...PLACE }
  await client.readSecret(PLACE, NEVER)
  await client.createSecret('team', OBJECT, NEVER)
  await client.patchSecret(PLACE, { data: { key: null } }, NEVER)
  await client.replaceLease(PLACE, OBJECT, NEVER)
  for (const at of [tenant, template]) {
    await client.apply(at, { object: OBJECT, manager: 'platen-operator' }, NEVER)
    await client.mergePatch({ ...at, subresource: 'status' }, { status: { urls: null } }, NEVER)
  }
  await client.remove(template, 'u', NEVER)
  const [json, merge] = ['application/json', 'application/merge-patch+json']
  const strict = 'fieldValidation=Strict'
  const custom = '/base/apis/platen.dev/v1alpha1'
  const lease = `/base/apis/coordination.k8s.io/v1/namespaces/team/leases/ci?${strict}`
  const applied = `?fieldManager=platen-operator&${strict}&force=true`
  const writes = (path: string) => [
    [`PATCH ${custom}/${path}${applied}`, 'application/apply-patch+yaml', OBJECT],
    [`PATCH ${custom}/${path}/status?${strict}`, merge, { status: { urls: null } }],
  ]
  expect(asked.map(({ line, type, body }) => [line, type, body])).toEqual([
    [`GET ${PATH}`, undefined, undefined],
    [`POST /base/api/v1/namespaces/team/secrets?${strict}`, json, OBJECT],
    [`PATCH ${PATH}?${strict}`, merge, { data: { key: null } }],
    [`PUT ${lease}`, json, OBJECT],
    ...writes('tenants/acme'),
    ...writes('namespaces/team/templates/ci'),
    [`DELETE ${custom}/namespaces/team/templates/ci`, json, { preconditions: { uid: 'u' } }],
  ])
  expect(new Set(asked.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer secret']))
  expect(counted).toEqual(
    ['GET', 'POST', 'PATCH', 'PUT', 'PATCH', 'PATCH', 'PATCH', 'PATCH', 'DELETE'].map((method) => `${method} 200`),
  )
})

test('asks again on connections it has, and on others after one that broke', async () => {
  const askOften = async () => {
    for (let asks = 0; asks < 20; asks++) await client.readSecret(PLACE, NEVER)
  }
  await askOften()
  const before = connections
  // The next request may begin before a connection is free again.
  expect(before).toBeLessThan(5)
  answer = (request) => void request.socket.destroy()
  await refusal(client.readSecret(PLACE, NEVER))
  answer = says(200, OBJECT)
  await askOften()
  expect(connections - before).toBeGreaterThan(0)
  expect(connections - before).toBeLessThan(5)
})

describe('credentials', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  test('of a file that is replaced are read again', async () => {
    const tokenFile = join(aFolder(), 'token')
    await writeFile(tokenFile, 'first')
    client = clientOf(configOf(url, { authProvider: { name: 'tokenFile', config: { tokenFile } } }))
    await client.readSecret(PLACE, NEVER)
    await writeFile(tokenFile, 'second')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    await client.readSecret(PLACE, NEVER)
    expect(asked.map(({ authorization }) => authorization)).toEqual(['Bearer first', 'Bearer second'])
  })

  test('of a command are asked for again when they have expired', async () => {
    const expirationTimestamp = new Date(Date.now() + 60_000).toISOString()
    const text = `console.log(JSON.stringify({ status: { token: String(process.pid), expirationTimestamp: '${expirationTimestamp}' } }))`
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, args: ['-e', text] }
    client = clientOf(configOf(url, { exec }))
    for (let asks = 0; asks < 2; asks++) await client.readSecret(PLACE, NEVER)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    await client.readSecret(PLACE, NEVER)
    const [first, second, third] = asked.map(({ authorization }) => authorization)
    expect(first).toMatch(/^Bearer \d+$/)
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  test('of a command that does not end are waited for no longer than for an answer', async () => {
    const exec = { apiVersion: 'v1', command: process.execPath, args: ['-e', 'setTimeout(() => {}, 10_000)'] }
    client = clientOf(configOf(url, { exec }))
    expect(await refusal(client.readSecret(PLACE, NEVER))).toMatchObject({ status: 0, reason: 'Timeout' })
  })

  test('that cannot be read are told, and nothing is asked', async () => {
    client = clientOf(configOf(url, { authProvider: { name: 'tokenFile', config: { tokenFile: '/no/such/file' } } }))
    expect(await refusal(client.readSecret(PLACE, NEVER))).toMatchObject({ status: 0, reason: 'NoCredentials' })
    expect(asked).toEqual([])
  })
})

describe('what is not there', () => {
  test('is undefined', async () => {
    answer = refuses(404, 'NotFound')
    expect(await client.readSecret(PLACE, NEVER)).toBeUndefined()
  })

  test('is an error where the whole kind is not there', async () => {
    answer = (_request, response) => void response.writeHead(404).end('404 page not found\n')
    expect(await refusal(client.readSecret(PLACE, NEVER))).toMatchObject({ status: 404, reason: 'Unspecified' })
  })
})

describe('a refusal', () => {
  test('names the field and not its value', async () => {
    answer = refuses(422, 'Invalid')
    const error = await refusal(client.patchSecret(PLACE, OBJECT, NEVER))
    expect(error.message).toBe(`PATCH ${PATH} (data.key): 422, Invalid`)
    expect(inspect(error, { depth: 5 })).not.toContain(SECRET)
  })

  test('for want of time is tried again as often as it is bearable', async () => {
    answer = refuses(429, 'TooManyRequests', { 'retry-after': '1' })
    expect(await refusal(client.readSecret(PLACE, NEVER))).toMatchObject({ status: 429, retryAfterMs: 1000 })
    expect(asked).toHaveLength(1 + CLUSTER_BUSY_RETRIES_MAX)
  })

  test('for want of much time is told at once, with how much', async () => {
    answer = refuses(503, 'ServiceUnavailable', { 'retry-after': '60' })
    expect(await refusal(client.readSecret(PLACE, NEVER))).toMatchObject({ status: 503, retryAfterMs: 60_000 })
    expect(asked).toHaveLength(1)
  })
})

describe('no answer', () => {
  test('within the time limit ends the request', async () => {
    answer = () => undefined
    expect(await refusal(client.readSecret(PLACE, NEVER))).toMatchObject({ status: 0, reason: 'Timeout' })
    expect(counted).toEqual(['GET <error>'])
  })

  test('is for the one who has no time any more', async () => {
    answer = () => undefined
    const over = new AbortController()
    const asking = client.readSecret(PLACE, over.signal)
    await poll(() => asked.length).until((count) => count === 1)
    over.abort(new Error('no longer'))
    await expect(asking).rejects.toThrow('no longer')
  })

  test.for<[string, string, RequestListener]>([
    [
      'that is whole',
      'UND_ERR_SOCKET',
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
    expect(await refusal(client.readSecret(PLACE, NEVER))).toMatchObject({ status: 0, reason })
  })
})

test('no more is asked at once than the API server is to bear, and all of it in the end', async () => {
  const held: (() => void)[] = []
  answer = (request, response) => void held.push(() => says(200, OBJECT)(request, response))
  const count = 3 * CLUSTER_REQUESTS_MAX
  const asking = Promise.all(Array.from({ length: count }, () => client.readSecret(PLACE, NEVER)))
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

/** Tests artifacts in S3 beyond the suite: the conditions for a start, and the effects of bad networks and bad stores. */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { connect, createServer as createTcpServer, type Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { openS3ArtifactStore, type S3ArtifactStoreOptions } from '@platen/adapters/s3/artifact-store.ts'
import type { S3Access } from '@platen/adapters/s3/connect.ts'
import { systemClock } from '@platen/adapters/system/clock.ts'
import { systemIds } from '@platen/adapters/system/ids.ts'
import { PDF_BYTES_MAX } from '@platen/contract/domain/limit.ts'
import { manifestKey } from '@platen/contract/domain/render.ts'
import type { ArtifactStore } from '@platen/contract/port/artifact-store.ts'
import { ArtifactStoreUnfit } from '@platen/contract/port/artifact-store.ts'
import { sha256 } from '@platen/lib/canonical-json.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aRenderId, NOON, rejectionOf } from '../fixture/build.ts'
import { hasServer } from '../topology/server/binary.ts'
import { listening } from '../topology/server/port.ts'
import { type S3Server, startS3 } from '../topology/server/s3.ts'
import { all } from './harness.ts'

const PDF = { bucket: 'platen', key: 'acme/01KAJ/0f3a.pdf' }
const NAMESPACE = { bucket: 'platen', prefix: '', installation: 'platen/one' }
const BYTES = Buffer.from('pdf')
/** Calls at once. Most of them wait for a connection. */
const AT_ONCE = 250
/** A clock without deadlines: calls end by themselves or not at all. */
const NO_DEADLINE = { ...systemClock(), timeout: () => new AbortController().signal }

describe.skipIf(!hasServer('s3'))('the artifact store on a real S3', () => {
  let server: S3Server
  beforeAll(async () => {
    server = await startS3()
    return () => server[Symbol.asyncDispose]()
  })
  afterEach(() => server.empty())
  const open = (options: Partial<S3ArtifactStoreOptions>, signal: AbortSignal) =>
    openAt({ ...server, ...options }, signal)

  test.for([
    [
      'a bucket that is not there',
      { namespace: { ...NAMESPACE, bucket: 'nowhere' } },
      /^there is no bucket nowhere: NoSuchBucket/,
    ],
    [
      'a wrong secret',
      { credentials: { accessKeyId: 'platen-test', secretAccessKey: 'wrong' } },
      /SignatureDoesNotMatch/,
    ],
    [
      'a stranger',
      { credentials: { accessKeyId: 'stranger', secretAccessKey: 'wrong' } },
      /these credentials, .*: XAdminUserNotFound/,
    ],
  ] as const)('is not opened with %s', async ([, options, message], { signal }) => {
    const fault = await rejectionOf(open(options, signal))
    expect(fault).toBeInstanceOf(ArtifactStoreUnfit)
    expect(fault).toMatchObject({ message: expect.stringMatching(message) })
  })

  test('trusts the CA that it is given, and signs each call with the key of the moment', async ({ signal }) => {
    await using secured = await startS3(['platen'], { tls: true, hasAccounts: true })
    const { endpoint, tls } = secured
    const keyOf = (name: string) => ({ accessKeyId: name, secretAccessKey: `secret of ${name}` })
    await secured.addAccount(keyOf('first'))
    let latest: S3Access = { credentials: keyOf('first'), tls }
    await expect(openAt({ endpoint, ...latest, tls: undefined }, signal)).rejects.toThrow(Unavailable)
    using artifacts = await openAt({ endpoint, ...latest, latest: () => latest }, signal)
    await artifacts.put(PDF, BYTES, signal)
    const linkOf = async () =>
      new URL(await artifacts.presign(PDF, { filename: 'a.pdf', expiresAt: Date.now() + 60_000 }, signal))
    expect((await linkOf()).search).toContain('first')
    await secured.addAccount(keyOf('second'))
    latest = { ...latest, credentials: keyOf('second') }
    await secured.removeAccount('first')
    expect(Buffer.from((await artifacts.get(PDF, signal)) ?? [])).toEqual(BYTES)
    expect((await linkOf()).search).toContain('second')
  })

  test('is opened by all processes of one installation and by no other', async ({ signal }) => {
    const namespace = { ...NAMESPACE, prefix: 'platen/' }
    using one = await open({ namespace }, signal)
    using again = await open({ namespace }, signal)
    await one.put(PDF, BYTES, signal)
    expect(await again.has(PDF, signal)).toBe(true)
    const fault = await rejectionOf(open({ namespace: { ...namespace, installation: 'platen/two' } }, signal))
    expect(fault).toBeInstanceOf(ArtifactStoreUnfit)
    expect(fault).toMatchObject({ message: expect.stringContaining('belongs to another installation: platen/one') })
  })

  test('sees nothing under another prefix, nor its own marker', async ({ signal }) => {
    using one = await open({ namespace: { ...NAMESPACE, prefix: 'one/' } }, signal)
    using two = await open({ namespace: { ...NAMESPACE, prefix: 'two/', installation: 'platen/two' } }, signal)
    await one.put(PDF, BYTES, signal)
    expect(await two.get(PDF, signal)).toBeUndefined()
    expect(await all(two.list('platen', '', signal))).toStrictEqual([])
    expect(await all(one.list('platen', '', signal))).toStrictEqual([PDF])
  })

  test('is Unavailable to who writes into a bucket that is not there', async ({ signal }) => {
    using store = await open({}, signal)
    const nowhere = { ...PDF, bucket: 'nowhere' }
    expect(await rejectionOf(store.put(nowhere, BYTES, signal))).toBeInstanceOf(Unavailable)
    expect(await rejectionOf(store.create(nowhere, BYTES, signal))).toBeInstanceOf(Unavailable)
  })

  test('lists more objects than S3 does at once', async ({ signal }) => {
    using store = await open({}, signal)
    const keys = Array.from({ length: 1001 }, (_, i) => `acme/${i}`)
    // More calls at once than connections. Few enough for a busy machine to finish them while one waits for a connection.
    for (let from = 0; from < keys.length; from += AT_ONCE) {
      const some = keys.slice(from, from + AT_ONCE)
      await Promise.all(some.map((key) => store.put({ bucket: 'platen', key }, BYTES, signal)))
    }
    const found = await all(store.list('platen', 'acme/', signal))
    expect(found.map(({ key }) => key).sort()).toStrictEqual(keys.toSorted())
  })

  test('gives out URLs at the public endpoint, good there alone', async ({ signal }) => {
    const publicEndpoint = server.endpoint.replace('127.0.0.1', 'localhost')
    using store = await open({ publicEndpoint }, signal)
    await store.put(PDF, BYTES, signal)
    const url = await store.presign(PDF, { expiresAt: Date.now() + 60_000, filename: 'a.pdf' }, signal)
    expect(new URL(url).origin).toBe(publicEndpoint)
    const { status, headers } = await fetch(url)
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toStrictEqual([
      200,
      'application/pdf',
      'private, no-store',
    ])
    expect((await fetch(url.replace(publicEndpoint, server.endpoint))).status).toBe(403)
  })

  test('has S3 refuse bytes that are not those of the digest in their name', async ({ signal }) => {
    using store = await open({}, signal)
    const digest = sha256(BYTES)
    const named = { ...PDF, key: `acme/01KAJ/${digest}.pdf` }
    const fault = await rejectionOf(store.put(named, Buffer.from('PDF'), signal))
    expect(fault).toBeInstanceOf(Unavailable)
    expect(fault).toMatchObject({ message: expect.stringContaining('XAmzContentSHA256Mismatch') })
    expect(await store.has(named, signal)).toBe(false)
    await store.put(named, BYTES, signal)
    expect(Buffer.from((await store.get(named, signal)) ?? [])).toEqual(BYTES)
  })

  test('is Unavailable while S3 is away, and serves when it is back', async ({ signal }) => {
    using store = await open({}, signal)
    await server.stop()
    expect(await rejectionOf(store.put(PDF, BYTES, signal))).toBeInstanceOf(Unavailable)
    expect(await rejectionOf(open({}, signal))).toBeInstanceOf(Unavailable)
    await server.start()
    await store.put(PDF, BYTES, signal)
  })

  test('creates an object once when the answer is lost and S3 is asked again', async ({ signal }) => {
    await using lossy = await aLossyWay(server.port)
    using store = await open({ endpoint: lossy.endpoint }, signal)
    lossy.loseNext()
    expect(await store.create(PDF, BYTES, signal)).toBe(true)
    expect(lossy.lost()).toBe(1)
    expect(await store.create(PDF, BYTES, signal)).toBe(false)
  })
})

describe('the artifact store on an S3 that', () => {
  test('ignores If-None-Match is not opened, and takes the prefix from nobody', async ({ signal }) => {
    const objects = new Map<string, Buffer>()
    const keep = async (request: IncomingMessage, response: ServerResponse) => {
      const path = request.url?.replace(/\?.*/, '') ?? ''
      if (request.method === 'PUT') objects.set(path, await buffer(request))
      const found = objects.get(path)
      if (found === undefined) response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
      else response.end(request.method === 'PUT' ? '' : found)
    }
    await using bad = await anS3((request, response) => void keep(request, response))
    const fault = await rejectionOf(openAt({ endpoint: bad.endpoint }, signal))
    expect(fault).toBeInstanceOf(ArtifactStoreUnfit)
    expect(fault).toMatchObject({ message: expect.stringContaining('ignores If-None-Match') })
    const other = await rejectionOf(
      openAt({ endpoint: bad.endpoint, namespace: { ...NAMESPACE, installation: 'two' } }, signal),
    )
    expect(other).toMatchObject({ message: expect.stringContaining('belongs to another installation: platen/one') })
  })

  test('does not know If-None-Match is not opened', async ({ signal }) => {
    await using bad = await anS3((request, response) => {
      const [status, code] =
        request.method === 'PUT' ? ([501, 'NotImplemented'] as const) : ([404, 'NoSuchKey'] as const)
      response.writeHead(status).end(`<Error><Code>${code}</Code></Error>`)
    })
    expect(await rejectionOf(openAt({ endpoint: bad.endpoint }, signal))).toBeInstanceOf(ArtifactStoreUnfit)
  })

  test('is overloaded is asked three times, and is Unavailable', async ({ signal }) => {
    await using bad = await aGoodStartThen((_, response) =>
      response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>'),
    )
    using store = await openAt({ endpoint: bad.endpoint }, signal)
    const before = bad.asked()
    const fault = await rejectionOf(store.put(PDF, BYTES, signal))
    expect(fault).toBeInstanceOf(Unavailable)
    expect(fault).toMatchObject({ message: expect.stringContaining('SlowDown (503)') })
    expect(bad.asked() - before).toBe(3)
  })

  test('has a conflict of creators is asked again', async ({ signal }) => {
    const answers = [409, 409, 200]
    await using busy = await aGoodStartThen((_, response) => {
      const status = answers.shift() ?? 500
      response.writeHead(status).end(status === 200 ? '' : '<Error><Code>ConditionalRequestConflict</Code></Error>')
    })
    using store = await openAt({ endpoint: busy.endpoint }, signal)
    expect(await store.create(PDF, BYTES, signal)).toBe(true)
    expect(answers).toStrictEqual([])
  })

  test.for([
    ['has shards', NOON],
    ['has none', NOON - 1],
  ] as const)('has nothing of a render that %s is asked once', async ([, issuedAt], { signal }) => {
    await using empty = await aGoodStartThen((_, response) => {
      response.writeHead(404).end('<Error><Code>NoSuchKey</Code></Error>')
    })
    using store = await openAt({ endpoint: empty.endpoint }, signal)
    const before = empty.asked()
    const manifest = { bucket: 'platen', key: manifestKey(aRenderId(issuedAt)) }
    expect(await store.get(manifest, signal)).toBeUndefined()
    expect(empty.asked() - before).toBe(1)
  })

  test('breaks off in the middle of an object is Unavailable', async ({ signal }) => {
    await using bad = await aGoodStartThen((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy())
    })
    using store = await openAt({ endpoint: bad.endpoint }, signal)
    expect(await rejectionOf(store.get(PDF, signal))).toBeInstanceOf(Unavailable)
  })

  test('knows nobody by these credentials any more has not thereby lost the object', async ({ signal }) => {
    await using bad = await aGoodStartThen((_, response) => {
      response.writeHead(404).end('<Error><Code>XAdminUserNotFound</Code></Error>')
    })
    using store = await openAt({ endpoint: bad.endpoint }, signal)
    expect(await rejectionOf(store.get(PDF, signal))).toBeInstanceOf(Unavailable)
    expect(await rejectionOf(all(store.list('platen', '', signal)))).toBeInstanceOf(Unavailable)
  })

  test('answers nothing is given up', async ({ signal }) => {
    await using bad = await aGoodStartThen(() => undefined)
    using store = await openAt({ endpoint: bad.endpoint, clock: NO_DEADLINE }, signal)
    expect(await rejectionOf(store.get(PDF, signal))).toBeInstanceOf(Unavailable)
  })

  test.for(['deadline', 'caller'] as const)(
    'never comes to an end is left at the end of the %s',
    async (end, { signal }) => {
      const asked = Promise.withResolvers<void>()
      await using bad = await aGoodStartThen((_, response) => {
        // Bytes keep arriving, so only the deadline of the call can end it.
        const drip = setInterval(() => response.write('.'), 100)
        response.on('close', () => clearInterval(drip)).write('.')
        asked.resolve()
      })
      const ends = { deadline: new AbortController(), caller: new AbortController() }
      const clock = { ...systemClock(), timeout: () => ends.deadline.signal }
      using store = await openAt({ endpoint: bad.endpoint, clock }, signal)
      const fault = rejectionOf(store.get(PDF, ends.caller.signal))
      await asked.promise
      const reason = new Error('gone')
      ends[end].abort(reason)
      if (end === 'caller') expect(await fault).toBe(reason)
      else expect(await fault).toBeInstanceOf(Unavailable)
    },
  )

  test('sends more than any artifact has is cut off', async ({ signal }) => {
    const chunk = Buffer.alloc(1 << 20)
    let sent = 0
    const ended = Promise.withResolvers<void>()
    await using bad = await aGoodStartThen((_, response) => {
      const send = (): void => {
        for (let room = true; room && !response.destroyed; sent += chunk.length) room = response.write(chunk)
      }
      response.on('drain', send).on('close', ended.resolve)
      send()
    })
    using store = await openAt({ endpoint: bad.endpoint }, signal)
    const fault = await rejectionOf(store.get(PDF, signal))
    expect(fault).toBeInstanceOf(Unavailable)
    expect(fault).toMatchObject({ cause: { message: expect.stringContaining(`${PDF_BYTES_MAX} bytes`) } })
    await ended.promise
    expect(sent).toBeLessThan(2 * PDF_BYTES_MAX)
  })
})

function openAt(options: Partial<S3ArtifactStoreOptions>, signal: AbortSignal): Promise<ArtifactStore & Disposable> {
  const credentials = { accessKeyId: 'platen-test', secretAccessKey: 'platen-test-secret' }
  const given = { region: 'us-east-1', isPathStyle: true, credentials, namespace: NAMESPACE }
  return openS3ArtifactStore({ ...given, clock: systemClock(), ids: systemIds(), ...options }, signal)
}

interface Endpoint extends AsyncDisposable {
  readonly endpoint: string
  /** Number of requests so far. */
  asked(): number
}

/** Starts a server that acts as S3. */
async function anS3(answer: (...exchange: Parameters<RequestListener>) => void): Promise<Endpoint> {
  let asked = 0
  const server = createServer((request, response) => {
    asked += 1
    answer(request, response)
  })
  return { ...(await endpointOf(server)), asked: () => asked }
}

/** Starts an S3 with an existing installation, so that the store opens. From then on, `answer` handles every request about an artifact. */
function aGoodStartThen(answer: RequestListener): Promise<Endpoint> {
  return anS3((request, response) => {
    request.resume()
    if (!request.url?.includes('/.installation')) answer(request, response)
    else if (request.method === 'GET') response.end(NAMESPACE.installation)
    else if (request.method === 'HEAD') response.end()
    else response.writeHead(412).end('<Error><Code>PreconditionFailed</Code></Error>')
  })
}

/** Starts a proxy that can lose an answer after the server has done the work. */
async function aLossyWay(port: number) {
  let isLosing = false
  let lost = 0
  const way = createTcpServer((near) => {
    const far = connect({ host: '127.0.0.1', port })
    near.pipe(far)
    far.on('data', (data) => {
      if (!isLosing) {
        near.write(data)
        return
      }
      isLosing = false
      lost += 1
      near.destroy()
    })
    near.on('error', () => undefined).on('close', () => far.destroy())
    far.on('error', () => undefined).on('close', () => near.destroy())
  })
  const loseNext = () => {
    isLosing = true
  }
  return { ...(await endpointOf(way)), loseNext, lost: () => lost }
}

/** Disposal ends no connection: it waits until the store has. */
async function endpointOf(server: Server): Promise<AsyncDisposable & { endpoint: string }> {
  const { url } = await listening(server)
  return { endpoint: url, [Symbol.asyncDispose]: () => new Promise((closed) => server.close(() => closed())) }
}

/**
 * What callers and authors of manifests write is held against what it reaches: keys of Redis and S3, records of Kafka, lines of the log,
 * headers of answers. Names are refused where they are read; everything else is hashed, encoded, or written into a value.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { resourceReader } from '@platen/contract/schema/resource/reader.ts'
import { describe, expect, test } from 'vitest'
import { aCluster, aTenant, redisOf } from '../../cluster/harness.ts'
import { shared } from '../../fixture/lifetime.ts'
import { SERVICE_BUCKET } from '../../topology/cluster/cluster.ts'
import { recordsOf } from '../../topology/cluster/record.ts'
import { openClusterStores } from '../../topology/cluster/store.ts'
import { ended, type RenderAnswer, readList, render, request } from '../../topology/service.ts'
import { OTHER, TEXTS } from './text.ts'

const ACME = `service_live_${'A'.repeat(43)}`
const GLOBEX = `service_live_${'G'.repeat(43)}`
const LIMITS = { syncRateLimitPerMinute: 10_000, asyncRateLimitPerMinute: 10_000, rateLimitPerMinute: 10_000 }
const LETTER = { template: 'letter', mode: 'async', data: {} }
const texts = Object.entries(TEXTS)

/** Renders that were accepted. */
const accepted: string[] = []

const cluster = shared(() =>
  aCluster({
    documents: [...aTenant('acme', ACME, LIMITS), ...aTenant(OTHER, GLOBEX, LIMITS)],
    settings: { PLATEN_WEBHOOK_ALLOW_HTTP: '1', PLATEN_WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', PLATEN_LOG_LEVEL: 'debug' },
  }),
)

describe('a request is taken or refused, whatever stands in', () => {
  /** Bodies with the text in each place that takes one. */
  const places: Readonly<Record<string, (text: string) => object>> = {
    template: (template) => ({ ...LETTER, template }),
    'options.filename': (filename) => ({ ...LETTER, options: { filename } }),
    webhook_url: (text) => ({ ...LETTER, webhook_url: `http://127.0.0.1:65529/${text}` }),
    reference: (reference) => ({ ...LETTER, reference }),
    'the names and values of metadata': (text) => ({ ...LETTER, metadata: { [text]: text, of: text } }),
    'the names and values of data': (text) => ({ ...LETTER, data: { [text]: text } }),
    'a field of its own': (text) => ({ ...LETTER, [text]: text }),
  }

  test.for(Object.keys(places))('%s', async (place) => {
    for (const [name, text] of texts) {
      const answer = await render(at(), ACME, places[place]?.(text))
      expect([202, 400, 404], `${place}: ${name}`).toContain(answer.status)
      expect(answer.headers.has('x-injected')).toBe(false)
      remember(answer)
    }
  })

  test.for(['/api/v1/render/', '/api/v1/renders?reference=', '/api/v1/deliveries/', '/api/v1/templates/', '/'])(
    'the path %s',
    async (path) => {
      expect((await readList(at(), { key: ACME, path: '/api/v1/renders' })).status).toBe(200)
      for (const [name, text] of texts) {
        const answer = await request(at(), { key: ACME, path: path + encodeURIComponent(text.toWellFormed()) })
        expect([200, 400, 401, 404, 405, 414, 431], `${path}: ${name}`).toContain(answer.status)
      }
    },
  )

  // As no client would send them: byte for byte.
  test.for(['Idempotency-Key', 'X-Request-Id', 'Authorization', 'Content-Type', 'X-Forwarded-For'])(
    'the header %s',
    async (header) => {
      for (const [name, text] of texts) {
        const answers = await sendRaw(header, text)
        // What comes behind the end of a request closes the connection, with or without the answer having been read.
        if (!text.includes('\r\n\r\n')) expect(answers.length, `${header}: ${name}`).toBe(1)
        for (const status of answers) expect(REFUSED_OR_TAKEN, `${header}: ${name}`).toContain(status)
      }
    },
  )
})

describe('afterwards', () => {
  test('every render that was accepted has ended well', async () => {
    expect(accepted.length).toBeGreaterThan(texts.length)
    for (const id of accepted) expect((await ended(at(), ACME, id)).status).toBe('succeeded')
  })

  test('keys of Redis are made of ids alone', async ({ signal }) => {
    await using redis = await redisOf(cluster(), signal)
    const keys = await redis.call((client) => client.keys('*'), signal)
    expect(keys.length).toBeGreaterThan(0)
    expect(keys.filter((key) => !REDIS_KEY.test(key))).toEqual([])
  })

  test('keys of S3 are made of ids and digests, and none is in a folder of another', async ({ signal }) => {
    await using stores = await openClusterStores(cluster(), signal)
    const keys: string[] = []
    for await (const { key } of stores.artifacts.list(SERVICE_BUCKET, '', signal)) keys.push(key)
    expect(keys.length).toBeGreaterThan(accepted.length)
    expect(keys.filter((key) => !S3_KEY.test(key))).toEqual([])
    expect(keys.filter((key) => key.startsWith(`${OTHER}/`))).toEqual([])
    // Those that webhooks were asked for are among them.
    expect(keys.some((key) => key.startsWith('delivery/'))).toBe(true)
  })

  test('records of Kafka have ids for keys, and headers of ours alone', async () => {
    const records = await recordsOf(cluster())
    expect(records.length).toBeGreaterThan(accepted.length)
    expect(records.filter(({ topic }) => !TOPIC.test(topic))).toEqual([])
    expect(records.filter(({ key }) => !RECORD_KEY.test(key))).toEqual([])
    expect(records.flatMap(({ headers }) => headers).filter((header) => header !== 'v: 1')).toEqual([])
    expect(records.filter(({ topic }) => topic.endsWith('dead'))).toEqual([])
  })

  test('each line of the log is one entry, and none was forged', () => {
    const lines = cluster()
      .log()
      .split('\n')
      .filter((line) => line.startsWith('{') || line.includes('forged'))
    expect(lines.length).toBeGreaterThan(0)
    const entries = lines.map((line): unknown => JSON.parse(line))
    expect(
      entries.filter(
        (entry) => typeof entry === 'object' && entry !== null && 'msg' in entry && entry.msg === 'forged',
      ),
    ).toEqual([])
    // What moves the cursor of whoever reads it.
    expect(cluster().log().includes('\u001b')).toBe(false)
  })

  test('the other tenant is served as before', async () => {
    const answer = await render(at(), GLOBEX, { ...LETTER, mode: 'sync' })
    expect(answer.status).toBe(200)
  })
})

describe('names of resources are refused where they are read:', () => {
  const read = resourceReader()
  const apiVersion = 'platen.dev/v1alpha1'
  const metadata = { name: 'a', namespace: 'team' }
  const tenantRef = { name: 'acme' }
  const reactPdf = { source: { inline: 'a' } }
  const manifests: Readonly<Record<string, (text: string) => object>> = {
    'of a Plan': (name) => ({ kind: 'Plan', metadata: { name }, spec: {} }),
    'of a Tenant': (name) => ({ kind: 'Tenant', metadata: { name }, spec: { planRef: tenantRef } }),
    'of a Template': (name) => ({ kind: 'Template', metadata: { ...metadata, name }, spec: { tenantRef, reactPdf } }),
    'of an ApiKey': (name) => ({
      kind: 'ApiKey',
      metadata: { ...metadata, name },
      spec: { tenantRef, secretName: 'a' },
    }),
    'of a namespace': (namespace) => ({
      kind: 'ApiKey',
      metadata: { name: 'a', namespace },
      spec: { tenantRef, secretName: 'a' },
    }),
    'of the Secret of an ApiKey': (secretName) => ({ kind: 'ApiKey', metadata, spec: { tenantRef, secretName } }),
    'of the tenant of a Template': (name) => ({ kind: 'Template', metadata, spec: { tenantRef: { name }, reactPdf } }),
    'the code of a Template': (code) => ({ kind: 'Template', metadata, spec: { tenantRef, reactPdf, code } }),
    'of an asset': (name) => ({
      kind: 'Template',
      metadata,
      spec: { tenantRef, reactPdf, assets: [{ name, inline: 'AAAA' }] },
    }),
    'of a bucket': (bucket) => ({
      kind: 'Tenant',
      metadata: { name: 'a' },
      spec: { planRef: tenantRef, storage: { bucket } },
    }),
    'the prefix of a tenant': (prefix) => ({
      kind: 'Tenant',
      metadata: { name: 'a' },
      spec: { planRef: tenantRef, storage: { prefix } },
    }),
  }
  test.for(Object.entries(manifests))('%s', ([, manifest]) => {
    const taken = texts.filter(([, text]) => 'written' in read({ apiVersion, ...manifest(text) }))
    expect(taken.map(([name]) => name)).toEqual([])
    const good = ['plain', 'plain/', 'plain.png'].filter((text) => 'written' in read({ apiVersion, ...manifest(text) }))
    expect(good.length).toBeGreaterThan(0)
  })
})

const REFUSED_OR_TAKEN = [200, 202, 400, 401, 404, 405, 415, 422, 431]
const ULID = '[0-7][0-9A-HJKMNP-TV-Z]{25}'
const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const ACCOUNT = '[0-9a-f]{32}'
const DIGEST = '[0-9a-f]{64}'
const MONTH = '\\d{4}-\\d{2}'
const REDIS_KEY = new RegExp(
  `^platen:(?:\\{directory\\}:(?:readers|seal-keys|meta|keys|templates|tenants|log)|\\{checkpoint\\}(?::charged:${MONTH})?|\\{list\\}|` +
    `(?:list|deliveries):\\{${ACCOUNT}\\}:live(?::(?:index|removed|bytes))?|render:\\{${ULID}\\}|` +
    `reply:\\{${ULID}\\}:[a-z0-9:]+|limiter:\\{${ACCOUNT}\\}:(?:settings|holdings|lapses|sums|charges:${MONTH}|` +
    `rate:(?:key:${ACCOUNT}:${DIGEST}:(?:a?sync)|tenant:${ACCOUNT}:live:(?:react_pdf|a?sync))))$`,
)
const S3_KEY = new RegExp(
  `^(?:acme/${ULID}/${DIGEST}\\.pdf|acme/${ULID}/[a-z]+(?:\\.json)?|manifest/${ULID}\\.json|template/${DIGEST}\\.json|` +
    `idempotency/${ACCOUNT}/live/${DIGEST}/\\d+|delivery/(?:by-id|of/${ULID})/${UUID})$`,
)
const TOPIC = /^(?:render|webhook)\.[a-z0-9_.]+$/
const RECORD_KEY = new RegExp(`^(?:${ULID}|${UUID})$`)

function at() {
  return cluster().at(0)
}

function remember(answer: RenderAnswer): void {
  if (answer.status === 202) accepted.push(String(answer.json()['render_id']))
}

/** Sends a render with one header as it stands; answers the statuses of all that comes back. */
async function sendRaw(header: string, text: string): Promise<readonly number[]> {
  const { hostname, port } = new URL(at().url())
  const body = JSON.stringify(LETTER)
  const own = { Authorization: `Bearer ${ACME}`, 'Content-Type': 'application/json' }
  const headers = { Host: 'a', 'Content-Length': body.length, Connection: 'close', ...own, [header]: text }
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined)
  socket.write(`POST /api/v1/render HTTP/1.1\r\n${head.join('')}\r\n${body}`)
  await once(socket, 'close')
  const answered = Buffer.concat(chunks).toString('latin1')
  expect(answered).not.toMatch(/^x-injected:/im)
  for (const [, id] of answered.matchAll(new RegExp(`"render_id":"(${ULID})"`, 'g'))) accepted.push(id ?? '')
  return Array.from(answered.matchAll(/^HTTP\/1\.1 (\d{3})/gm), ([, status]) => Number(status))
}

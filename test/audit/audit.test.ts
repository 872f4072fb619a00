import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ROOT } from '../architecture/source-tree.ts'
import { listening } from '../topology/server/port.ts'
import { toActOn } from './accepted.ts'
import { audit } from './audit.ts'

// npm caches advisories.
let cache: string
beforeAll(async () => {
  cache = await mkdtemp(join(tmpdir(), 'platen-npm-'))
  vi.stubEnv('npm_config_cache', cache)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(cache, { recursive: true, force: true, maxRetries: 10 })
})

/** A registry on loopback that answers the question for advisories, and knows nothing else. */
async function aRegistry(answer: (asked: Record<string, unknown>) => { status: number; body: object }) {
  const onRequest = async (...[request, response]: Parameters<RequestListener>) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const isQuestion = request.url?.endsWith('/security/advisories/bulk') === true
    const { status, body } = isQuestion
      ? answer(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString()))
      : { status: 404, body: {} }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const listener = await listening(createServer((request, response) => void onRequest(request, response)))
  return { ...listener, look: () => audit({ folder: ROOT, registry: `${listener.url}/`, timeoutMs: 60_000 }) }
}

const advisory = (severity: string, at: number) => ({
  id: at + 1,
  url: `https://advisories.example/${severity}`,
  title: `a ${severity} one`,
  severity,
  vulnerable_versions: '*',
})

test('reports high and critical advisories of deployed packages, and no others', async () => {
  let asked: Record<string, unknown> = {}
  await using registry = await aRegistry((packages) => {
    asked = packages
    return { status: 200, body: { fastify: ['low', 'moderate', 'high', 'critical'].map(advisory) } }
  })
  expect(await registry.look()).toEqual({
    advisories: expect.arrayContaining([
      { package: 'fastify', severity: 'high', title: 'a high one', url: 'https://advisories.example/high' },
      { package: 'fastify', severity: 'critical', title: 'a critical one', url: 'https://advisories.example/critical' },
    ]),
  })
  expect(Object.keys(asked)).toEqual(expect.arrayContaining(['fastify', 'kafkajs', 'ajv', 'undici']))
  expect(Object.keys(asked)).not.toContain('vitest')
})

test('finds nothing where nothing is known', async () => {
  await using registry = await aRegistry(() => ({ status: 200, body: {} }))
  expect(await registry.look()).toEqual({ advisories: [] })
})

test.for([404, 405, 503])('says that a registry could not be asked that answers %i', async (status) => {
  await using registry = await aRegistry(() => ({ status, body: { error: 'no' } }))
  expect(await registry.look()).toEqual({ reason: expect.stringContaining(`${status}`) })
})

test('says that a registry could not be asked that is not there', async () => {
  const look = await audit({ folder: ROOT, registry: 'http://127.0.0.1:9/', timeoutMs: 60_000 })
  expect(look).toEqual({ reason: expect.any(String) })
})

test('an advisory that is accepted counts again the day after', () => {
  const advisory = { package: 'ajv', severity: 'high', title: 'one', url: 'https://advisories.example/1' }
  const other = { ...advisory, url: 'https://advisories.example/2' }
  const accepted = [{ url: advisory.url, reason: 'nothing of it is reached', until: '2026-12-31' }]
  const on = (today: string) => toActOn([advisory, other], { accepted, today })
  expect([on('2026-12-31'), on('2027-01-01')]).toEqual([[other], [advisory, other]])
})

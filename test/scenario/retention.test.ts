/** How long a render is there for its caller: as long as was promised when it was accepted, whatever changes; then it is gone, and said to be. */
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type ArtifactAddress,
  decodeManifest,
  encodeManifest,
  manifestKey,
  pdfKey,
} from '@platen/contract/domain/render.ts'
import { type IdScope, mintRenderId, type RenderId, renderUuid } from '@platen/contract/domain/render-id.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { platenWith } from '../cli/command.ts'
import { erase as eraseIn } from '../cluster/harness.ts'
import { aManifest, aRecord } from '../fixture/build.ts'
import { ofTest } from '../fixture/lifetime.ts'
import { ACME_LIVE, ACME_TEST, GLOBEX_LIVE, invoice, manifests } from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import { aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { ended, readList, render, request, type Stores, submit, type TestedService } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'
import { isOfCluster, placesOf } from './stored-text.ts'

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS
/** Where the service itself keeps things. */
const SERVICE_BUCKET = 'platen'
const ID_KEY = randomBytes(32)

let service: TestedService
beforeAll(async () => {
  const env = { PLATEN_CHROMIUM: 'none', PLATEN_ID_KEYS: ID_KEY.toString('base64url') }
  service = await startService({ ...env, ...LOOPBACK_ALLOWED })
})
afterAll(() => service[Symbol.asyncDispose]())

const asked = (id: string, secret = ACME_LIVE) => request(service, { key: secret, path: `/api/v1/render/${id}` })

/** An id as this service issued it to acme so long ago. */
async function issued(agoMs: number, environment: IdScope['environment'] = 'live'): Promise<RenderId> {
  const identities = JSON.parse(await readFile(join(service.dataDir, 'identities.json'), 'utf8'))
  const scope = { account: String(identities['Tenant acme'].uid), environment }
  return mintRenderId(scope, [ID_KEY], { now: Date.now() - agoMs, random: randomBytes(5) })
}

describe('an id that was issued', () => {
  test('and of which nothing is there is queued for a day, and then no longer kept', async () => {
    const young = await asked(await issued(23 * HOUR_MS))
    expect([young.status, young.json()]).toMatchObject([200, { status: 'queued' }])
    for (const agoMs of [25 * HOUR_MS, 400 * DAY_MS]) {
      const old = await asked(await issued(agoMs))
      expect([old.status, old.json()]).toMatchObject([410, { error: { code: 'RENDER_EXPIRED' } }])
    }
  })

  test('is unknown to others, however old it is', async () => {
    const id = await issued(25 * HOUR_MS)
    const answers = [await asked(id, GLOBEX_LIVE), await asked(id, ACME_TEST), await asked(id)]
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 410])
  })
})

/** Rewrites what the manifests say, as one change. */
async function rewrite(change: (text: string) => string): Promise<void> {
  const draft = join(service.manifestsDir, '../all.yaml.draft')
  await writeFile(draft, change(manifests()))
  await rename(draft, join(service.manifestsDir, 'all.yaml'))
}

test('a change of the tenant’s storage and retention breaks no link and no id given out', async () => {
  const old = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
  const before = await ended(service, ACME_LIVE, old)
  const sync = await render(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
  await rewrite((text) =>
    text.replace(
      '"namespaces":["team-acme"]',
      '"namespaces":["team-acme"],"storage":{"bucket":"acme-own","prefix":"pdf/"},"overrides":{"retentionDays":1}',
    ),
  )
  const moved = await poll(
    async () =>
      await ended(service, ACME_LIVE, await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })),
  ).until(({ pdf_url: url }) => String(url).includes('/acme-own/pdf/'))
  const after = await ended(service, ACME_LIVE, old)
  const links = [before.pdf_url, after.pdf_url, moved.pdf_url]
  const statuses = await Promise.all(links.map(async (url) => (await fetch(String(url))).status))
  expect(statuses).toEqual([200, 200, 200])
  expect(await ended(service, ACME_LIVE, String(sync.headers.get('x-service-render-id')))).toMatchObject({
    status: 'succeeded',
  })
  await rewrite((text) => text)
  await poll(
    async () =>
      await ended(service, ACME_LIVE, await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })),
  ).until(({ pdf_url: url }) => !String(url).includes('/acme-own/'))
  expect((await fetch(String((await ended(service, ACME_LIVE, moved.render_id)).pdf_url))).status).toBe(200)
})

test('a link to a PDF that is no longer kept gives none', async ({ signal }) => {
  const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
  await ended(service, ACME_LIVE, id)
  await service.stop()
  {
    await using stores = await service.openStores(signal)
    await stores.artifacts.delete(await pdfOf(stores, id, signal), signal)
  }
  await service.start()
  const { pdf_url: url } = (await asked(id)).json()
  const { status } = await fetch(String(url))
  expect([404, 410]).toContain(status)
})

async function pdfOf({ artifacts }: Stores, id: string, signal: AbortSignal): Promise<ArtifactAddress> {
  const address = { bucket: SERVICE_BUCKET, key: manifestKey(id as RenderId) }
  const bytes = await artifacts.get(address, signal)
  const outcome = bytes && decodeManifest(bytes).outcome
  if (outcome?.status !== 'succeeded') throw new Error('it did not succeed')
  return outcome.pdf.address
}

test('a render past its retention is no longer kept, and one within is', async ({ signal }) => {
  const [past, kept] = [await issued(2 * DAY_MS), await issued(2 * DAY_MS)]
  expect(await service.stop()).toBe(0)
  await rendered(past, { retentionDays: 1, signal })
  await rendered(kept, { retentionDays: 30, signal })
  await service.start()
  const answer = await asked(past)
  expect([answer.status, answer.json()]).toMatchObject([410, { error: { code: 'RENDER_EXPIRED' } }])
  const { pdf_url: url, ...record } = (await asked(kept)).json()
  expect([record['status'], (await fetch(String(url))).status]).toEqual(['succeeded', 200])
})

/** Leaves a render in the stores as the service does that made it two days ago. */
async function rendered(
  id: RenderId,
  { retentionDays, signal }: { readonly retentionDays: number; readonly signal: AbortSignal },
): Promise<void> {
  await using stores = await service.openStores(signal)
  const { artifacts } = stores
  const acceptedAt = Date.now() - 2 * DAY_MS
  const record = aRecord({ id, acceptedAt, retentionDays })
  const bytes = Buffer.from('%PDF-')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const address = { bucket: record.storage.bucket, key: pdfKey(record, sha256) }
  const pdf = { address, bytes: bytes.length, sha256 }
  const outcome = { status: 'succeeded', finishedAt: acceptedAt, durationMs: 1, pages: 1, pdf } as const
  const manifest = aManifest({ record, outcome })
  await artifacts.put(address, bytes, signal)
  await artifacts.create({ bucket: SERVICE_BUCKET, key: manifestKey(id) }, encodeManifest(manifest), signal)
  await stores.report(manifest, signal)
}

/** Works while the embedded service is stopped: only then is its data folder free. A cluster goes on meanwhile. */
async function stopped<T>(work: () => Promise<T>): Promise<T> {
  if (isOfCluster(service)) return await work()
  await service.stop()
  const result = await work()
  await service.start()
  return result
}

/** Calls `platen erase`, on a service that is `stopped`. */
const erase = (...args: readonly string[]) =>
  isOfCluster(service)
    ? eraseIn(service, ...args)
    : platenWith({ PLATEN_DATA_DIR: service.dataDir }, 'erase', ...args, '--embedded')

const made = async (key: string) => {
  const id = await submit(service, key, { template: 'invoice', data: invoice(1) })
  return { id, url: String((await ended(service, key, id)).pdf_url) }
}

describe('platen erase', () => {
  test('takes away a render at once, answers 410 for it, and leaves the others', async () => {
    const [gone, kept] = [await made(ACME_LIVE), await made(ACME_LIVE)]
    const call = () => erase('render', gone.id.toLowerCase(), '--by', 'ada')
    for (const { code, out, err } of await stopped(async () => [await call(), await call()])) {
      expect([code, out]).toEqual([0, expect.stringContaining(`${gone.id}: erased\n`)])
      expect(JSON.parse(err)).toMatchObject({ by: 'ada', renders: [gone.id], failed: 0 })
      for (const topic of ['render.events', 'render.dead'])
        if (isOfCluster(service)) expect(out).toMatch(new RegExp(`${topic} +20\\d\\d-\\d\\d-\\d\\d`))
    }
    const answer = await asked(gone.id)
    expect([answer.status, answer.json()]).toMatchObject([410, { error: { code: 'RENDER_EXPIRED' } }])
    // The embedded service may have another port now.
    const { pathname, search, origin } = new URL(gone.url)
    const link = new URL(pathname + search, isOfCluster(service) ? origin : service.url())
    expect([404, 410]).toContain((await fetch(link)).status)
    const url = String((await asked(kept.id)).json()['pdf_url'])
    expect((await fetch(url)).status).toBe(200)
  })

  test('does not touch the data folder of a service that runs', async () => {
    if (isOfCluster(service)) return
    const { id } = await made(ACME_LIVE)
    const { code, err } = await platenWith({ PLATEN_DATA_DIR: service.dataDir }, 'erase', 'render', id, '--embedded')
    expect([code, err]).toEqual([2, expect.stringContaining('is in use: stop the service first')])
    expect((await asked(id)).status).toBe(200)
  })

  test('takes away what a tenant had before, and nothing of others', async () => {
    const [gone, foreign] = [await made(ACME_LIVE), await made(GLOBEX_LIVE)]
    const { code, out } = await stopped(() => erase('tenant', 'acme'))
    expect([code, out]).toEqual([0, expect.stringMatching(/^acme: \d+ renders? erased$/m)])
    const later = await made(ACME_LIVE)
    expect((await asked(gone.id)).status).toBe(410)
    expect((await asked(foreign.id, GLOBEX_LIVE)).status).toBe(200)
    expect((await fetch(later.url)).status).toBe(200)
  })

  test('takes away what has a reference, in both environments, and nothing else', async () => {
    const labeled = async (key: string, reference: string) => {
      const id = await submit(service, key, { template: 'invoice', data: invoice(1), reference })
      await ended(service, key, id)
      return id
    }
    const gone = [await labeled(ACME_LIVE, 'order 7'), await labeled(ACME_LIVE, 'order 7')]
    const sandboxed = await labeled(ACME_TEST, 'order 7')
    const [other, foreign] = [await labeled(ACME_LIVE, 'order 8'), await labeled(GLOBEX_LIVE, 'order 7')]
    const call = () => erase('tenant', 'acme', '--reference', 'order 7')
    const { first, again } = await stopped(async () => ({ first: await call(), again: await call() }))
    const { code, out, err } = first
    expect([code, out]).toEqual([0, expect.stringMatching(/^acme: 3 renders of the reference erased$/m)])
    expect(JSON.parse(err)).toMatchObject({ tenant: 'acme', of: 'reference', erased: 3, failed: 0 })
    expect(err).not.toContain('order 7')
    for (const id of gone) expect((await asked(id)).status).toBe(410)
    expect((await asked(sandboxed, ACME_TEST)).status).toBe(410)
    expect((await asked(other)).status).toBe(200)
    expect((await asked(foreign, GLOBEX_LIVE)).status).toBe(200)
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('acme: 0 renders of the reference erased')])
  })

  test.for(['Inline', 'Stored'] as const)(
    'with requestData: %s leaves of a request what the documents say',
    async (requestData, { signal }) => {
      const receiver = ofTest(await aReceiver())
      // Where a PDF is tells which settings are in force. Its rate would not: the limiter has new limits before the API has them.
      const prefix = `${requestData.toLowerCase()}/`
      const settings = JSON.stringify({ overrides: { requestData }, storage: { bucket: 'acme-own', prefix } })
      await rewrite((text) =>
        text.replace('"namespaces":["team-acme"]', `"namespaces":["team-acme"],${settings.slice(1, -1)}`),
      )
      const word = `lovelace-${requestData}-0123456789`
      const body = {
        template: 'invoice',
        mode: 'async',
        data: { ...invoice(1), number: word.slice(0, 20), rows: [{ name: word }] },
        options: { filename: `${word}.pdf` },
        webhook_url: `${receiver.url}/${word}`,
        reference: word,
        metadata: { who: word },
      }
      const listed = async () => {
        const found = await readList(service, { key: ACME_LIVE, path: `/api/v1/renders?reference=${word}` })
        return [found.status, found.json()]
      }
      await poll(() => made(ACME_LIVE)).until(({ url }) => url.includes(`/acme-own/${prefix}`))
      const answer = await request(service, { key: ACME_LIVE, body, headers: { 'idempotency-key': randomUUID() } })
      const id = String(answer.json()['render_id'])
      const uuid = renderUuid(id as RenderId)
      const { pdf_url: url } = await ended(service, ACME_LIVE, id)
      expect((await fetch(String(url))).headers.get('content-disposition')).toContain(word)
      await poll(() => receiver.received.map(({ body: sent }) => JSON.parse(sent)['id'])).until((ids) =>
        ids.includes(uuid),
      )
      expect(receiver.received.map(({ path }) => path)).toContain(`/${word}`)
      const labels = { reference: word, metadata: { who: word } }
      expect(receiver.received.map(({ body: sent }) => JSON.parse(sent))).toContainEqual(
        expect.objectContaining(labels),
      )
      expect(await listed()).toMatchObject([200, { renders: [{ render_id: id, ...labels, status: 'succeeded' }] }])
      const places = await stopped(async () => {
        expect(await placesOf(word, service, signal)).not.toEqual([])
        expect((await erase('tenant', 'acme')).code).toBe(0)
        return await placesOf(word, service, signal)
      })
      // The renders before it may have used up the tenant's share of the async lane.
      const left = places.map((place) => place.replace(/\.bulk$/, '.async'))
      const mayBeLeft = isOfCluster(service) && requestData === 'Inline'
      // What Kafka has until its retention is over.
      expect(new Set(left)).toEqual(new Set(mayBeLeft ? ['render.react_pdf.async', 'render.events'] : []))
      expect(await listed()).toEqual([200, { renders: [] }])
      await rewrite((text) => text)
    },
  )

  describe('called wrongly', () => {
    // Nothing after these calls needs the service.
    beforeAll(async () => {
      if (!isOfCluster(service)) await service.stop()
    })

    test.for([
      [['render'], 'usage'],
      [['render', 'no-id'], 'no-id is not the id of a render'],
      [['tenant', 'acme', '--before', 'yesterday'], '--before must be an RFC 3339 time'],
      [['tenant', 'nobody'], 'there is no tenant nobody'],
      [['tenant', 'nobody', '--reference', 'x'], 'there is no tenant nobody'],
      [['tenant', 'acme', '--reference', ''], '--reference must not be empty'],
      [['render', '01KAJHYV7NF3S8G9TWQ2MZXC4R', '--reference', 'x'], 'usage'],
    ] as const)('refuses %j', async ([args, message]) => {
      const { code, err } = await erase(...args)
      expect([code, err]).toEqual([2, expect.stringContaining(message)])
    })
  })
})

/** Tenants beside each other, and what becomes of them while the service runs: seen over HTTP, and changed in the folder of manifests. */
import { randomBytes } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import {
  ACME_LIVE,
  ACME_TEST,
  GLOBEX_LIVE,
  htmlOnly,
  invoice,
  key,
  liveKey,
  manifestOf,
  PATIENT_LIVE,
  template,
  tenant,
  tsx,
  withSpec,
} from '../fixture/manifests.ts'
import { poll } from '../time/poll.ts'
import type { TestedService } from '../topology/service.ts'
import { ended, type RenderAnswer, render, request, submit } from '../topology/service.ts'
import { startService } from '../topology/topology.ts'

const PAGE = tsx(`
import { Document, Page, Text } from '@react-pdf/renderer'
export default function Letter() { return <Document><Page><Text>a letter</Text></Page></Document> }
`)
/** The request id of every request whose answers are compared byte by byte. */
const SAME = { 'x-request-id': 'the-same' }

let service: TestedService
beforeAll(async () => {
  service = await startService({ PLATEN_CHROMIUM: 'none' })
})
afterAll(() => service[Symbol.asyncDispose]())
/** Another one, with one slot, that logs everything. Its last test stops it. */
const slow = shared(() =>
  startService({ PLATEN_CHROMIUM: 'none', PLATEN_RENDER_SLOTS: '1', PLATEN_LOG_LEVEL: 'debug' }),
)

/** A key nobody else has, in the form that callers bring. */
function newKey(environment: 'live' | 'test' = 'live'): string {
  return `service_${environment}_${BigInt(`0x1${randomBytes(32).toString('hex')}`)
    .toString(36)
    .padStart(43, '0')}`
}

/** Replaces one file of the folder, as `git checkout` would. Without resources it is removed. */
async function publish(file: string, resources: readonly object[], to = service): Promise<void> {
  const path = join(to.manifestsDir, file)
  if (resources.length === 0) return await rm(path)
  const draft = join(to.manifestsDir, `../${file}.draft`)
  await writeFile(draft, manifestOf(resources))
  await rename(draft, path)
}

const asked = (secret: string, path = '/api/v1/templates') => request(service, { key: secret, path, headers: SAME })
const opens = (secret: string) => poll(() => asked(secret)).until(({ status }) => status === 200)
const shuts = (secret: string) => poll(() => asked(secret)).until(({ status }) => status === 401)
const text = ({ body }: RenderAnswer) => Buffer.from(body).toString()
const codes = async (secret: string, of = service): Promise<unknown[]> => {
  const answer = await request(of, { key: secret, path: '/api/v1/templates', headers: SAME })
  // What the API's own tests hold against its schema; of a key that opens nothing there are none.
  const { templates = [] } = answer.json() as { templates?: { code: string }[] }
  return templates.map(({ code }) => code)
}
/** A key is in force at once, and a template when it is checked. */
const lists = (secret: string, of = service) => poll(() => codes(secret, of)).until((all) => all.includes('letter'))

describe('another tenant', () => {
  test('has no template that could be distinguished from one that does not exist', async () => {
    const answers = await Promise.all(
      ['secret-plans', 'made-up'].map((code) =>
        request(service, { key: ACME_LIVE, body: { template: code, data: {} }, headers: SAME }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([404, 404])
    expect(answers.map(text)).toEqual([text(answers[0] as RenderAnswer), text(answers[0] as RenderAnswer)])
    expect(await codes(ACME_LIVE)).not.toContain('secret-plans')
    expect(await codes(GLOBEX_LIVE)).toContain('secret-plans')
  })

  test('has no render that could be distinguished from one that does not exist, nor has the other environment', async () => {
    const id = await submit(service, ACME_LIVE, { template: 'invoice', data: invoice(1) })
    const sandbox = await submit(service, ACME_TEST, { template: 'invoice', data: invoice(1) })
    const madeUp = await asked(GLOBEX_LIVE, '/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R')
    expect([madeUp.status, madeUp.json()]).toMatchObject([404, { error: { code: 'RENDER_NOT_FOUND' } }])
    const foreign: [string, string][] = [
      [GLOBEX_LIVE, id],
      [GLOBEX_LIVE, sandbox],
      [ACME_TEST, id],
      [ACME_LIVE, sandbox],
    ]
    for (const [secret, render] of foreign) {
      const answer = await asked(secret, `/api/v1/render/${render}`)
      expect([answer.status, text(answer)]).toEqual([404, text(madeUp)])
    }
    expect((await asked(ACME_LIVE, `/api/v1/render/${id}`)).status).toBe(200)
    expect((await asked(ACME_TEST, `/api/v1/render/${sandbox}`)).status).toBe(200)
  })

  test('under the name of one that was removed sees nothing old', async () => {
    const secret = newKey()
    const resources = [tenant('phoenix', 'basic'), key('phoenix', 'live', secret), template('phoenix', 'letter', PAGE)]
    const once = { body: { template: 'letter', data: {}, mode: 'async' } }
    await publish('phoenix.yaml', resources)
    await lists(secret)
    const headers = { 'idempotency-key': 'first-of-all' }
    const id = String((await request(service, { key: secret, ...once, headers })).json()['render_id'])
    expect(await ended(service, secret, id)).toMatchObject({ status: 'succeeded' })
    await publish('phoenix.yaml', [])
    await shuts(secret)
    await publish('phoenix.yaml', resources)
    await lists(secret)
    const old = await asked(secret, `/api/v1/render/${id}`)
    const madeUp = await asked(secret, '/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R')
    expect([old.status, text(old)]).toEqual([404, text(madeUp)])
    const again = await request(service, { key: secret, ...once, headers })
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, null])
    expect(await ended(service, secret, String(again.json()['render_id']))).toMatchObject({ status: 'succeeded' })
  })
})

test('an engine that the installation does not have is refused, and no later answer is promised', async () => {
  const answer = await render(service, ACME_LIVE, { template: 'invoice', data: { number: '1' }, engine: 'html' })
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([422, null])
  expect(answer.json()['error']).toMatchObject({ code: 'VALIDATION_FAILED', reason: 'engine_not_installed' })
})

describe('a suspended tenant', () => {
  test('is refused new renders with the reason, and reads what it has', async () => {
    const secret = newKey()
    const resources = [key('lapsed', 'live', secret), template('lapsed', 'letter', PAGE)]
    await publish('lapsed.yaml', [tenant('lapsed', 'basic'), ...resources])
    await lists(secret)
    const id = await submit(service, secret, { template: 'letter', data: {} })
    await ended(service, secret, id)
    const post = () => render(service, secret, { template: 'letter', data: {} })
    await publish('lapsed.yaml', [
      withSpec(tenant('lapsed', 'basic'), { suspend: true, suspendReason: 'invoice 7 is overdue' }),
      ...resources,
    ])
    // Where they are processes apart, one may know of a change a moment before the other.
    const isSettled = (answer: RenderAnswer) => !text(answer).includes('tenant_suspended')
    const refused = await poll(post).until((answer) => answer.status !== 200 && isSettled(answer))
    expect([refused.status, refused.json()]).toMatchObject([
      402,
      { error: { code: 'PAYMENT_REQUIRED', message: expect.stringContaining('invoice 7 is overdue') } },
    ])
    const { pdf_url: url } = (await asked(secret, `/api/v1/render/${id}`)).json()
    expect((await fetch(String(url))).status).toBe(200)
    expect(await codes(secret)).toEqual(['letter'])
    await publish('lapsed.yaml', [tenant('lapsed', 'basic'), ...resources])
    const served = await poll(post).until((answer) => answer.status !== 402 && isSettled(answer))
    expect(served.status).toBe(200)
  })

  test.for([
    ['while the service runs', 'queued', false],
    ['while the service is down', 'waiting', true],
  ] as const)('has its queued renders failed, being suspended %s', async ([, name, isDown]) => {
    const secret = newKey()
    const resources = [key(name, 'live', secret), template(name, 'letter', PAGE)]
    const file = `${name}.yaml`
    await publish(file, [tenant(name, 'basic'), ...resources], slow())
    const post = () => render(slow(), secret, { template: 'letter', data: {}, mode: 'async' })
    await lists(secret, slow())
    // It takes the one slot until it is deleted, also after a kill. The slot for sync renders takes no other.
    const busyKey = isDown ? ACME_LIVE : PATIENT_LIVE
    const seen = slow().log().length
    const busy = await submit(slow(), busyKey, { template: 'busy', data: { rounds: 1e15 } })
    await poll(() => slow().log().slice(seen)).until((log) => log.includes('render started'))
    const id = String((await post()).json()['render_id'])
    if (isDown) await slow().kill()
    await publish(file, [withSpec(tenant(name, 'basic'), { suspend: true }), ...resources], slow())
    if (isDown) await slow().start()
    await poll(post).until(({ status }) => status === 402)
    await request(slow(), { key: busyKey, path: `/api/v1/render/${busy}`, method: 'DELETE' })
    expect(await ended(slow(), secret, id)).toMatchObject({ status: 'failed', error: { code: 'tenant_suspended' } })
  })
})

describe('a change in the folder', () => {
  test('is in force without a restart', async () => {
    const secret = newKey()
    const resources = [tenant('growing', 'basic'), key('growing', 'live', secret)]
    await publish('growing.yaml', resources)
    await opens(secret)
    expect(await codes(secret)).toEqual([])
    await publish('growing.yaml', [...resources, template('growing', 'letter', PAGE)])
    await lists(secret)
    expect((await render(service, secret, { template: 'letter', data: {} })).status).toBe(200)
    await publish('growing.yaml', [...resources, template('growing', 'letter', htmlOnly('<p>html alone</p>'))])
    const post = () => render(service, secret, { template: 'letter', data: {} })
    // The plan has no html engine.
    expect((await poll(post).until(({ status }) => status !== 200)).status).toBe(402)
  })

  test('that is written to the half revokes nothing', async () => {
    const secret = newKey()
    const whole = manifestOf([tenant('half', 'basic'), key('half', 'live', secret), template('half', 'letter', PAGE)])
    const path = join(service.manifestsDir, 'half.yaml')
    await writeFile(path, whole)
    await lists(secret)
    for (const length of [whole.length - 2, whole.indexOf('planRef'), 0]) {
      const seen = service.log().length
      await writeFile(path, whole.slice(0, length))
      // By the service itself, or by `platen publish`.
      await poll(() => service.log().slice(seen)).until((log) => /manifest refused|refused resources keep/.test(log))
      expect((await asked(secret)).status).toBe(200)
      expect((await render(service, secret, { template: 'letter', data: {} })).status).toBe(200)
      await writeFile(path, whole)
    }
  })
})

describe('a key', () => {
  const within = (seconds: number) =>
    new Date(Math.ceil(Date.now() / 1000 + seconds) * 1000).toISOString().replace('.000', '')
  type Change = (owner: ReturnType<typeof tenant>, mine: ReturnType<typeof key>) => readonly object[]

  test.for<[string, string, Change]>([
    ['that has expired', 'expired', (owner, mine) => [owner, withSpec(mine, { expiresAt: within(-10) })]],
    ['that is suspended', 'suspended', (owner, mine) => [owner, withSpec(mine, { suspend: true })]],
    ['that was removed', 'removed', (owner) => [owner]],
    [
      'whose namespace the tenant does not know',
      'unknown',
      (owner, mine) => [withSpec(owner, { namespaces: ['team-other'] }), mine],
    ],
    ['whose tenant was removed', 'orphaned', (_, mine) => [mine]],
    ['that was replaced by another', 'replaced', (owner) => [owner, liveKey('replaced', newKey(), 'next')]],
  ])('%s opens nothing any more', async ([, name, change]) => {
    const secret = newKey()
    const [owner, mine] = [tenant(name, 'basic'), key(name, 'live', secret)]
    await publish(`${name}.yaml`, [owner, mine])
    await opens(secret)
    await publish(`${name}.yaml`, change(owner, mine))
    const refused = await shuts(secret)
    expect(text(refused)).toBe(text(await asked(newKey())))
  })

  test('opens until the second it expires', async () => {
    const secret = newKey()
    const expiresAt = within(3)
    await publish('brief.yaml', [tenant('brief', 'basic'), withSpec(key('brief', 'live', secret), { expiresAt })])
    await opens(secret)
    await shuts(secret)
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(expiresAt))
  })

  test('whose hash an older one has is the older one’s, good or not', async () => {
    const secret = newKey()
    const older = [tenant('older', 'basic'), template('older', 'letter', PAGE)]
    await publish('older.yaml', [...older, key('older', 'live', secret)])
    await lists(secret)
    const seen = service.log().length
    await publish('younger.yaml', [tenant('younger', 'basic'), key('younger', 'live', secret)])
    await poll(() => service.log().slice(seen)).until((log) => log.includes('KeyTaken'))
    expect(await codes(secret)).toEqual(['letter'])
    await publish('older.yaml', [...older, withSpec(key('older', 'live', secret), { suspend: true })])
    await shuts(secret)
  })
})

describe('key material', () => {
  test('is in no log, no answer, no database and no artifact', async () => {
    const brought = newKey()
    const wrong = newKey()
    const own = slow()
    const generated = withSpec(key('secretive', 'live', brought), { sha256: undefined, secretName: 'made' })
    await publish(
      'secretive.yaml',
      [
        tenant('secretive', 'basic'),
        { ...generated, metadata: { ...generated.metadata, name: 'made' } },
        key('secretive', 'live', brought),
        template('secretive', 'letter', PAGE),
      ],
      own,
    )
    const look = (secret: string) => request(own, { key: secret, path: '/api/v1/templates' })
    await lists(brought, own)
    const made = (await readFile(join(own.dataDir, 'keys/team-secretive.made'), 'utf8')).trim()
    const answers = [await look(wrong), await look(made)]
    expect(answers.map(({ status }) => status)).toEqual([401, 200])
    const ids: string[] = []
    for (const secret of [brought, made]) {
      const headers = { 'idempotency-key': `once-${ids.length}` }
      const body = { template: 'letter', data: {}, mode: 'async' }
      const accepted = await request(own, { key: secret, body, headers })
      ids.push(String(accepted.json()['render_id']))
      answers.push(accepted, await render(own, secret, { template: 'letter', data: {} }))
      answers.push(await render(own, secret, { template: secret, data: { secret: 1 } }), await render(own, secret, '{'))
      await ended(own, secret, ids.at(-1) ?? '')
    }
    const logs = own.log()
    expect(await own.stop()).toBe(0)
    const files = (await Promise.all(own.storedIn.map(filesUnder))).flat()
    const written = [
      logs,
      ...answers.map(text),
      ...files.filter(({ path }) => !path.startsWith('keys/')).map(({ bytes }) => bytes),
    ]
    // Else what follows might look at nothing.
    for (const id of ids) expect(written.filter((one) => one.includes(id)).length).toBeGreaterThan(3)
    for (const secret of [brought, made, wrong]) {
      for (const part of partsOf(secret)) expect(written.filter((one) => one.includes(part))).toEqual([])
    }
  })
})

/** Everything below a folder, as text of one character a byte. */
async function filesUnder(folder: string): Promise<{ path: string; bytes: string }[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return await Promise.all(
    files.map(async (path) => ({ path: path.slice(folder.length + 1), bytes: await readFile(path, 'latin1') })),
  )
}

/** What would tell a key: any dozen characters of its secret part, and the whole of it in the usual encodings. */
function partsOf(secret: string): string[] {
  const body = secret.replace(/^service_(live|test)_/, '')
  const windows = Array.from({ length: body.length - 11 }, (_, at) => body.slice(at, at + 12))
  return [...windows, Buffer.from(body).toString('hex'), Buffer.from(secret).toString('base64')]
}

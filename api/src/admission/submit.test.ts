/** Renders of a tenant with `requestData: Stored`: what is written where, and what becomes of a repeated request. */

import { decodeRequest } from '@platen/contract/domain/stored-request.ts'
import { IDEMPOTENCY_PREFIX } from '@platen/contract/stored/idempotency.ts'
import { Unavailable } from '@platen/lib/unavailable.ts'
import { expect, test } from 'vitest'
import { anApi, isQueueEmpty, queued } from '../../../test/fixture/api.ts'
import { NEVER } from '../../../test/fixture/build.ts'
import { memoryArtifactStore } from '../../../test/fixture/memory/artifact-store.ts'
import { IDEMPOTENCY_UNDER_WAY_MS } from './limit.ts'

const DATA = { number: 'of lovelace' }
const BODY = {
  template: 'invoice',
  mode: 'async',
  data: DATA,
  options: { filename: 'lovelace.pdf', page_size: 'A5' },
  webhook_url: 'https://example.com/lovelace',
}
const STORED = { limits: { requestData: 'Stored' } } as const

function aStoringApi() {
  const artifacts = memoryArtifactStore()
  return { artifacts, ...anApi({ tenant: STORED, ports: { artifacts } }) }
}

test('the record in the queue has the address of the request and nothing of it', async () => {
  const { artifacts, ...api } = aStoringApi()
  expect((await api.post(BODY)).statusCode).toBe(202)
  const record = await queued(api, 'async')
  expect(JSON.stringify(record)).not.toContain('lovelace')
  expect(record).toMatchObject({ requestData: 'Stored', options: { page_size: 'A5' } })
  const stored = 'stored' in record.data && (await artifacts.get(record.data.stored, NEVER))
  const { data, ...rest } = decodeRequest(stored || Buffer.of())
  expect(rest).toEqual({ filename: 'lovelace.pdf', webhookUrl: 'https://example.com/lovelace' })
  expect(JSON.parse(Buffer.from(data).toString())).toEqual(DATA)
})

test('a render is refused while its request cannot be stored', async () => {
  const { artifacts, ...api } = aStoringApi()
  artifacts.put = () => Promise.reject(new Unavailable('no answer'))
  expect((await api.post(BODY)).statusCode).toBe(503)
  expect(await isQueueEmpty(api)).toBe(true)
})

// The tenant may have changed its mind between the two.
test.for([
  ['Stored', 'Stored'],
  ['Stored', 'Inline'],
  ['Inline', 'Stored'],
] as const)('a request that was interrupted as %s and is repeated as %s is queued whole', async ([first, second]) => {
  const artifacts = memoryArtifactStore()
  const api = anApi({ tenant: { limits: { requestData: first } }, ports: { artifacts } })
  const enqueue = api.ports.queue.enqueue.bind(api.ports.queue)
  // As if the process died between claim and answer.
  api.ports.queue.enqueue = () => new Promise<never>(() => undefined)
  void api.post(BODY, { 'idempotency-key': 'k' })
  const [claim] = await untilClaimed(artifacts)
  if (first === 'Stored') expect(claim).not.toContain('lovelace')
  api.ports.queue.enqueue = enqueue
  const { directory: _directory, ...shared } = api.ports
  const again = anApi({ tenant: { limits: { requestData: second } }, ports: shared })
  await api.clock.advance(IDEMPOTENCY_UNDER_WAY_MS)
  const answer = await again.post(BODY, { 'idempotency-key': 'k' })
  expect([answer.statusCode, answer.headers['idempotent-replayed']]).toEqual([202, 'true'])
  const record = await queued(again, 'async')
  expect(claim).toContain(record.id)
  const stored = 'stored' in record.data && (await artifacts.get(record.data.stored, NEVER))
  const request = stored ? decodeRequest(stored) : undefined
  expect([record.requestData === 'Stored', request !== undefined]).toEqual([second === 'Stored', second === 'Stored'])
  expect([record.webhookUrl ?? request?.webhookUrl, record.options.filename ?? request?.filename]).toEqual([
    BODY.webhook_url,
    BODY.options.filename,
  ])
})

/** The claims as text, once there is one. */
async function untilClaimed(artifacts: ReturnType<typeof memoryArtifactStore>): Promise<readonly string[]> {
  for (;;) {
    const claims = await Array.fromAsync(artifacts.list('platen', IDEMPOTENCY_PREFIX, NEVER))
    const texts = await Promise.all(claims.map(async (claim) => String(await artifacts.get(claim, NEVER))))
    if (texts.length > 0) return texts
    await new Promise((resolve) => setImmediate(resolve))
  }
}

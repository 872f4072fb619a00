/** kill -9 of the service between an event and its recorded delivery: no due delivery is lost, and repetitions have the same id. */
import type { DeliveryList } from '@platen/contract/schema/response.ts'
import { expect, test } from 'vitest'
import { shared } from '../fixture/lifetime.ts'
import { ACME_LIVE, invoice } from '../fixture/manifests.ts'
import { IS_LONG } from '../run/form.ts'
import { poll } from '../time/poll.ts'
import { startEmbedded } from '../topology/embedded.ts'
import { answering, aReceiver, LOOPBACK_ALLOWED } from '../topology/receiver.ts'
import { request, submit } from '../topology/service.ts'

type Delivery = DeliveryList['deliveries'][number]

const SETTINGS = { ...LOOPBACK_ALLOWED, PLATEN_CHROMIUM: 'none' }
const RENDERS = IS_LONG ? 60 : 24
const KILLS = IS_LONG ? 5 : 3

const service = shared(() => startEmbedded(SETTINGS))

async function deliveriesOf(id: string): Promise<readonly Delivery[]> {
  const answer = await request(service(), { key: ACME_LIVE, path: `/api/v1/render/${id}/deliveries` })
  // Tests of the API compare its answers with this schema.
  return answer.json()['deliveries'] as readonly Delivery[]
}

test(`of ${RENDERS} deliveries under ${KILLS} kills each arrives, under one id`, async () => {
  await using receiver = await aReceiver()
  const refused = new Set<string>()
  const accepted: string[] = []
  // The receiver refuses the first attempt of each delivery, so that each one waits for a retry at some time.
  receiver.answer((incoming, response) => {
    const id = String(incoming.headers['webhook-id'])
    const isFirst = !refused.has(id)
    refused.add(id)
    if (!isFirst) accepted.push(id)
    answering(isFirst ? 500 : 204)(incoming, response)
  })
  const ids: string[] = []
  while (ids.length < RENDERS) {
    const body = { template: 'invoice', data: invoice(1), webhook_url: `${receiver.url}/${ids.length}` }
    ids.push(await submit(service(), ACME_LIVE, body))
  }
  for (let kill = 1; kill <= KILLS; kill++) {
    // The kill comes at an event: this many calls have arrived, and others are under way.
    await receiver.until(Math.floor((kill * RENDERS) / KILLS))
    await service().kill()
    await service().start()
  }
  const deliveries: (readonly Delivery[])[] = []
  for (const id of ids) {
    const isDelivered = (found: readonly Delivery[]) => found[0]?.status === 'delivered'
    deliveries.push(await poll(() => deliveriesOf(id)).until(isDelivered))
  }
  expect(deliveries.map(({ length }) => length)).toEqual(Array(RENDERS).fill(1))
  const delivered = deliveries.flat().map(({ id }) => id)
  expect(new Set(delivered).size).toBe(RENDERS)
  expect(new Set(accepted)).toEqual(new Set(delivered))
  const paths = new Map(receiver.received.map(({ path, headers }) => [path, String(headers['webhook-id'])]))
  for (const { path, headers } of receiver.received) expect(headers['webhook-id']).toBe(paths.get(path))
})

test('the ladder goes on where it was', async () => {
  await using receiver = await aReceiver()
  receiver.answer(answering(500))
  const id = await submit(service(), ACME_LIVE, { template: 'invoice', data: invoice(1), webhook_url: receiver.url })
  const hasFailedTwice = ([only]: readonly Delivery[]) => (only?.attempts.length ?? 0) >= 2
  const [before] = await poll(() => deliveriesOf(id)).until(hasFailedTwice)
  await service().kill()
  receiver.answer(answering(204))
  await service().start()
  // The next attempt may be due before the service has started.
  const [after] = await poll(() => deliveriesOf(id)).until(([only]) => only?.status === 'delivered')
  expect(after?.id).toBe(before?.id)
  const made = before?.attempts.length ?? 0
  expect(after?.attempts.slice(0, made)).toEqual(before?.attempts)
  expect(Date.parse(String(after?.attempts[made]?.started_at))).toBeGreaterThanOrEqual(
    Date.parse(String(before?.next_attempt_at)),
  )
})

test('a call whose answer was not written down is made again, under the same id', async () => {
  await using receiver = await aReceiver()
  // The process is killed while the answer is on its way. It may not have recorded the answer, so the receiver may see the delivery twice.
  let killed: Promise<void> | undefined
  receiver.answer((incoming, response) => {
    killed ??= service().kill()
    answering(204)(incoming, response)
  })
  const id = await submit(service(), ACME_LIVE, { template: 'invoice', data: invoice(1), webhook_url: receiver.url })
  await receiver.until(1)
  await killed
  await service().start()
  const [delivery] = await poll(() => deliveriesOf(id)).until(([only]) => only?.status === 'delivered')
  expect(receiver.received.length).toBeLessThanOrEqual(2)
  expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(new Set([delivery?.id]))
})

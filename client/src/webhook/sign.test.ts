import { describe, expect, test } from 'vitest'
import { verifyWebhook } from '../webhook.ts'
import { type SignOptions, signTestEvent, type TestEvent } from './sign.ts'

const SECRET = 'service_webhook_secret'
const RENDER_ID = '01J2HW8QBEFY09M6SC7N75YR3H'
const UUID = '0190a3c4-5d6e-7f80-9a1b-2c3d4e5f6071'

/** Signs an event, and verifies it as a receiver does. */
async function received(options: Partial<SignOptions> = {}, secret: string | readonly string[] = SECRET) {
  const { headers, body } = await signTestEvent({ secret: SECRET, ...options })
  const now = () => options.event?.timestamp?.getTime() ?? Number(headers['webhook-timestamp']) * 1000
  const { brand = 'service' } = options
  const [standard, service] = await Promise.all(
    (['standard', 'service'] as const).map((scheme) => verifyWebhook(body, headers, secret, { now, scheme, brand })),
  )
  expect(service).toEqual(standard)
  return standard
}

describe('an event for a test', () => {
  test('is one that a receiver takes, though nothing of it is said', async () => {
    const [event, another] = [await received(), await received()]
    expect(event).toMatchObject({ type: 'render.succeeded', data: { status: 'succeeded', template: 'invoice' } })
    if (event?.type !== 'render.succeeded' || another?.type !== 'render.succeeded') throw new Error('another event')
    expect(event.renderId).toBe(event.data.renderId)
    expect(another.renderId).not.toBe(event.renderId)
    expect(another.deliveryId).not.toBe(event.deliveryId)
  })

  test.for<TestEvent>([
    {
      type: 'render.succeeded',
      deliveryId: UUID,
      timestamp: new Date(Date.UTC(2026, 10, 21, 12)),
      renderId: RENDER_ID,
      data: {
        template: 'letter',
        reference: 'a_b',
        metadata: { order_id: '1' },
        durationMs: 7,
        bytes: 9,
        artifactId: 'f',
        pages: 3,
        warnings: [{ code: 'text_overflow', place: 'page 1', message: 'a_b' }],
        warningsOmitted: 2,
      },
    },
    {
      type: 'render.failed',
      renderId: RENDER_ID,
      data: { errorCode: 'page_limit', errorMessage: 'zażółć', metadata: { orderId: '1' } },
    },
  ])('is what the test says: $type', async (event) => {
    const verified = await received({ event })
    expect(verified).toMatchObject({ ...event, data: { id: UUID } })
    if (verified?.type === 'render.failed') expect(verified.data.errorReason).toBe('page_limit')
  })

  test('can be the end of a batch, whose counts fit each other', async () => {
    const timestamp = new Date('2026-11-21T12:00:00.412Z')
    const time = timestamp.toISOString()
    const data = { reference: 'a_b', metadata: { run_id: '7' }, succeeded: 4, failed: 1 }
    const event = { type: 'batch.ended', batchId: RENDER_ID, timestamp, data } as const
    const verified = await received({ event })
    const made = { batchId: RENDER_ID, template: 'invoice', status: 'ended', total: 5, createdAt: time, endedAt: time }
    expect(verified).toMatchObject({ type: 'batch.ended', batchId: RENDER_ID })
    expect(verified?.data).toEqual({ ...data, ...made })
    expect(verified).not.toHaveProperty('renderId')
  })

  test('can be that of a test from the service, which has the id and the time of its delivery', async () => {
    const timestamp = new Date('2026-11-21T12:00:00.412Z')
    const verified = await received({ event: { type: 'webhook.test', deliveryId: UUID, timestamp } })
    const data = { id: UUID, status: 'test', createdAt: '2026-11-21T12:00:00.412Z' }
    expect(verified).toMatchObject({ type: 'webhook.test', deliveryId: UUID, data })
    expect(verified).not.toHaveProperty('renderId')
    const createdAt = '2026-11-20T00:00:00.000Z'
    expect(await received({ event: { type: 'webhook.test', data: { createdAt } } })).toMatchObject({
      data: { createdAt },
    })
  })

  test('is signed with each of two secrets, and with the previous one where there is room for one', async () => {
    const { headers, body } = await signTestEvent({ secret: ['current', 'previous'] })
    for (const secret of ['current', 'previous']) await verifyWebhook(body, headers, secret, { scheme: 'standard' })
    await verifyWebhook(body, headers, 'previous', { scheme: 'service' })
    await expect(verifyWebhook(body, headers, 'current', { scheme: 'service' })).rejects.toThrow('no signature matches')
  })

  test('is refused by a receiver with another secret', async () => {
    await expect(received({}, 'another')).rejects.toThrow('no signature matches')
  })

  test('has the word of the brand in its headers', async () => {
    expect((await received({ brand: 'acme' }))?.type).toBe('render.succeeded')
    expect(Object.keys((await signTestEvent({ secret: SECRET, brand: 'acme' })).headers)).toContain('x-acme-signature')
  })

  test.for<[string, SignOptions]>([
    ['no secret', { secret: '' }],
    ['a list without secrets', { secret: [] }],
    ['a render id that is none', { secret: SECRET, event: { type: 'render.failed', renderId: UUID } }],
    ['a batch id that is none', { secret: SECRET, event: { type: 'batch.ended', batchId: UUID } }],
    ['a delivery id that is none', { secret: SECRET, event: { type: 'render.failed', deliveryId: 'x' } }],
    ['a time that is none', { secret: SECRET, event: { type: 'render.failed', timestamp: new Date(Number.NaN) } }],
  ])('is not made with %s', async ([, options]) => {
    await expect(signTestEvent(options)).rejects.toThrow(TypeError)
  })
})

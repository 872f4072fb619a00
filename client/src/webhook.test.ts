import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { systemClock } from './clock.ts'
import { type VerifyOptions, verifyWebhook, type WebhookHeaders, WebhookVerificationError } from './webhook.ts'

const SECRET = 'service_webhook_secret'
const OLD_SECRET = 'service_webhook_older'
const NOW = 1_795_262_400
const DELIVERY = '0190a3c4-61aa-7c3d-8e4f-5a6b7c8d9e0f'
const SUCCEEDED = {
  id: '0190a3c4-5d6e-7f80-9a1b-2c3d4e5f6071',
  status: 'succeeded',
  duration_ms: 412,
  bytes: 48_213,
  artifact_id: '9f86d081884c7d65',
}
const FAILED = {
  id: SUCCEEDED.id,
  status: 'failed',
  error_code: 'render_timeout',
  error_message: 'the render did not end within 25 seconds',
}
const BATCH = {
  batch_id: '01KAJHYV7NF3S8G9TWQ2MZXC4R',
  template: 'invoice',
  metadata: { run_id: '7' },
  status: 'ended',
  total: 5,
  succeeded: 4,
  failed: 1,
  created_at: '2026-11-21T12:00:00.000Z',
  ended_at: '2026-11-21T12:00:03.187Z',
}
const TEST = { id: DELIVERY, status: 'test', created_at: '2026-11-21T12:00:00.412Z' }
const BODY = JSON.stringify(SUCCEEDED)

const hmac = (secret: string, text: string) => createHmac('sha256', secret).update(text)
const hexOf = (secret: string, timestamp: number | string, body = BODY) =>
  `sha256=${hmac(secret, `${timestamp}.${body}`).digest('hex')}`
const base64Of = (secret: string, timestamp: number | string, body = BODY) =>
  `v1,${hmac(secret, `${DELIVERY}.${timestamp}.${body}`).digest('base64')}`

/** Headers of a delivery signed at a given time. `changes` replaces headers; `undefined` removes one. */
function headersOf(changes: Record<string, string | readonly string[] | undefined> = {}, timestamp = NOW, body = BODY) {
  const sent = {
    'content-type': 'application/json',
    'x-service-event': 'render.succeeded',
    'x-service-delivery': DELIVERY,
    'x-service-timestamp': `${timestamp}`,
    'x-service-signature': hexOf(SECRET, timestamp, body),
    'webhook-id': DELIVERY,
    'webhook-timestamp': `${timestamp}`,
    'webhook-signature': base64Of(SECRET, timestamp, body),
    ...changes,
  }
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined))
}

const verify = (headers: WebhookHeaders, options: VerifyOptions = {}, body: string | Uint8Array = BODY) =>
  verifyWebhook(body, headers, SECRET, { now: () => NOW * 1000, ...options })

/** Returns the code of the refusal; `taken` when the delivery is accepted. */
async function verdict(attempt: Promise<unknown>): Promise<string> {
  try {
    await attempt
    return 'taken'
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.code
    throw error
  }
}

describe('a delivery', () => {
  test('of a render that succeeded is read, with the render id as the API spells it', async () => {
    expect(await verify(headersOf())).toEqual({
      type: 'render.succeeded',
      deliveryId: DELIVERY,
      timestamp: new Date(NOW * 1000),
      renderId: '01J2HW8QBEFY09M6SC7N75YR3H',
      data: {
        id: SUCCEEDED.id,
        status: 'succeeded',
        durationMs: 412,
        bytes: 48_213,
        artifactId: '9f86d081884c7d65',
      },
    })
  })

  test('of a document with warnings is read, with its pages', async () => {
    const warnings = [{ code: 'text_overflow', place: 'page 2', message: 'a text' }]
    const body = JSON.stringify({ ...SUCCEEDED, pages: 3, warnings, warnings_omitted: 1 })
    const data = { pages: 3, warnings, warningsOmitted: 1 }
    expect(await verify(headersOf({}, NOW, body), {}, body)).toMatchObject({ type: 'render.succeeded', data })
  })

  test('of a render that failed is read', async () => {
    const body = JSON.stringify(FAILED)
    const event = await verify(headersOf({}, NOW, body), {}, body)
    const data = { errorCode: 'render_timeout', errorMessage: FAILED.error_message }
    expect(event).toMatchObject({ type: 'render.failed', data })
  })

  test('of a batch that has ended is read', async () => {
    const body = JSON.stringify(BATCH)
    const { batch_id: batchId, created_at: createdAt, ended_at: endedAt, ...same } = BATCH
    expect(await verify(headersOf({}, NOW, body), {}, body)).toEqual({
      type: 'batch.ended',
      deliveryId: DELIVERY,
      timestamp: new Date(NOW * 1000),
      batchId,
      data: { ...same, batchId, createdAt, endedAt },
    })
  })

  test('of a test of the receiver is read', async () => {
    const body = JSON.stringify(TEST)
    expect(await verify(headersOf({}, NOW, body), {}, body)).toEqual({
      type: 'webhook.test',
      deliveryId: DELIVERY,
      timestamp: new Date(NOW * 1000),
      data: { id: DELIVERY, status: 'test', createdAt: TEST.created_at },
    })
  })

  test('may have fields that nobody knows yet', async () => {
    const body = JSON.stringify({ ...SUCCEEDED, page_count: 3 })
    expect((await verify(headersOf({}, NOW, body), {}, body)).data).toMatchObject({ pageCount: 3 })
  })

  test('has the labels of its request as they were given', async () => {
    const labels = { reference: 'order_1', metadata: { customer_id: 'c', customerId: 'd' } }
    const body = JSON.stringify({ ...SUCCEEDED, ...labels })
    expect((await verify(headersOf({}, NOW, body), {}, body)).data).toMatchObject(labels)
  })

  test.for<[string, string | Uint8Array]>([
    ['text', BODY],
    ['bytes', new TextEncoder().encode(BODY)],
    ['a Buffer', Buffer.from(BODY)],
    ['a part of a larger buffer', Buffer.from(`__${BODY}__`).subarray(2, -2)],
  ])('is taken as %s', async ([, body]) => {
    expect(await verdict(verify(headersOf(), {}, body))).toBe('taken')
  })

  test.for<[string, WebhookHeaders]>([
    ['Headers', new Headers(headersOf())],
    ['a record in small letters, as Node has it', headersOf()],
    [
      'a record in other letters',
      Object.fromEntries(Object.entries(headersOf()).map(([name, value]) => [name.toUpperCase(), value])),
    ],
    [
      'a record of lists, as some gateways have it',
      Object.fromEntries(Object.entries(headersOf()).map(([name, value]) => [name, [value]])),
    ],
    ['a Map', new Map(Object.entries(headersOf())) as unknown as WebhookHeaders],
  ])('is taken with headers as %s', async ([, headers]) => {
    expect(await verdict(verify(headers))).toBe('taken')
    expect(await verdict(verify(headers, { scheme: 'standard' }))).toBe('taken')
  })

  test.for<[string, object]>([
    ['an unknown status', { ...SUCCEEDED, status: 'canceled' }],
    ['an id that is none', { ...SUCCEEDED, id: '42' }],
    ['no size', { ...SUCCEEDED, bytes: undefined }],
    ['a size that is a text', { ...SUCCEEDED, bytes: '48213' }],
    ['no artifact', { ...SUCCEEDED, artifact_id: undefined }],
    ['no error code', { ...FAILED, error_code: undefined }],
    ['a batch without an end', { ...BATCH, ended_at: undefined }],
    ['a batch without a count', { ...BATCH, failed: undefined }],
    ['a batch whose id is none', { ...BATCH, batch_id: SUCCEEDED.id }],
    ['a batch that has not ended', { ...BATCH, status: 'processing' }],
    ['no time of a test', { ...TEST, created_at: undefined }],
    ['an id of a test that is none', { ...TEST, id: 'x' }],
    ['a list', [SUCCEEDED]],
  ])('that is signed with %s is an unknown event', async ([, data]) => {
    const body = JSON.stringify(data)
    expect(await verdict(verify(headersOf({}, NOW, body), {}, body))).toBe('unknown_event')
  })
})

describe('a body', () => {
  test.for<[string, (body: Buffer) => Uint8Array | string]>([
    ['a byte changed', (body) => body.map((byte, at) => (at === 40 ? byte ^ 1 : byte))],
    ['a byte more', (body) => Buffer.concat([body, Buffer.from('\n')])],
    ['a byte less', (body) => body.subarray(0, -1)],
    ['been parsed and written again', (body) => JSON.stringify(JSON.parse(body.toString()), null, 2)],
    ['gone', () => ''],
  ])('that has %s does not fit', async ([, change]) => {
    const body = change(Buffer.from(BODY))
    expect(await verdict(verify(headersOf(), {}, body))).toBe('signature_mismatch')
    expect(await verdict(verify(headersOf(), { scheme: 'standard' }, body))).toBe('signature_mismatch')
  })

  test('that was parsed is a mistake of the receiver', async () => {
    const parsed = SUCCEEDED as unknown as string
    await expect(verify(headersOf(), {}, parsed)).rejects.toThrow(TypeError)
    await expect(verify(headersOf(), {}, parsed)).rejects.toThrow('turn off the JSON parser')
  })

  test('that is no JSON is not parsed before its signature fits', async () => {
    expect(await verdict(verify(headersOf(), {}, '{'))).toBe('signature_mismatch')
    expect(await verdict(verify(headersOf({}, NOW, '{'), {}, '{'))).toBe('unknown_event')
  })
})

describe('the scheme service', () => {
  const hex = hexOf(SECRET, NOW)
  test.for<[string, Parameters<typeof headersOf>[0], string]>([
    ['without a timestamp', { 'x-service-timestamp': undefined }, 'missing_header'],
    ['without a delivery id', { 'x-service-delivery': undefined }, 'missing_header'],
    ['with a signature without its prefix', { 'x-service-signature': hex.slice(7) }, 'unknown_signature'],
    ['with an empty signature', { 'x-service-signature': '' }, 'unknown_signature'],
    ['with another prefix', { 'x-service-signature': hex.replace('sha256', 'sha1') }, 'unknown_signature'],
    ['with a prefix in capitals', { 'x-service-signature': hex.replace('sha256', 'SHA256') }, 'unknown_signature'],
    ['with the prefix alone', { 'x-service-signature': 'sha256=' }, 'malformed_header'],
    ['with a digit less', { 'x-service-signature': hex.slice(0, -1) }, 'malformed_header'],
    ['with a digit more', { 'x-service-signature': `${hex}0` }, 'malformed_header'],
    ['with a line behind it', { 'x-service-signature': `${hex}\n` }, 'malformed_header'],
    ['with capitals', { 'x-service-signature': `sha256=${hex.slice(7).toUpperCase()}` }, 'malformed_header'],
    ['with the signature twice in one value', { 'x-service-signature': `${hex}, ${hex}` }, 'malformed_header'],
    ['with the signature twice', { 'x-service-signature': [hex, hex] }, 'malformed_header'],
    ['with the signature in two spellings', { 'X-Service-Signature': hex }, 'malformed_header'],
    ['with the delivery id twice', { 'x-service-delivery': `${DELIVERY}, ${DELIVERY}` }, 'malformed_header'],
    ['with the timestamp twice', { 'x-service-timestamp': `${NOW}, ${NOW}` }, 'malformed_header'],
    ['with a timestamp of milliseconds', { 'x-service-timestamp': `${NOW}000` }, 'malformed_header'],
    ['with a timestamp and a fraction', { 'x-service-timestamp': `${NOW}.0` }, 'malformed_header'],
    ['with a timestamp in another notation', { 'x-service-timestamp': '1.795e9' }, 'malformed_header'],
    ['with a timestamp and a sign', { 'x-service-timestamp': `+${NOW}` }, 'malformed_header'],
    ['with a timestamp and a zero before it', { 'x-service-timestamp': `0${NOW}` }, 'malformed_header'],
    ['with a date for a timestamp', { 'x-service-timestamp': '2026-11-21T12:00:00Z' }, 'malformed_header'],
    ['with another timestamp than was signed', { 'x-service-timestamp': `${NOW + 1}` }, 'signature_mismatch'],
    ['with another signature', { 'x-service-signature': hexOf('another', NOW) }, 'signature_mismatch'],
    ['though the other signature fits', { 'x-service-signature': hexOf(OLD_SECRET, NOW) }, 'signature_mismatch'],
  ])('refuses a delivery %s', async ([, changes, code]) => {
    // A timestamp in another form must not be accepted, even with a signature over that form.
    const timestamp = String(changes?.['x-service-timestamp'] ?? NOW)
    const isForged = code === 'malformed_header' && changes?.['x-service-timestamp'] !== undefined
    const headers = headersOf({ ...(isForged && { 'x-service-signature': hexOf(SECRET, timestamp) }), ...changes })
    expect(await verdict(verify(headers, { scheme: 'service' }))).toBe(code)
  })

  test('has the word of the brand in its headers', async () => {
    const headers = {
      'x-acme-delivery': DELIVERY,
      'x-acme-timestamp': `${NOW}`,
      'x-acme-signature': hexOf(SECRET, NOW),
    }
    expect(await verdict(verify(headers, { brand: 'acme', scheme: 'service' }))).toBe('taken')
    expect(await verdict(verify(headers, { scheme: 'service' }))).toBe('missing_header')
    expect(await verdict(verify(headers, { brand: 'acme' }))).toBe('missing_header')
  })
})

describe('the scheme standard', () => {
  const ours = base64Of(SECRET, NOW)
  const other = base64Of('another', NOW)
  test.for<[string, Parameters<typeof headersOf>[0], string]>([
    ['takes one of two signatures, the first', { 'webhook-signature': `${ours} ${other}` }, 'taken'],
    ['takes one of two signatures, the second', { 'webhook-signature': `${other} ${ours}` }, 'taken'],
    ['passes over signatures of other kinds', { 'webhook-signature': `v1a,abc ${ours} v2,def` }, 'taken'],
    ['refuses signatures of other kinds alone', { 'webhook-signature': 'v1a,abc v2,def' }, 'unknown_signature'],
    ['refuses another signature', { 'webhook-signature': other }, 'signature_mismatch'],
    ['refuses a signature without a version', { 'webhook-signature': ours.slice(3) }, 'unknown_signature'],
    ['refuses an empty signature', { 'webhook-signature': 'v1,' }, 'malformed_header'],
    ['refuses a signature that is no base64', { 'webhook-signature': `v1,${'*'.repeat(43)}=` }, 'malformed_header'],
    ['refuses a signature twice', { 'webhook-signature': [ours, ours] }, 'malformed_header'],
    [
      'refuses more signatures than there can be',
      { 'webhook-signature': `${other} `.repeat(9) + ours },
      'malformed_header',
    ],
    ['refuses a delivery without an id', { 'webhook-id': undefined }, 'missing_header'],
    ['refuses a delivery without a timestamp', { 'webhook-timestamp': undefined }, 'missing_header'],
    ['refuses a delivery without a signature', { 'webhook-signature': undefined }, 'missing_header'],
    ['refuses an id that was not signed', { 'webhook-id': DELIVERY.replace('0190', '0191') }, 'signature_mismatch'],
    ['refuses an id that is none', { 'webhook-id': 'x' }, 'malformed_header'],
    ['refuses a timestamp that was not signed', { 'webhook-timestamp': `${NOW - 1}` }, 'signature_mismatch'],
  ])('%s', async ([, changes, code]) => {
    expect(await verdict(verify(headersOf(changes), { scheme: 'standard' }))).toBe(code)
  })

  test('counts where the other signature was not sent', async () => {
    const headers = headersOf({ 'x-service-signature': undefined })
    expect(await verdict(verify(headers))).toBe('taken')
    expect(await verdict(verify(headers, { scheme: 'service' }))).toBe('missing_header')
    expect(await verdict(verify({}))).toBe('missing_header')
  })
})

describe('the scheme', () => {
  const another = DELIVERY.replace('0190', '0191')
  const stripped = {
    'webhook-id': undefined,
    'webhook-timestamp': undefined,
    'webhook-signature': undefined,
    'x-service-delivery': another,
  }

  test('is the standard one by default: a delivery repeated under another id without its headers is refused', async () => {
    expect(await verdict(verify(headersOf(stripped)))).toBe('missing_header')
    await expect(verify(headersOf(stripped))).rejects.toThrow("scheme: 'service'")
    const { deliveryId } = await verify(headersOf(stripped), { scheme: 'service' })
    expect(deliveryId).toBe(another)
  })

  test('is one of two', async () => {
    await expect(verify(headersOf(), { scheme: 'none' as 'standard' })).rejects.toThrow(TypeError)
  })
})

describe('where both signatures were sent', () => {
  const another = DELIVERY.replace('0190', '0191')

  test('one that is repeated under another delivery id is refused, or keeps its own', async () => {
    const both = { 'x-service-delivery': another, 'webhook-id': another }
    expect(await verdict(verify(headersOf(both)))).toBe('signature_mismatch')
    expect(await verify(headersOf({ 'x-service-delivery': another }))).toMatchObject({ deliveryId: DELIVERY })
    expect(await verdict(verify(headersOf({ ...both, 'webhook-signature': undefined }), { scheme: 'standard' }))).toBe(
      'missing_header',
    )
  })

  test('the one that is by the old secret alone need not fit, and has to be in its form and of just now', async () => {
    const rotated = { 'x-service-signature': hexOf(OLD_SECRET, NOW) }
    expect(await verdict(verify(headersOf(rotated)))).toBe('taken')
    expect(await verdict(verify(headersOf({ 'x-service-signature': 'sha1=ab' })))).toBe('unknown_signature')
    expect(await verdict(verify(headersOf({ 'x-service-timestamp': `${NOW - 301}` })))).toBe('stale_timestamp')
  })
})

describe('the time of a signature', () => {
  test.for([
    [-301, 'stale_timestamp'],
    [-300, 'taken'],
    [0, 'taken'],
    [300, 'taken'],
    [301, 'future_timestamp'],
  ] as const)('%i seconds from now is %s', async ([offset, code]) => {
    const headers = headersOf({}, NOW + offset)
    expect(await verdict(verify(headers))).toBe(code)
    expect(await verdict(verify(headers, { scheme: 'standard' }))).toBe(code)
  })

  test('may be further away where the receiver says so', async () => {
    expect(await verdict(verify(headersOf({}, NOW - 900), { toleranceSeconds: 900 }))).toBe('taken')
    expect(await verdict(verify(headersOf({}, NOW - 1), { toleranceSeconds: 0 }))).toBe('stale_timestamp')
  })

  test('is compared with nothing but a number', async () => {
    await expect(verify(headersOf(), { toleranceSeconds: Number.NaN })).rejects.toThrow(TypeError)
    await expect(verify(headersOf(), { toleranceSeconds: -1 })).rejects.toThrow(TypeError)
  })

  test("is compared with the receiver's own clock unless another is given", async () => {
    const now = Math.floor(systemClock.now() / 1000)
    expect(await verdict(verifyWebhook(BODY, headersOf({}, now), SECRET))).toBe('taken')
    expect(await verdict(verifyWebhook(BODY, headersOf({}, now - 3600), SECRET))).toBe('stale_timestamp')
  })
})

describe('secrets', () => {
  const now = () => NOW * 1000

  test('may be several, in any order', async () => {
    for (const secrets of [
      [SECRET, OLD_SECRET],
      [OLD_SECRET, SECRET],
    ]) {
      expect(await verdict(verifyWebhook(BODY, headersOf(), secrets, { now }))).toBe('taken')
    }
    expect(await verdict(verifyWebhook(BODY, headersOf(), [OLD_SECRET], { now }))).toBe('signature_mismatch')
  })

  test.for<[string, unknown]>([
    ['no text', ''],
    ['nothing, as of a variable that is not set', undefined],
    ['an empty list', []],
    ['a list with an empty text in it', [SECRET, '']],
  ])('that are %s are a mistake of the receiver, whatever was sent', async ([, secret]) => {
    await expect(verifyWebhook(BODY, headersOf(), secret as string, { now })).rejects.toThrow(TypeError)
  })

  test.for([
    [`${SECRET}\n`, 'at its end'],
    [`${SECRET}\r\n`, 'at its end'],
    [`\uFEFF${SECRET}`, 'at its beginning'],
    [`${SECRET}\n${OLD_SECRET}`, 'inside'],
  ] as const)('with a line end, as from a file, are told as that: %j', async ([secret, where]) => {
    for (const given of [secret, [OLD_SECRET, secret]]) {
      const error = await verifyWebhook(BODY, headersOf(), given, { now }).catch((error: unknown) => error)
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain(where)
      expect(String(error)).not.toContain('service_webhook')
    }
  })

  test('may have blanks around them, which are told where nothing fits', async () => {
    const body = '{}'
    for (const [secret, where] of [
      [`${SECRET} `, 'at its end'],
      [`\t${SECRET}`, 'at its beginning'],
    ] as const) {
      const signed = headersOf({ 'webhook-signature': base64Of(secret, NOW, body) }, NOW, body)
      expect(await verdict(verifyWebhook(body, signed, secret, { now }))).toBe('unknown_event')
      const error = await verifyWebhook(BODY, headersOf(), [OLD_SECRET, secret], { now }).catch((error) => error)
      expect(error).toMatchObject({ code: 'signature_mismatch', message: expect.stringContaining(where) })
      expect(String(error)).not.toContain('service_webhook')
    }
  })

  test('and what was sent are in no message', async () => {
    for (const changes of [{ 'x-service-signature': 'sha256=feed' }, { 'x-service-timestamp': '77' }]) {
      const error = await verify(headersOf(changes)).catch((error: unknown) => error)
      expect(String(error)).not.toMatch(/feed|77\b|service_webhook_/)
    }
  })
})

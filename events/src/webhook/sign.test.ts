import { expect, test } from 'vitest'
import { signatureHeaders } from './sign.ts'

const DELIVERY = {
  id: '019aa6f1-ecf5-7e3d-943a-9b0c5f8e2d71',
  type: 'render.succeeded',
  body: '{"id":"ж\u2028"}',
} as const
const SIGNING = { ...DELIVERY, timestampS: 1_795_262_400, brand: 'service' }

test('signs with the bytes of the secret over the bytes of the body', () => {
  // By openssl: printf '%s' '1795262400.{"id":"ж<U+2028>"}' | openssl dgst -sha256 -hmac secret, and the same with the id in front.
  expect(signatureHeaders({ ...SIGNING, secrets: { oldest: 'secret', all: ['secret'] } })).toEqual({
    'X-Service-Event': 'render.succeeded',
    'X-Service-Delivery': DELIVERY.id,
    'X-Service-Timestamp': '1795262400',
    'X-Service-Signature': 'sha256=801b1b804284b1dfc2fdb91ed83876f6725113b7b03600ee8ee4baa80dfef016',
    'webhook-id': DELIVERY.id,
    'webhook-timestamp': '1795262400',
    'webhook-signature': 'v1,6D29J1CYP0XTvXIBStqUvOm092yy7SJLS9TXqUYZ5CY=',
  })
})

test('has one signature by each secret that is in force, and the single one by the oldest', () => {
  const by = (secret: string) => signatureHeaders({ ...SIGNING, secrets: { oldest: secret, all: [secret] } })
  const headers = signatureHeaders({ ...SIGNING, secrets: { oldest: 'old', all: ['new', 'old'] } })
  expect(headers['X-Service-Signature']).toBe(by('old')['X-Service-Signature'])
  const standard = ['new', 'old'].map((secret) => by(secret)['webhook-signature'])
  expect(headers['webhook-signature']).toBe(standard.join(' '))
})

test('names its headers by the brand', () => {
  const headers = signatureHeaders({ ...SIGNING, brand: 'papyrus', secrets: { oldest: 'secret', all: ['secret'] } })
  expect(Object.keys(headers)).toContain('X-Papyrus-Signature')
})

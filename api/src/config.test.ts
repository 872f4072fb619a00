import { describe, expect, test } from 'vitest'
import { SETTINGS } from './config.ts'

const NEEDED = {
  PLATEN_REDIS_URL: 'redis://localhost',
  PLATEN_S3_BUCKET: 'pdfs',
  PLATEN_KAFKA_BROKERS: 'localhost',
  PLATEN_ID_KEYS: [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64url')).join(','),
}

describe('the settings of an API process', () => {
  test('have defaults, except for addresses and the keys', () => {
    expect(SETTINGS.read(NEEDED)).toMatchObject({
      host: '0.0.0.0',
      port: 8080,
      brand: 'service',
      engines: ['react_pdf', 'html'],
      idKeys: [Buffer.alloc(32, 1), Buffer.alloc(32, 2)],
      webhooks: { isHttpAllowed: false, allowCidrs: [] },
      s3: { namespace: { bucket: 'pdfs' } },
    })
  })

  test.for<[string, string, object]>([
    ['PLATEN_PORT', '0', { port: 0 }],
    ['PLATEN_BRAND', 'acme', { brand: 'acme' }],
    ['PLATEN_ENGINES', 'react_pdf', { engines: ['react_pdf'] }],
    ['PLATEN_WEBHOOK_ALLOW_HTTP', 'true', { webhooks: { isHttpAllowed: true } }],
  ])('take %s=%s', ([name, value, wanted]) => {
    expect(SETTINGS.read({ ...NEEDED, [name]: value })).toMatchObject(wanted)
  })

  test.for<[string, string]>([
    ['PLATEN_PORT', '65536'],
    ['PLATEN_ID_KEYS', `${NEEDED.PLATEN_ID_KEYS},short`],
    ['PLATEN_BRAND', 'Acme'],
    ['PLATEN_ENGINES', ''.padEnd(3, ',')],
    ['PLATEN_WEBHOOK_ALLOW_CIDRS', '10.0.0.1/8'],
  ])('refuse %s=%s', ([name, value]) => {
    expect(() => SETTINGS.read({ ...NEEDED, [name]: value })).toThrow(name)
  })
})

import { describe, expect, test } from 'vitest'
import { SETTINGS } from './config.ts'

const NEEDED = {
  PLATEN_REDIS_URL: 'redis://localhost',
  PLATEN_S3_BUCKET: 'pdfs',
  PLATEN_KAFKA_BROKERS: 'localhost',
  PLATEN_SEAL_KEY: Buffer.alloc(32, 1).toString('base64'),
}

describe('the settings of an events process', () => {
  test('have defaults, except for addresses and the key', () => {
    expect(SETTINGS.read(NEEDED)).toMatchObject({
      brand: 'service',
      sealKeys: [Buffer.alloc(32, 1)],
      webhooks: { policy: { isHttpAllowed: false, allowCidrs: [] } },
    })
  })

  test('without the key name it', () => {
    expect(() => SETTINGS.read({ ...NEEDED, PLATEN_SEAL_KEY: '' })).toThrow('PLATEN_SEAL_KEY is missing')
  })
})

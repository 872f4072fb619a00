import { describe, expect, test } from 'vitest'
import { SETTINGS } from './config.ts'

const NEEDED = {
  PLATEN_REDIS_URL: 'redis://localhost',
  PLATEN_S3_BUCKET: 'pdfs',
  PLATEN_KAFKA_BROKERS: 'localhost',
  PLATEN_EVENT_KEY: Buffer.alloc(32, 1).toString('base64url'),
}

describe('the settings of a renderer', () => {
  test('have defaults, except for addresses and the key', () => {
    expect(SETTINGS.read(NEEDED)).toMatchObject({
      host: '0.0.0.0',
      metricsPort: 9090,
      logLevel: 'info',
      engines: ['react_pdf', 'html'],
      lanes: ['sync', 'async', 'bulk'],
      renderSlots: { count: expect.any(Number) },
      eventKey: Buffer.alloc(32, 1),
      redis: { location: { kind: 'server' } },
      s3: { namespace: { bucket: 'pdfs' } },
      kafka: { connection: { brokers: ['localhost:9092'] } },
    })
  })

  test.for<[string, string, object]>([
    ['PLATEN_ENGINES', 'html', { engines: ['html'] }],
    ['PLATEN_ENGINES', 'html, react_pdf', { engines: ['react_pdf', 'html'] }],
    ['PLATEN_LANES', 'bulk,async', { lanes: ['async', 'bulk'] }],
    ['PLATEN_RENDER_SLOTS', '64', { renderSlots: { count: 64 } }],
    ['PLATEN_CHROMIUM', 'none', { chromium: 'none' }],
    ['PLATEN_METRICS_PORT', '0', { metricsPort: 0 }],
  ])('take %s=%s', ([name, value, wanted]) => {
    expect(SETTINGS.read({ ...NEEDED, [name]: value })).toMatchObject(wanted)
  })

  test.for<[string, string]>([
    ['PLATEN_ENGINES', 'html,html'],
    ['PLATEN_ENGINES', 'latex'],
    ['PLATEN_LANES', 'sync,'],
    ['PLATEN_RENDER_SLOTS', '0'],
    ['PLATEN_RENDER_SLOTS', '65'],
    ['PLATEN_EVENT_KEY', 'short'],
    ['PLATEN_METRICS_PORT', 'http'],
    ['PLATEN_LOG_LEVEL', 'loud'],
  ])('refuse %s=%s', ([name, value]) => {
    expect(() => SETTINGS.read({ ...NEEDED, [name]: value })).toThrow(name)
  })

  test('that are missing are named together', () => {
    expect(() => SETTINGS.read({})).toThrow(
      /PLATEN_EVENT_KEY is missing.*\n.*PLATEN_REDIS_URL is missing.*\n.*PLATEN_S3_BUCKET is missing.*\n.*PLATEN_KAFKA_BROKERS is missing/,
    )
  })
})

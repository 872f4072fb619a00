import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { ConfigError, unknownSettings } from '@platen/adapters/setting/setting.ts'
import { describe, expect, test } from 'vitest'
import { aFolder } from '../../test/fixture/lifetime.ts'
import { SETTINGS } from './config.ts'

const key = Buffer.alloc(32, 1).toString('base64url')

describe('the settings', () => {
  test('take the certificates of a file, and nothing else that is in it', () => {
    const folder = aFolder()
    const [first = '', second = ''] = rootCertificates
    const read = (content: string) => {
      const path = join(folder, 'ca.pem')
      writeFileSync(path, content)
      return SETTINGS.read({ PLATEN_WEBHOOK_CA_FILE: path }).webhooks.ca
    }
    expect(read(`# ours\n${first}\n\n# theirs\n${second}`)).toBe(
      [first, second].map((text) => new X509Certificate(text).toString()).join(''),
    )
    expect(() => read(first.replace('MII', 'AAA'))).toThrow('PLATEN_WEBHOOK_CA_FILE must be the path of a PEM file')
    expect(() => read('')).toThrow(ConfigError)
  })

  test('have defaults for everything', () => {
    expect(SETTINGS.read({})).toMatchObject({ host: '127.0.0.1', port: 8080, brand: 'service' })
    expect(SETTINGS.read({}).webhooks).toEqual({ policy: { isHttpAllowed: false, allowCidrs: [] } })
  })

  test.for<[string, string, object]>([
    ['PLATEN_PORT', '0', { port: 0 }],
    ['PLATEN_PORT', '65535', { port: 65_535 }],
    ['PLATEN_PORT', '', { port: 8080 }],
    ['PLATEN_PUBLIC_URL', 'https://pdf.example.com/', { publicUrl: 'https://pdf.example.com' }],
    ['PLATEN_BRAND', 'acme', { brand: 'acme' }],
    ['PLATEN_WEBHOOK_ALLOW_HTTP', 'true', { webhooks: { policy: { isHttpAllowed: true } } }],
    ['PLATEN_WEBHOOK_ALLOW_HTTP', '1', { webhooks: { policy: { isHttpAllowed: true } } }],
    ['PLATEN_WEBHOOK_ALLOW_HTTP', 'false', { webhooks: { policy: { isHttpAllowed: false } } }],
    ['PLATEN_WEBHOOK_ALLOW_HTTP', '0', { webhooks: { policy: { isHttpAllowed: false } } }],
    [
      'PLATEN_WEBHOOK_ALLOW_CIDRS',
      '10.1.0.0/16',
      { webhooks: { policy: { allowCidrs: [{ family: 'ipv4', start: '10.1.0.0', prefix: 16 }] } } },
    ],
    ['PLATEN_RENDER_SLOTS', '64', { renderSlots: { count: 64 } }],
    ['PLATEN_EGRESS_ALLOW_CIDRS', '', { egressAllowCidrs: [] }],
    [
      'PLATEN_EGRESS_ALLOW_CIDRS',
      '10.1.0.0/16, fd12::/16',
      {
        egressAllowCidrs: [
          { family: 'ipv4', start: '10.1.0.0', prefix: 16 },
          { family: 'ipv6', start: 'fd12::', prefix: 16 },
        ],
      },
    ],
    ['PLATEN_ID_KEYS', `${key},${key}`, { idKeys: [Buffer.alloc(32, 1), Buffer.alloc(32, 1)] }],
  ])('take %s=%s', ([name, value, wanted]) => {
    expect(SETTINGS.read({ [name]: value })).toMatchObject(wanted)
  })

  test.for<[string, string]>([
    ['PLATEN_PORT', '65536'],
    ['PLATEN_PORT', '-1'],
    ['PLATEN_PORT', '80 80'],
    ['PLATEN_PORT', '0x50'],
    ['PLATEN_PUBLIC_URL', 'pdf.example.com'],
    ['PLATEN_PUBLIC_URL', 'ftp://pdf.example.com'],
    ['PLATEN_PUBLIC_URL', 'https://pdf.example.com/?a=1'],
    ['PLATEN_ID_KEYS', 'short'],
    ['PLATEN_ID_KEYS', `${key},`],
    ['PLATEN_BRAND', 'Acme Inc'],
    ['PLATEN_WEBHOOK_ALLOW_HTTP', 'yes'],
    ['PLATEN_WEBHOOK_ALLOW_HTTP', '2'],
    ['PLATEN_WEBHOOK_ALLOW_CIDRS', 'all'],
    ['PLATEN_WEBHOOK_ALLOW_CIDRS', '10.1.0.1/16'],
    ['PLATEN_WEBHOOK_CA_FILE', '/nowhere/ca.pem'],
    ['PLATEN_WEBHOOK_CA_FILE', import.meta.dirname],
    ['PLATEN_WEBHOOK_CA_FILE', import.meta.filename],
    ['PLATEN_LOG_LEVEL', 'loud'],
    ['PLATEN_RENDER_SLOTS', '0'],
    ['PLATEN_EGRESS_ALLOW_CIDRS', '10.1.0.0'],
    ['PLATEN_EGRESS_ALLOW_CIDRS', '10.1.0.1/16'],
    ['PLATEN_EGRESS_ALLOW_CIDRS', '10.1.0.0/16,'],
    ['PLATEN_RENDER_SLOTS', '65'],
  ])('refuse %s=%s, naming it and not its value', ([name, value]) => {
    expect(() => SETTINGS.read({ [name]: value })).toThrow(ConfigError)
    expect(() => SETTINGS.read({ [name]: value })).toThrow(name)
    expect(() => SETTINGS.read({ [name]: `${value}hunter2` })).not.toThrow('hunter2')
  })

  test('name all faults together', () => {
    const faults = () => SETTINGS.read({ PLATEN_PORT: 'x', PLATEN_BRAND: '1', PLATEN_LOG_LEVEL: 'x' })
    expect(faults).toThrow(/PLATEN_PORT.*\n.*PLATEN_BRAND.*\n.*PLATEN_LOG_LEVEL/)
  })

  test('that do not exist are distinguished', () => {
    expect(unknownSettings({ PLATEN_PROT: '1', PLATEN_PORT: '1', PATH: '/bin' }, SETTINGS)).toEqual(['PLATEN_PROT'])
  })
})

import { expect, test } from 'vitest'
import { egressUrl } from './egress-url.ts'

const HOSTS = ['cdn.example.com', '93.184.216.34', '127.0.0.1', '0x7f.1', 'xn--bcher-kva.example']

test.for([
  ['https://cdn.example.com/a.png', 'https://cdn.example.com/a.png'],
  ['http://cdn.example.com', 'http://cdn.example.com/'],
  ['HTTPS://CDN.Example.COM:443/A.png?b=1#c', 'https://cdn.example.com/A.png?b=1'],
  ['http://cdn.example.com:80/', 'http://cdn.example.com/'],
  ['https:\\\\cdn.example.com\\a b', 'https://cdn.example.com/a%20b'],
  ['https://Bücher.example/', 'https://xn--bcher-kva.example/'],
  ['https://ｃｄｎ.example.com/', 'https://cdn.example.com/'],
  ['https://cdn。example。com/', 'https://cdn.example.com/'],
  // The check of the address decides whether to connect.
  ['http://2130706433/', 'http://127.0.0.1/'],
  ['http://0x7f.1/', 'http://127.0.0.1/'],
  ['http://93.184.216.34/', 'http://93.184.216.34/'],
])('of a listed host is fetched: %s', ([text = '', url]) => {
  expect(egressUrl(text, HOSTS)?.href).toBe(url)
})

test.for([
  'https://example.com/',
  'https://evil.cdn.example.com/',
  'https://cdn.example.com.evil.example/',
  'https://cdn.example.com./',
  'https://cdn.example.com@evil.example/',
  'https://evil.example/?https://cdn.example.com/',
  'https://evil.example#@cdn.example.com/',
  'https://evil.example\\@cdn.example.com/',
  'https://cdn.example.com%2eevil.example/',
  'https://cdn.example.com%00.evil.example/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::1]/',
  'http://169.254.169.254/',
  '//cdn.example.com/a.png',
  '/a.png',
  'ftp://cdn.example.com/',
  'file://cdn.example.com/etc/passwd',
  'asset:logo.png',
  ' https://cdn.example.com/',
  'https://',
  '',
])('of no listed host is none: %s', (text) => {
  expect(egressUrl(text, HOSTS)).toBeUndefined()
})

test.for([
  ['https://cdn.example.com:8443/', /only from port 443 for https and port 80 for http/],
  ['https://cdn.example.com:80/', /only from port 443/],
  ['http://cdn.example.com:443/', /only from port 443/],
  ['https://user@cdn.example.com/', /with a user or a password/],
  ['https://:secret@cdn.example.com/', /with a user or a password/],
  [`https://cdn.example.com/${'a'.repeat(2048)}`, /longer than 2048 characters/],
] as const)('of a listed host is refused, and the host named alone: %s', ([text, reason]) => {
  expect(() => egressUrl(text, HOSTS)).toThrow(
    expect.objectContaining({ code: 'asset_unavailable', message: expect.stringMatching(/^cdn\.example\.com: /) }),
  )
  expect(() => egressUrl(text, HOSTS)).toThrow(reason)
})

test('of any host is none where no host is listed', () => {
  expect(egressUrl('https://cdn.example.com/', [])).toBeUndefined()
})

import { cidrsOf } from '@platen/lib/address.ts'
import { describe, expect, test } from 'vitest'
import { hostOf, isInternalName, webhookUrlFault } from './webhook-url.ts'

const faultOf = (url: string, { isHttpAllowed = false, allow = [] as readonly string[] } = {}) =>
  webhookUrlFault(url, { isHttpAllowed, allowCidrs: cidrsOf(allow) })

describe('a webhook URL', () => {
  test.for([
    'https://example.com',
    'HTTPS://EXAMPLE.COM/hook?a=b#c',
    'https://example.com.:443/',
    'https://example.com:80/',
    'https://example.com:1024/',
    'https://example.com:65535/',
    'https://xn--bcher-kva.example/',
    'https://bücher.example/',
    'https://internal.example.com/',
    'https://notlocalhost.example/',
    'https://localhost.example.com/',
    'https://1.1.1.1/',
    'https://[2606:4700::1111]/',
    `https://example.com/${'a'.repeat(2028)}`,
  ])('is taken: %s', (url) => {
    expect(faultOf(url)).toBeUndefined()
  })

  test.for<[string, readonly string[]]>([
    ['must have at most 2048 characters', [`https://example.com/${'a'.repeat(2029)}`]],
    ['must be an https URL', ['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'example.com', '']],
    [
      'must be an https URL',
      ['https://', 'https://:443/', 'https:///', '//example.com/', 'javascript:0', 'wss://a.example/'],
    ],
    [
      'must be an https URL',
      ['https://[::1%25lo]/', 'https://[::1', 'https://256.1.1.1/', 'https://1.2.3.4.5/', 'https://a b/'],
    ],
    [
      'must not contain a user name or password',
      ['https://u@a.example/', 'https://:p@a.example/', 'https://1.1.1.1@10.0.0.1/'],
    ],
    [
      'must use port 80, 443, or 1024 to 65535',
      ['https://a.example:0/', 'https://a.example:22/', 'https://a.example:1023/', 'https://a.example:99999/hook'],
    ],
    ['must name a host', ['https://./', 'https://../']],
    [
      'must lead to a public address',
      ['https://localhost/', 'https://LOCALHOST./', 'https://localhost../', 'https://a.localhost/'],
    ],
    [
      'must lead to a public address',
      ['https://kubernetes/', 'https://api.team.svc/', 'https://api.team.svc.cluster.local./'],
    ],
    [
      'must lead to a public address',
      ['https://metadata.google.internal/', 'https://router.lan/', 'https://nas.home.arpa/'],
    ],
    ['must lead to a public address', ['https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/', 'https://a。svc/', 'https://localhost.localdomain/']],
    [
      'must lead to a public address',
      ['https://127.0.0.1/', 'https://127.1/', 'https://2130706433/', 'https://0x7f.1/'],
    ],
    [
      'must lead to a public address',
      ['https://0177.0.0.1/', 'https://１２７.0.0.1/', 'https://127。0。0。1/', 'https://0/'],
    ],
    [
      'must lead to a public address',
      ['https://10.0.0.1/', 'https://100.64.0.1/', 'https://169.254.169.254./', 'https://[::]/'],
    ],
    [
      'must lead to a public address',
      ['https://[::1]/', 'https://[fe80::1]/', 'https://[fd00::1]/', 'https://[ff02::1]/'],
    ],
    [
      'must lead to a public address',
      ['https://[::ffff:1.1.1.1]/', 'https://[64:ff9b::808:808]/', 'https://[2002:808:808::]/'],
    ],
  ])('%s: %s', ([fault, urls]) => {
    expect(urls.map((url) => [url, faultOf(url)])).toEqual(urls.map((url) => [url, fault]))
  })

  test('may be of http where that is allowed', () => {
    expect(faultOf('http://example.com/', { isHttpAllowed: true })).toBeUndefined()
    expect(faultOf('http://10.0.0.1/', { isHttpAllowed: true })).toBe('must lead to a public address')
    expect(faultOf('ftp://example.com/', { isHttpAllowed: true })).toBe('must be an http or https URL')
  })

  test('may lead into the blocks that are allowed, and by an inner name where there is one', () => {
    const allow = ['10.0.0.0/8', '169.254.0.0/16', '::/0']
    const taken = [
      'https://10.1.2.3/',
      'https://[::1]/',
      'https://kubernetes/',
      'https://api.team.svc/',
      'https://nas.lan/',
    ]
    expect(taken.map((url) => faultOf(url, { allow }))).toEqual(taken.map(() => undefined))
    const refused = [
      'https://172.16.0.1/',
      'https://169.254.169.254/',
      'https://[::ffff:10.0.0.1]/',
      'https://[fd00:ec2::254]/',
    ]
    expect(refused.map((url) => faultOf(url, { allow }))).toEqual(refused.map(() => 'must lead to a public address'))
  })

  test.for<[string, string]>([
    ['https://[::1]:8443/', '::1'],
    ['https://Example.com./', 'example.com'],
    ['https://example.com../', 'example.com'],
    ['https://0x7f.1/', '127.0.0.1'],
  ])('%s has the host %s', ([url, host]) => {
    expect(hostOf(new URL(url))).toBe(host)
  })
})

test('names of inner networks are distinguished from public ones', () => {
  const names = [
    'kubernetes',
    'a.svc',
    'a.b.cluster.local',
    'a.internal',
    'example.com',
    'svc.example.com',
    'asvc.example',
  ]
  expect(names.filter((name) => isInternalName(name))).toEqual([
    'kubernetes',
    'a.svc',
    'a.b.cluster.local',
    'a.internal',
  ])
})

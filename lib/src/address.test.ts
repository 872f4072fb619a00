import { describe, expect, test } from 'vitest'
import { type AddressClass, addressClassOf, type Cidr, cidrsOf, mayConnect, networkOf, parseCidr } from './address.ts'

describe('an address', () => {
  // First and last of each block, and their neighbours.
  test.for<[AddressClass, string]>([
    ['public', '1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0'],
    ['public', '169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0'],
    ['public', '198.17.255.255 198.20.0.0 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255'],
    ['special', '0.0.0.0 0.0.0.1 0.255.255.255 ::'],
    ['special', '10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255'],
    ['special', 'fc00:: fd12:3456:789a::1 fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff fec0:: feff::1'],
    ['special', '100.64.0.0 100.127.255.255 100.100.100.199'],
    ['special', '127.0.0.0 127.0.0.1 127.255.255.255 ::1 0:0:0:0:0:0:0:1 0000:0000:0000:0000:0000:0000:0000:0001'],
    ['special', '169.254.0.0 169.254.169.253 169.254.255.255 fe80::1 febf:ffff::1 FE80::ABCD'],
    ['special', '192.0.0.0 192.0.0.255 192.88.99.1 240.0.0.0 254.255.255.255 255.255.255.255'],
    ['special', '100::1 2001:1::1 2001:10::1 2001:20::1 2001:1ff::1 5f00::1 ::1:0:0:0 1::1 4000::1 8000::1 e000::1'],
    ['special', '192.0.2.0 192.0.2.255 198.51.100.0 203.0.113.255 2001:db8::1 2001:db8:ffff::1 3fff::1 3fff:fff::1'],
    ['special', '198.18.0.0 198.19.255.255 2001:2::1'],
    ['special', '224.0.0.0 239.255.255.255 ff00:: ff02::1 ffff::1'],
    ['forbidden', '::ffff:1.1.1.1 ::ffff:7f00:1 0:0:0:0:0:ffff:127.0.0.1 ::127.0.0.1 ::2 ::ffff:0:1.1.1.1'],
    ['forbidden', '64:ff9b::8.8.8.8 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2002:808:808::1 2001::1 2001:0:ffff::1'],
    ['public', '2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1 2606:4700::1111 3ffe::1'],
    ['public', '3fff:1000::1 2a00:1450:4001:80b::200e'],
    [
      'forbidden',
      '169.254.169.254 169.254.170.2 169.254.170.23 169.254.0.23 100.100.100.200 192.0.0.192 168.63.129.16',
    ],
    ['forbidden', 'fd00:ec2::254 fd00:0ec2:0:0:0:0:0:0254 fd00:ec2::23 fd20:ce::254'],
    // In every IPv6 form that embeds an IPv4 address.
    [
      'forbidden',
      '::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::169.254.169.254 ::ffff:0:169.254.169.254 64:ff9b::a9fe:a9fe',
    ],
    ['forbidden', '64:ff9b:1::169.254.169.254 64:ff9b:1:a9fe:a9:fe00:: 2002:a9fe:a9fe::1 2001:0:1:1:0:0:5601:5601'],
    ['forbidden', '64:ff9b::168.63.129.16'],
  ])('is %s: %s', ([kind, addresses]) => {
    const found = addresses.split(' ').map((address) => [address, addressClassOf(address)])
    expect(found).toEqual(addresses.split(' ').map((address) => [address, kind]))
  })

  test.for([
    '| |localhost|1|1.1|1.1.1|1.1.1.1.1|1.1.1.|.1.1.1.1|256.1.1.1|1.1.1.1000|-1.1.1.1',
    '127.1|2130706433|0x7f000001|0x7f.0.0.1|0177.0.0.1|127.0.0.01|00.0.0.0|１.1.1.1|1.1.1.1 |1。1。1。1',
    ':|:::|1:2:3:4:5:6:7|1:2:3:4:5:6:7:8:9|1:2:3:4:5:6:7::8|::1::|1::2::3|:1:2:3:4:5:6:7|1:2:3:4:5:6:7:',
    '12345::|g::1|[::1]|::1%lo|fe80::1%eth0|::ffff:1.1.1|::1.1.1.256|1.1.1.1::|::1.1.1.1:1|::01.1.1.1',
    '1.1.1.1/32|::1/128|0x7f::0x1',
  ])('is none in another spelling: %s', (texts) => {
    const everything = [cidr('0.0.0.0/0'), cidr('::/0')]
    const found = texts.split('|').map((text) => [text, addressClassOf(text), mayConnect(text, everything)])
    expect(found).toEqual(texts.split('|').map((text) => [text, 'malformed', false]))
  })
})

describe('a block of addresses', () => {
  test.for([
    '10.0.0.0|10.0.0.0/|/8|10.0.0.0/33|10.0.0.0/-1|10.0.0.0/8/8|10.0.0.0/0x8|10.0.0/8',
    '10.0.0.0/08|10.0.0.1/8|10.128.0.0/8|fd00::/129|fd00::1/64|fe80::%1/64|::/ 0|',
  ])('is not %s', (texts) => {
    expect(texts.split('|').filter((text) => parseCidr(text) !== undefined)).toEqual([])
  })

  test.for<[string, string, boolean]>([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', true],
    ['10.0.0.0/8', '192.168.0.1', false],
    ['127.0.0.1/32', '127.0.0.1', true],
    ['127.0.0.1/32', '127.0.0.2', false],
    ['fd00:1::/32', 'fd00:1::5', true],
    ['fd00:1::/32', 'fd00:2::5', false],
    ['0.0.0.0/0', '192.168.0.1', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', '::1', true],
    ['::/0', '10.0.0.1', false],
    // Never, whatever is allowed.
    ['0.0.0.0/0', '169.254.169.254', false],
    ['169.254.169.254/32', '169.254.169.254', false],
    ['100.64.0.0/10', '100.100.100.200', false],
    ['168.63.129.16/32', '168.63.129.16', false],
    ['fd00::/8', 'fd00:ec2::254', false],
    ['::/0', '::ffff:169.254.169.254', false],
    ['::ffff:0:0/96', '::ffff:10.0.0.1', false],
    ['64:ff9b::/96', '64:ff9b::808:808', false],
  ])('%s lets connect to %s: %s', ([block, address, isAllowed]) => {
    expect(mayConnect(address, [cidr(block)])).toBe(isAllowed)
  })

  test('of settings that is none allows nothing', () => {
    expect(cidrsOf(['10.0.0.0/8', 'all', '', '0.0.0.0', 'fd00::/8'])).toEqual([cidr('10.0.0.0/8'), cidr('fd00::/8')])
  })

  test('is not needed for what is public', () => {
    expect(['1.1.1.1', '2606:4700::1111', '10.0.0.1'].map((address) => mayConnect(address, []))).toEqual([
      true,
      true,
      false,
    ])
  })
})

function cidr(text: string): Cidr {
  const parsed = parseCidr(text)
  if (parsed === undefined) throw new Error(`${text} is no block`)
  return parsed
}

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2/64'],
  ['2001:db8:1:2::', '2001:db8:1:2/64'],
  ['::1', '0:0:0:0/64'],
  ['no address', 'no address'],
])('the network of one party, for the address %s, is %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

/**
 * Sees whoever leaves the documents. In a network of its own it sees all of it: every address there is leads to this machine,
 * the kernel counts what is sent, and every name is asked of the server here. Elsewhere it sees what comes to its own port.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import { listening } from '../../topology/server/port.ts'
import { MARKED_FILES, type Markers } from './marker.ts'

/** What was seen since the last time it was asked. */
export interface Sightings {
  /** TCP connections begun, whether or not anybody answered. */
  readonly connections: number
  /** UDP packets sent. */
  readonly datagrams: number
  readonly lookups: readonly string[]
}

export interface Canary extends AsyncDisposable {
  /** Answers HTTP with a marked file to whoever comes, and takes UDP. */
  readonly port: number
  sightings(): Sightings
  /** From now on, what a name is answered: the first list of addresses at first, and the last one in the end; or nothing at all. */
  resolve(name: string, answers: readonly (readonly string[])[] | 'never'): void
}

/** The name that leads to the canary, as every other name does that nothing is said of. */
export const CANARY_NAME = 'canary.test'

const LOOPBACK = '127.0.0.1'
const DNS_PORT = 53

/** Opens the listeners; `isAlone` in a network of its own, where the kernel's counters say everything. */
export async function openCanary({ markers, isAlone }: { markers: Markers; isAlone: boolean }): Promise<Canary> {
  const own = { connections: 0, datagrams: 0 }
  const lookups: string[] = []
  const zones = new Map<string, (readonly string[])[] | 'never'>()
  const server = createServer((request, response) => answer(response, request.url ?? '', markers))
  server.on('connection', () => {
    own.connections += 1
  })
  // Connections are not kept: each attempt must be visible as one.
  server.keepAliveTimeout = 1
  // A dual-stack socket takes IPv4 as well.
  const http = await listening(server, { host: isAlone ? '::' : LOOPBACK })
  const { port } = http

  const udp = createSocket('udp4', () => {
    own.datagrams += 1
  })
  udp.bind(port, LOOPBACK)
  await once(udp, 'listening')
  const names = createSocket('udp4', (query, from) => {
    const name = nameOf(query)
    lookups.push(name)
    const zone = zones.get(`${name} ${typeOf(query)}`) ?? [[LOOPBACK]]
    if (zone === 'never') return
    const addresses = (zone.length > 1 ? zone.shift() : zone[0]) ?? []
    names.send(answerTo(query, addresses), from.port, from.address)
  })
  if (isAlone) {
    names.bind(DNS_PORT, LOOPBACK)
    await once(names, 'listening')
  }

  const count = isAlone ? kernelCounts : () => ({ ...own })
  let last = count()
  return {
    port,
    sightings() {
      const now = count()
      const seen = {
        connections: now.connections - last.connections,
        datagrams: now.datagrams - last.datagrams,
        lookups: lookups.splice(0),
      }
      last = now
      return seen
    },
    resolve(name, answers) {
      for (const type of [TYPE_A, TYPE_AAAA]) zones.set(`${name} ${type}`, answers === 'never' ? answers : [...answers])
    },
    async [Symbol.asyncDispose]() {
      udp.close()
      names.close()
      await http[Symbol.asyncDispose]()
    },
  }
}

interface Counts {
  readonly connections: number
  readonly datagrams: number
}

/** What this network's processes have sent since it began, IPv6 included: TCP is counted for both in one place, UDP is not. */
function kernelCounts(): Counts {
  const [tcp, udp] = ['Tcp', 'Udp'].map((protocol) => tableOf(readFileSync('/proc/self/net/snmp', 'latin1'), protocol))
  const udp6 = /^Udp6OutDatagrams\s+(\d+)$/m.exec(readFileSync('/proc/self/net/snmp6', 'latin1'))?.[1]
  const counts = [tcp?.get('ActiveOpens'), udp?.get('OutDatagrams'), udp6 === undefined ? undefined : Number(udp6)]
  const [connections, datagrams, datagrams6] = counts
  if (connections === undefined || datagrams === undefined || datagrams6 === undefined) {
    throw new Error('this kernel does not count what it sends')
  }
  return { connections, datagrams: datagrams + datagrams6 }
}

/** Two lines for each protocol: the names, and the numbers under them. */
function tableOf(text: string, protocol: string): ReadonlyMap<string, number> {
  const [names = [], values = []] = text
    .split('\n')
    .filter((line) => line.startsWith(`${protocol}: `))
    .map((line) => line.split(' '))
  return new Map(names.map((name, at) => [name, Number(values[at])]))
}

function answer(response: ServerResponse, path: string, markers: Markers): void {
  const file = MARKED_FILES.find(({ ending }) => path.split('?')[0]?.endsWith(ending)) ?? MARKED_FILES[0]
  response.setHeader('Access-Control-Allow-Origin', '*')
  response.setHeader('Content-Type', file.type)
  response.setHeader('Cache-Control', 'max-age=600')
  response.end(markers.read(file))
}

const DNS_HEADER_BYTES = 12
const TYPE_A = 1
const TYPE_AAAA = 28

/** The name a query asks for: labels, each with its length in front. */
function nameOf(query: Buffer): string {
  const labels: string[] = []
  for (let at = DNS_HEADER_BYTES; query[at]; at += (query[at] ?? 0) + 1) {
    labels.push(query.toString('latin1', at + 1, at + 1 + (query[at] ?? 0)))
  }
  return labels.join('.')
}

/** What is asked for stands behind the name, before the class. */
function typeOf(query: Buffer): number {
  return query.readUInt16BE(query.indexOf(0, DNS_HEADER_BYTES) + 1)
}

/** Those of the addresses that are of the type asked for. */
function answerTo(query: Buffer, addresses: readonly string[]): Buffer {
  const end = query.indexOf(0, DNS_HEADER_BYTES) + 5
  const type = typeOf(query)
  const records = addresses
    .filter((address) => type === (isIPv6(address) ? TYPE_AAAA : TYPE_A))
    .map((address) => {
      const bytes = bytesOf(address)
      // The name of the question, the type, class IN, for no time, so many bytes.
      return Buffer.from([0xc0, DNS_HEADER_BYTES, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length, ...bytes])
    })
  const header = Buffer.from(query.subarray(0, DNS_HEADER_BYTES))
  // An answer without an error; one question, so many answers, nothing else.
  header.writeUInt16BE(0x8180, 2)
  for (const [index, count] of [1, records.length, 0, 0].entries()) header.writeUInt16BE(count, 4 + index * 2)
  return Buffer.concat([header, query.subarray(DNS_HEADER_BYTES, end), ...records])
}

function bytesOf(address: string): readonly number[] {
  if (!isIPv6(address)) return address.split('.').map(Number)
  // A URL holds it in groups of hexadecimal digits alone.
  const spelled = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = [], tail] = spelled.split('::').map((part) => (part === '' ? [] : part.split(':')))
  const zeros = Array<string>(8 - head.length - (tail?.length ?? 0)).fill('0')
  return [...head, ...zeros, ...(tail ?? [])].flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 0xff]
  })
}

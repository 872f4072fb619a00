/** Attacks by requests: their bodies, their number, their pace, and what becomes of their answers. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { ATTACKER_KEYS, ATTACKER_LIVE, type Attack, type Attacker, attacksOf } from './attacker.ts'

const MIB = 1024 * 1024
/** A body that is just small enough, of so many pieces. */
const filled = (before: string, piece: string, after: string) =>
  `${before}${piece.repeat(Math.floor((9.9 * MIB) / piece.length))}${after}`
const keys = (count: number) => Array.from({ length: count }, (_, at) => `"k${at.toString(36)}":1`).join(',')
const requestOf = (data: string, template = 'plain') => `{"template":"${template}","data":${data},"mode":"async"}`

const BODIES: Readonly<Record<string, () => string | Buffer>> = {
  'empty objects': () => requestOf(filled('{"a":[', '{},', '1]}')),
  'empty arrays': () => requestOf(filled('{"a":[', '[],', '1]}')),
  'small numbers': () => requestOf(filled('{"a":[', '1,', '1]}')),
  'long numbers': () => requestOf(filled('{"a":[', '1.7976931348623157e308,', '1]}')),
  names: () => requestOf(`{${keys(700_000)}}`),
  'one text': () => requestOf(filled('{"a":"', 'x', '"}')),
  escapes: () => requestOf(filled('{"a":"', '\\u0041', '"}')),
  brackets: () => filled('', '[', ''),
  'brackets that close': () => '['.repeat(5_000_000) + ']'.repeat(5_000_000),
  blanks: () => filled('', ' ', requestOf('{}')),
  'objects that name no template': () => filled('{"a":[', '{"b":[]},', '1]}'),
  'a template that is not there': () => requestOf(filled('{"a":[', '{},', '1]}'), 'nothing'),
  'names that are no fields': () => `{${keys(700_000)}}`,
  'bytes that are no text': () => randomBytes(9 * MIB),
  'a text that breaks off': () => filled('{"template":"plain","data":{"a":"', 'x', ''),
  'objects in objects': () => requestOf(filled('{"a":[', '{"a":{"a":{"a":1}}},', '1]}')),
  'the same name': () => requestOf(filled('{', '"a":1,', '"a":1}')),
  'data that its schema takes long for': () => requestOf(`{"a":[[2${',0'.repeat(50_000)}]]}`, 'checked'),
}

const JSON_TYPE = { 'content-type': 'application/json' }

/** The same body some times at once. */
function bodies(name: string, make: () => string | Buffer): readonly Attack[] {
  const send = async ({ ask }: Attacker, count: number, headers = {}) => {
    const body = make()
    const init = { method: 'POST', headers: { ...JSON_TYPE, ...headers }, body: new Blob([body]) }
    await many(count, () => ask('/api/v1/render', init))
  }
  return attacksOf({
    [`bodies of ${name}`]: (attacker) => send(attacker, 4),
    [`bodies of ${name}, with an Idempotency-Key`]: (attacker) => send(attacker, 2, { 'idempotency-key': 'a' }),
  })
}

const many = async (count: number, act: (at: number) => Promise<unknown>) =>
  void (await Promise.all(Array.from({ length: count }, (_, at) => act(at))))

export const REQUEST_ATTACKS: readonly Attack[] = [
  ...Object.entries(BODIES).flatMap(([name, make]) => bodies(name, make)),
  ...attacksOf({
    'a thousand requests that are refused': ({ render }) => many(1000, () => render({ template: 'nothing' })),
    'a thousand questions for a render': ({ ask }) =>
      many(1000, () => ask('/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R')),
    async 'a thousand waits for the ends of its renders'({ submit, ask, ids }) {
      await many(100, () => submit({ template: 'plain' }))
      await many(1000, (at) => ask(`/api/v1/render/${ids[at % ids.length]}?wait=30`))
    },
    'a thousand lists of templates': ({ ask }) => many(1000, () => ask('/api/v1/templates?limit=100')),
    'a thousand wrong keys': ({ ask }) =>
      many(1000, (at) => ask('/api/v1/templates', { headers: { authorization: `Bearer service_live_${at}` } })),
    'a thousand paths of nobody': ({ ask }) => many(1000, (at) => ask(`/nothing/${at}`)),
    'two hundred async renders': ({ submit }) => many(200, () => submit({ template: 'plain' })),
    'two hundred renders by as many keys as it has': ({ render }) =>
      many(200, (at) =>
        render({ template: 'plain', mode: 'async' }, { key: ATTACKER_KEYS[at % ATTACKER_KEYS.length] ?? '' }),
      ),
    'forty sync renders': ({ render }) => many(40, () => render({ template: 'plain' })),
    'forty html renders': ({ render }) => many(40, () => render({ template: 'page', engine: 'html' })),
    'long documents': ({ render }) => {
      const rows = Array.from({ length: 5000 }, (_, at) => `row ${at}`)
      return many(4, () => render({ template: 'rows', data: { rows } }))
    },
    'the same request, again and again': ({ ask }) => {
      const init = { method: 'POST', headers: { ...JSON_TYPE, 'idempotency-key': 'again' }, body: requestOf('{}') }
      return many(300, () => ask('/api/v1/render', init))
    },
    'webhooks to somebody who never answers': ({ submit }) =>
      many(30, () => submit({ template: 'plain', webhook_url: 'https://192.0.2.1/never' })),
    'webhooks to somebody who is not there': ({ submit }) =>
      many(30, (at) => submit({ template: 'plain', webhook_url: `https://nobody-${at}.invalid/` })),
  }),
]

/** The head of a request for a render, of a body of so many bytes. */
const headOf = ({ head }: Attacker, bytes: number) => head('Content-Type: application/json', `Content-Length: ${bytes}`)

export const CONNECTION_ATTACKS: readonly Attack[] = attacksOf({
  async 'requests that never end'(attacker) {
    const open = (bytes: number) => attacker.open(`${headOf(attacker, bytes)}\r\n{"template":"`)
    // What room is left beside the large ones is for the small ones.
    for (const bytes of [10 * MIB, MIB, 2 ** 15, 2 ** 10]) for (let count = 0; count < 40; count++) open(bytes)
    const smallest = Array.from({ length: 40 }, () => open(100))
    // The first that is refused says that no room is left.
    await Promise.any(smallest.map((socket) => once(socket, 'data')))
  },
  async 'headers that never end'({ open, head }) {
    for (let count = 0; count < 300; count++) open(head('X-A: b'))
  },
  async 'connections that say nothing'({ open }) {
    for (let count = 0; count < 500; count++) open('')
  },
  async 'bodies in pieces of a byte'({ open, head }) {
    const pieces = '1\r\nx\r\n'.repeat(200_000)
    for (let count = 0; count < 4; count++)
      open(`${head('Content-Type: application/json', 'Transfer-Encoding: chunked')}\r\n${pieces}`)
  },
  async 'answers that nobody reads'(attacker) {
    const body = requestOf('{}').replace('"async"', '"sync"')
    for (let count = 0; count < 30; count++) attacker.open(`${headOf(attacker, body.length)}\r\n${body}`).pause()
  },
  async 'requests one after the other without a look at the answers'(attacker) {
    const body = '{"template":"nothing","data":{}}'
    const one = `${headOf(attacker, body.length)}\r\n${body}`
    for (let count = 0; count < 5; count++) attacker.open(one.repeat(500)).pause()
  },
  async 'ten thousand waits for renders of nobody'({ open }) {
    const path = '/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R?wait=30'
    const one = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${ATTACKER_LIVE}\r\n\r\n`
    for (let count = 0; count < 20; count++) open(one.repeat(500))
  },
  async 'bytes that are no HTTP'({ open }) {
    for (let count = 0; count < 500; count++) open(randomBytes(1000))
  },
})

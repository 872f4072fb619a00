/** Attacks by requests: their bodies, their number, their pace, and what becomes of their answers. */
import { randomBytes } from 'node:crypto'
import { ATTACKER_KEYS, type Attack, type Attacker } from './attacker.ts'

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
    await Promise.all(Array.from({ length: count }, () => ask('/api/v1/render', init)))
  }
  return [
    { name: `bodies of ${name}`, begin: (attacker) => send(attacker, 4) },
    {
      name: `bodies of ${name}, with an Idempotency-Key`,
      begin: (attacker) => send(attacker, 2, { 'idempotency-key': 'a' }),
    },
  ]
}

const many = (count: number, act: (at: number) => Promise<unknown>) =>
  Promise.all(Array.from({ length: count }, (_, at) => act(at)))

export const REQUEST_ATTACKS: readonly Attack[] = [
  ...Object.entries(BODIES).flatMap(([name, make]) => bodies(name, make)),
  {
    name: 'a thousand requests that are refused',
    begin: async ({ render }) => void (await many(1000, () => render({ template: 'nothing' }))),
  },
  {
    name: 'a thousand questions for a render',
    begin: async ({ ask }) => void (await many(1000, () => ask('/api/v1/render/01KAJHYV7NF3S8G9TWQ2MZXC4R'))),
  },
  {
    name: 'a thousand lists of templates',
    begin: async ({ ask }) => void (await many(1000, () => ask('/api/v1/templates?limit=100'))),
  },
  {
    name: 'a thousand wrong keys',
    begin: async ({ ask }) =>
      void (await many(1000, (at) =>
        ask('/api/v1/templates', { headers: { authorization: `Bearer service_live_${at}` } }),
      )),
  },
  {
    name: 'a thousand paths of nobody',
    begin: async ({ ask }) => void (await many(1000, (at) => ask(`/nothing/${at}`))),
  },
  {
    name: 'two hundred async renders',
    begin: async ({ submit }) => void (await many(200, () => submit({ template: 'plain' }))),
  },
  {
    name: 'two hundred renders by as many keys as it has',
    begin: async ({ render }) =>
      void (await many(200, (at) =>
        render({ template: 'plain', mode: 'async' }, { key: ATTACKER_KEYS[at % ATTACKER_KEYS.length] ?? '' }),
      )),
  },
  {
    name: 'forty sync renders',
    begin: async ({ render }) => void (await many(40, () => render({ template: 'plain' }))),
  },
  {
    name: 'forty html renders',
    begin: async ({ render }) => void (await many(40, () => render({ template: 'page', engine: 'html' }))),
  },
  {
    name: 'long documents',
    begin: async ({ render }) =>
      void (await many(4, () =>
        render({ template: 'rows', data: { rows: Array.from({ length: 5000 }, (_, at) => `row ${at}`) } }),
      )),
  },
  {
    name: 'the same request, again and again',
    async begin({ ask }) {
      const init = { method: 'POST', headers: { ...JSON_TYPE, 'idempotency-key': 'again' }, body: requestOf('{}') }
      await many(300, () => ask('/api/v1/render', init))
    },
  },
  {
    name: 'webhooks to somebody who never answers',
    begin: async ({ submit }) =>
      void (await many(30, () => submit({ template: 'plain', webhook_url: 'https://192.0.2.1/never' }))),
  },
  {
    name: 'webhooks to somebody who is not there',
    begin: async ({ submit }) =>
      void (await many(30, (at) => submit({ template: 'plain', webhook_url: `https://nobody-${at}.invalid/` }))),
  },
]

export const CONNECTION_ATTACKS: readonly Attack[] = [
  {
    name: 'requests that never end',
    async begin({ open, head }) {
      // What room is left beside the large ones is for the small ones.
      for (const bytes of [10 * MIB, MIB, 2 ** 15, 2 ** 10, 100])
        for (let count = 0; count < 40; count++)
          open(`${head('Content-Type: application/json', `Content-Length: ${bytes}`)}\r\n{"template":"`)
    },
  },
  {
    name: 'headers that never end',
    async begin({ open, head }) {
      for (let count = 0; count < 300; count++) open(head('X-A: b'))
    },
  },
  {
    name: 'connections that say nothing',
    async begin({ open }) {
      for (let count = 0; count < 500; count++) open('')
    },
  },
  {
    name: 'bodies in pieces of a byte',
    async begin({ open, head }) {
      const pieces = '1\r\nx\r\n'.repeat(200_000)
      for (let count = 0; count < 4; count++)
        open(`${head('Content-Type: application/json', 'Transfer-Encoding: chunked')}\r\n${pieces}`)
    },
  },
  {
    name: 'answers that nobody reads',
    async begin({ open, head }) {
      const body = requestOf('{}').replace('"async"', '"sync"')
      for (let count = 0; count < 30; count++)
        open(`${head('Content-Type: application/json', `Content-Length: ${body.length}`)}\r\n${body}`).pause()
    },
  },
  {
    name: 'requests one after the other without a look at the answers',
    async begin({ open, head }) {
      const body = '{"template":"nothing","data":{}}'
      const one = `${head('Content-Type: application/json', `Content-Length: ${body.length}`)}\r\n${body}`
      for (let count = 0; count < 5; count++) open(one.repeat(500)).pause()
    },
  },
  {
    name: 'bytes that are no HTTP',
    async begin({ open }) {
      for (let count = 0; count < 500; count++) open(randomBytes(1000))
    },
  },
]

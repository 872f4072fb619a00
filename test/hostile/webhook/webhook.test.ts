/** No webhook URL leads where nobody allowed it. The vectors are data; this calls them, and sees where they have led. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { webhookUrlFault } from '@platen/contract/domain/webhook-url.ts'
import { cidrsOf } from '@platen/lib/address.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type HostileNetwork, openNetwork, SILENCE } from '../network/network.ts'
import type { Call } from './caller.ts'

/** How many different ones there are, so that none gets lost. */
const VECTORS = { refused: 166, blocked: 44, called: 14 }

/** A URL, or one with what it takes. */
type Vector = string | Call

/** With `nowhere`, no connection can be begun, or not for certain, even without a guard. */
interface Vectors {
  readonly somewhere: readonly Vector[]
  readonly nowhere: readonly Vector[]
}

// The files are ours; a vector that is none fails its own test.
const files = { refused: read('refused') as Vectors, blocked: read('blocked') as Vectors }
const called = (read('called') as readonly Vector[]).map(callOf)
const refused = callsOf(files.refused)
const blocked = callsOf(files.blocked)

let network: HostileNetwork

beforeAll(async () => {
  network = await openNetwork()
})
beforeEach(() => network.sightings())
afterAll(() => network[Symbol.asyncDispose]())

test('the corpus holds what it did, and nothing twice', () => {
  const sizes = Object.entries({ refused, blocked, called }).map(([name, calls]) => {
    return [name, new Set(calls.map((call) => JSON.stringify(call))).size]
  })
  expect(Object.fromEntries(sizes)).toEqual(VECTORS)
})

test('the canary sees whatever the bare library calls', async ({ skip }) => {
  skip(!network.isAlone, NOT_ALONE)
  const unseen: Call[] = []
  for (const call of [...files.refused.somewhere, ...files.blocked.somewhere, ...called].map(callOf)) {
    await network.callUnguarded(call)
    const { connections } = await network.sightings()
    if (connections === 0) unseen.push(call)
  }
  expect(unseen).toEqual([])
})

describe('refused at POST /render, and not called', () => {
  test.for(refused)('$url, allowed $allow', async (call) => {
    const policy = { isHttpAllowed: true, allowCidrs: cidrsOf(call.allow ?? []) }
    expect(webhookUrlFault(call.url.replaceAll('{{port}}', '8080'), policy)).toMatch(/^must /)
    expect(await network.call(call)).toEqual({ result: 'blocked', message: expect.stringContaining('URL must ') })
    expect(await network.sightings()).toEqual(SILENCE)
  })
})

describe('not called', () => {
  test.for(blocked)('$url, which leads to $dns, allowed $allow', async (call, { skip }) => {
    skip(!network.isAlone, NOT_ALONE)
    const policy = { isHttpAllowed: true, allowCidrs: cidrsOf(call.allow ?? []) }
    expect(webhookUrlFault(call.url.replaceAll('{{port}}', '8080'), policy)).toBeUndefined()
    expect(await network.call(call)).toEqual({ result: 'blocked', message: expect.stringMatching(LEADS_INSIDE) })
    expect((await network.sightings()).connections).toBe(0)
  })
})

describe('called', () => {
  test.for(called)('$url, which leads to $dns, allowed $allow', async (call, { skip }) => {
    skip(!network.isAlone, NOT_ALONE)
    expect(await network.call(call)).toEqual({ result: 'ok', statusCode: 200, excerpt: 'here' })
    expect((await network.sightings()).connections).toBe(1)
  })
})

describe('one after the other', () => {
  beforeEach(({ skip }) => skip(!network.isAlone, NOT_ALONE))

  test('a name that leads inside at its second look-up is looked up once, and the next call finds it out', async () => {
    const name = 'rebinding.example'
    const url = `http://${name}:{{port}}/`
    // The receiver closes the connection, so that the next call needs a new one.
    expect(await network.call({ url: `${url}?close`, dns: [['1.1.1.1'], ['127.0.0.1']] })).toMatchObject({
      result: 'ok',
    })
    // One question for each kind of address.
    expect(await network.sightings()).toMatchObject({ connections: 1, lookups: [name, name] })
    expect(await network.call({ url })).toMatchObject({ result: 'blocked' })
    expect(await network.sightings()).toMatchObject({ connections: 0, lookups: [name, name] })
  })

  test.for(['http://127.0.0.1:{{port}}/', 'http://169.254.169.254/', 'https://kubernetes.default.svc/'])(
    'a redirect to %s is not followed',
    async (to) => {
      const answer = await network.call({ url: `http://redirecting.example:{{port}}/?to=${to}`, dns: [['1.1.1.1']] })
      expect(answer).toMatchObject({ result: 'status', statusCode: 307 })
      expect((await network.sightings()).connections).toBeLessThanOrEqual(1)
    },
  )

  test('a connection that was kept is of no use to whom its address is not allowed', async () => {
    const call = { url: 'http://kept.example:{{port}}/', dns: [['10.0.0.1']] }
    const allowed = { ...call, allow: ['10.0.0.0/8'] }
    expect([await network.call(allowed), await network.call(allowed)]).toMatchObject([
      { result: 'ok' },
      { result: 'ok' },
    ])
    expect((await network.sightings()).connections).toBe(1)
    for (const allow of [[], ['10.1.0.0/16']])
      expect(await network.call({ ...call, allow })).toMatchObject({ result: 'blocked' })
    expect((await network.sightings()).connections).toBe(0)
  })

  test.for([
    ['nobody.example', 'ENODATA'],
    ['nobody.internal', 'ENOTFOUND'],
  ] as const)('a name without an address is reported: %s', async ([name, code]) => {
    // An inner name is asked of the system, whose word for it is another.
    const answer = await network.call({ url: `http://${name}/`, dns: [[]], allow: ['10.0.0.0/8'] })
    expect(answer).toEqual({ result: 'dns', message: `${name}: its name cannot be resolved (${code})` })
    expect((await network.sightings()).connections).toBe(0)
  })

  test('names whose servers never answer delay no other', async () => {
    // More than the system's resolver has threads.
    const silent = Array.from({ length: 8 }, (_, at) =>
      network.call({ url: `http://silent${at}.example/`, dns: 'never' }),
    )
    const good = network.call({ url: 'http://prompt.example:{{port}}/', dns: [['1.1.1.1']] })
    expect(await Promise.race([good, ...silent])).toMatchObject({ result: 'ok' })
    expect(await Promise.all(silent)).toEqual(
      silent.map((_, at) => ({
        result: 'dns',
        message: `silent${at}.example: its name cannot be resolved (ETIMEOUT)`,
      })),
    )
  })
})

test('nothing went out late, until the sender had closed', async () => {
  expect((await network.close()).connections).toBe(0)
})

const LEADS_INSIDE = /^[^:]+: it does not lead to a public address$/
const NOT_ALONE = 'this takes unshare and ip, and root with CAP_SYS_ADMIN or user namespaces'

function callsOf({ somewhere, nowhere }: Vectors): readonly Call[] {
  return [...somewhere, ...nowhere].map(callOf)
}

function callOf(vector: Vector): Call {
  return typeof vector === 'string' ? { url: vector } : vector
}

function read(name: string): unknown {
  return parse(readFileSync(join(import.meta.dirname, `${name}.yaml`), 'utf8'))
}

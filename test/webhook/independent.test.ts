/** The vectors, signed by implementations that are none of ours, and verified by the client. */
import { execFile, execFileSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { verifyWebhook } from '../../client/src/index.ts'
import { readVectors, VECTOR_FILE, type Vector } from './vector.ts'

const vectors = readVectors()
const byName = vectors.map((vector): [string, Vector] => [vector.name, vector])

/** What is missing is an error that says how to get it: a check that was not made has not passed. */
async function run(program: string, args: readonly string[], install: string): Promise<string> {
  try {
    // No module is fetched: the standard library is all that signing takes.
    const env = { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local', GOFLAGS: '' }
    const { stdout } = await promisify(execFile)(program, args, { cwd: dirname(VECTOR_FILE), env })
    return stdout
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ENOENT'
    throw isMissing ? new Error(`${program} is not installed: .ci/apt-install ${install}`, { cause }) : cause
  }
}

const expected = vectors.map(({ name, headers }) => ({
  name,
  service_signature: headers['x-service-signature'],
  webhook_signature: headers['webhook-signature'],
}))

test('the vectors are many, each has a name of its own, and one is of 100 KB', () => {
  expect(vectors.length).toBeGreaterThan(20)
  expect(new Set(vectors.map(({ name }) => name)).size).toBe(vectors.length)
  expect(vectors.some(({ body }) => Buffer.byteLength(body) > 100_000)).toBe(true)
})

test("Python's hmac signs every vector unchanged", async () => {
  const stdout = await run('python3', [join(dirname(VECTOR_FILE), 'sign.py'), VECTOR_FILE], 'python3')
  expect(JSON.parse(stdout)).toEqual(expected)
})

test("Go's standard library signs every vector unchanged", async () => {
  const stdout = await run('go', ['run', join(dirname(VECTOR_FILE), 'sign.go'), VECTOR_FILE], 'golang-go')
  expect(JSON.parse(stdout)).toEqual(expected)
})

describe('openssl', () => {
  const digest = (secret: string, message: string) => {
    const key = `hexkey:${Buffer.from(secret).toString('hex')}`
    const args = ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', key, '-binary']
    return execFileSync('openssl', args, { input: message })
  }

  test.for(byName)('signs %s', ([, { secret, previous, id, timestamp, body, headers }]) => {
    const service = digest(previous ?? secret, `${timestamp}.${body}`)
    expect(`sha256=${service.toString('hex')}`).toBe(headers['x-service-signature'])
    const both = previous === undefined ? [secret] : [secret, previous]
    const standard = both.map((each) => `v1,${digest(each, `${id}.${timestamp}.${body}`).toString('base64')}`)
    expect(standard.join(' ')).toBe(headers['webhook-signature'])
  })
})

describe('the package standardwebhooks', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
  afterEach(() => void vi.useRealTimers())

  // Its raw form takes the bytes of a text one a character, so a secret that is no ASCII is handed over as bytes.
  const webhook = (secret: string) => new Webhook(Buffer.from(secret), { format: 'raw' })

  test.for(byName)('signs %s, and verifies it by either secret', ([, vector]) => {
    const { secret, previous, id, timestamp, body, headers } = vector
    vi.setSystemTime(timestamp * 1000)
    const both = previous === undefined ? [secret] : [secret, previous]
    const signed = both.map((each) => webhook(each).sign(id, new Date(timestamp * 1000), body))
    expect(signed.join(' ')).toBe(headers['webhook-signature'])
    for (const each of both) webhook(each).verify(body, headers, { jsonParse: false })
    expect(() => webhook(`${secret}.`).verify(body, headers, { jsonParse: false })).toThrow('No matching signature')
  })
})

describe.for(['service', 'standard'] as const)('verifyWebhook by the scheme %s', (scheme) => {
  const verdict = async ({ headers, timestamp }: Vector, body: string | Uint8Array, secret: string) => {
    try {
      return (await verifyWebhook(body, headers, secret, { scheme, now: () => timestamp * 1000 })).deliveryId
    } catch (error) {
      return error instanceof Error && 'code' in error ? error.code : error
    }
  }

  test.for(byName)('takes %s, and no byte of it otherwise', async ([name, vector]) => {
    const secret = scheme === 'service' ? (vector.previous ?? vector.secret) : vector.secret
    // What is signed and no event of ours is told from what is not signed.
    const isEvent = !['an empty body', 'text that is no JSON'].includes(name)
    const bytes = Buffer.from(vector.body)
    expect(await verdict(vector, bytes, secret)).toBe(isEvent ? vector.id : 'unknown_event')
    expect(await verdict(vector, vector.body, secret)).toBe(isEvent ? vector.id : 'unknown_event')
    expect(await verdict(vector, vector.body, `${secret}.`)).toBe('signature_mismatch')
    for (const changed of changesOf(bytes)) {
      expect(await verdict(vector, changed, secret)).toBe('signature_mismatch')
    }
  })
})

/** A body with another first byte, middle byte or last byte, with one more, and with one less. */
function* changesOf(bytes: Buffer): Generator<Uint8Array> {
  yield Buffer.concat([bytes, Buffer.from([0])])
  if (bytes.length === 0) return
  yield bytes.subarray(1)
  for (const at of [0, bytes.length >> 1, bytes.length - 1]) {
    const changed = Buffer.from(bytes)
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at)
    yield changed
  }
}

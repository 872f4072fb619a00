/** The receivers of examples/receiver as their readers start them, and what they answer to deliveries good and bad. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { beforeAll, describe, expect, test } from 'vitest'
import { ROOT, readText } from '../architecture/source-tree.ts'
import { shared } from '../fixture/lifetime.ts'
import { buildClient, machineNode } from './built.ts'

const SECRET = 'service_webhook_secret'
const LINES_MAX = 30

/** Bytes that no serializer of JavaScript would write in this way. */
const BODY =
  '{"id": "0190a3c4-5d6e-7f80-9a1b-2c3d4e5f6071", "status": "failed", "error_code": "template_error", "error_message": "\\u017c\\u00f3\\u0142\\u0107"}'
const RENDER_ID = '01J2HW8QBEFY09M6SC7N75YR3H'

beforeAll(buildClient)

describe.for(['fastify', 'express'])('the receiver with %s', (name) => {
  const receiver = shared(() => start(`${name}.mjs`))

  test(`has fewer than ${LINES_MAX} lines`, () => {
    expect(readText(`examples/receiver/${name}.mjs`).trimEnd().split('\n').length).toBeLessThan(LINES_MAX)
  })

  test('answers 204, and does its work', async () => {
    expect(await receiver().deliver({ id: aDelivery(1) })).toEqual([204, ''])
    expect(await receiver().line()).toBe(`render.failed ${RENDER_ID}`)
  })

  test('answers 204 to what it has taken already, and works once', async () => {
    for (let times = 0; times < 3; times++) expect((await receiver().deliver({ id: aDelivery(2) }))[0]).toBe(204)
    expect((await receiver().deliver({ id: aDelivery(3), body: BODY.replace('6071', '6072') }))[0]).toBe(204)
    expect(await receiver().line()).toBe(`render.failed ${RENDER_ID}`)
    // The line of another render is the next one: of the one that came three times there is none more.
    expect(await receiver().line()).toBe(`render.failed ${RENDER_ID.slice(0, -1)}J`)
  })

  test.for<[string, Partial<Sent>, number, string]>([
    ['a changed byte', { sentBody: BODY.replace('template', 'Template') }, 400, 'signature_mismatch'],
    ['been parsed and written again', { sentBody: JSON.stringify(JSON.parse(BODY)) }, 400, 'signature_mismatch'],
    ['no body', { sentBody: '' }, 400, 'signature_mismatch'],
    ['another secret', { secret: 'another' }, 400, 'signature_mismatch'],
    ['a signature of six minutes ago', { ageSeconds: 360 }, 400, 'stale_timestamp'],
    ['a signature of in six minutes', { ageSeconds: -360 }, 400, 'future_timestamp'],
    ['no headers', { headers: {} }, 400, 'missing_header'],
    ['no signature over its id', { isStripped: true }, 400, 'missing_header'],
    ['another type', { type: 'text/plain', id: 'x' }, 400, 'malformed_header'],
    ['100 KB', { sentBody: BODY.padEnd(100_000) }, 413, ''],
  ])('refuses what has %s', async ([, sent, status, code]) => {
    const [answered, text] = await receiver().deliver({ id: aDelivery(4), ...sent })
    expect(answered).toBe(status)
    expect(text).toContain(code)
    expect(text).not.toContain(SECRET)
  })

  test('answers 204 to a test of the service', async () => {
    const body = JSON.stringify({ id: aDelivery(6), status: 'test', created_at: '2026-11-21T12:00:00.412Z' })
    expect(await receiver().deliver({ id: aDelivery(6), body })).toEqual([204, ''])
    expect(await receiver().line()).toMatch(/^webhook\.test/)
  })

  test('has done nothing for what it refused', async () => {
    expect((await receiver().deliver({ id: aDelivery(5), body: BODY.replace('6071', '6073') }))[0]).toBe(204)
    expect(await receiver().line()).toBe(`render.failed ${RENDER_ID.slice(0, -1)}K`)
  })
})

describe.for(['fastify', 'express'])('the receiver with %s without a secret', (name) => {
  test('takes nothing, and says that the fault is its own', async () => {
    await using receiver = await start(`${name}.mjs`, '')
    expect((await receiver.deliver({ id: aDelivery(1), secret: '' }))[0]).toBe(500)
  })
})

interface Sent {
  readonly id: string
  readonly body: string
  /** What is sent in the place of what was signed. */
  readonly sentBody: string
  readonly secret: string
  readonly ageSeconds: number
  /** Without the signature that covers the delivery id. */
  readonly isStripped: boolean
  readonly headers: Record<string, string>
  readonly type: string
}

interface Receiver extends AsyncDisposable {
  /** Signs and sends a delivery; what was answered. */
  deliver(sent: Partial<Sent>): Promise<readonly [status: number, body: string]>
  /** The next line it prints. */
  line(): Promise<string>
}

async function start(file: string, secret = SECRET): Promise<Receiver> {
  const child: ChildProcess & { stdout: NodeJS.ReadableStream } = spawn(await machineNode(), [file], {
    cwd: join(ROOT, 'examples/receiver'),
    env: { PATH: process.env['PATH'], PORT: '0', WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const waiting: (() => void)[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line)
    waiting.shift()?.()
  })
  const line = async (): Promise<string> => {
    if (lines.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    return lines.shift() ?? ''
  }
  const url = (await line()).replace(/^listening on /, '')
  return {
    line,
    async deliver({
      id = '',
      body = BODY,
      sentBody = body,
      secret = SECRET,
      ageSeconds = 0,
      isStripped,
      headers,
      type,
    }) {
      const timestamp = Math.floor(Date.now() / 1000) - ageSeconds
      const hmac = (text: string) => createHmac('sha256', secret).update(text)
      const standard = {
        'webhook-id': id,
        'webhook-timestamp': `${timestamp}`,
        'webhook-signature': `v1,${hmac(`${id}.${timestamp}.${body}`).digest('base64')}`,
      }
      const signed = {
        'x-service-event': 'render.failed',
        'x-service-delivery': id,
        'x-service-timestamp': `${timestamp}`,
        'x-service-signature': `sha256=${hmac(`${timestamp}.${body}`).digest('hex')}`,
        ...(!isStripped && standard),
      }
      const response = await fetch(`${url}/webhook`, {
        method: 'POST',
        headers: { 'content-type': type ?? 'application/json', ...(headers ?? signed) },
        body: sentBody,
      })
      return [response.status, await response.text()]
    },
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

function aDelivery(number: number): string {
  return `0190a3c4-61aa-7c3d-8e4f-00000000000${number}`
}

/** The promises of every log. The doc comments of the port describe them. */
import type { Log } from '@platen/lib/log.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { ofTest } from '../fixture/lifetime.ts'

const LEVELS = ['error', 'warn', 'info', 'debug'] as const

export interface LogHarness extends AsyncDisposable {
  open(level: (typeof LEVELS)[number] | 'silent'): Log
  /** Returns all lines written so far, each parsed as an object. */
  lines(): Promise<readonly unknown[]>
}

export function describeLog(name: string, makeHarness: () => Promise<LogHarness>): void {
  describe(`log: ${name}`, () => {
    let harness: LogHarness
    beforeEach(async () => {
      harness = ofTest(await makeHarness())
    })

    test.for(LEVELS)('writes a line with level %s, message and fields', async (level) => {
      harness.open('debug')[level]({ tenant: 'acme', durationMs: 12 }, 'render finished')
      expect(await harness.lines()).toMatchObject([{ level, msg: 'render finished', tenant: 'acme', durationMs: 12 }])
    })

    test.for([
      ['silent', 0],
      ['error', 1],
      ['warn', 2],
      ['info', 3],
      ['debug', 4],
    ] as const)('writes nothing below its level, at %s %d lines of four', async ([from, count]) => {
      const log = harness.open(from)
      for (const level of LEVELS) log[level]({}, 'said')
      expect(await harness.lines()).toMatchObject(LEVELS.slice(0, count).map((level) => ({ level })))
    })

    test('says in each line which process of which version it is from', async () => {
      harness.open('info').info({}, 'service started')
      const version = expect.stringMatching(/^\d+\.\d+\.\d+/)
      expect(await harness.lines()).toMatchObject([{ process: 'test', version, instance: 'test' }])
    })

    test('shows of an error no fields but its own', async () => {
      const err = Object.assign(new Error('WRONGPASS'), { code: 'ERR', command: { name: 'auth', args: ['hunter2'] } })
      harness.open('info').error({ err }, 'redis unavailable')
      const lines = await harness.lines()
      expect(lines).toMatchObject([{ err: { message: 'WRONGPASS', code: 'ERR' } }])
      expect(JSON.stringify(lines)).not.toContain('hunter2')
    })

    test('shows why each address of a host did not answer', async () => {
      const err = new AggregateError([
        new Error('connect ECONNREFUSED ::1:1'),
        new Error('connect ETIMEDOUT 127.0.0.1:1'),
      ])
      harness.open('info').error({ err }, 'redis unavailable')
      const message = 'Error: connect ECONNREFUSED ::1:1; Error: connect ETIMEDOUT 127.0.0.1:1'
      expect(await harness.lines()).toMatchObject([{ err: { message } }])
    })

    test('says when, in UTC', async () => {
      harness.open('info').info({}, 'service started')
      expect(await harness.lines()).toMatchObject([{ time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) }])
    })

    test('shows an error with its cause under err', async () => {
      const err = new Error('render failed', { cause: new Error('no such font') })
      harness.open('info').error({ err }, 'render failed')
      const [line] = await harness.lines()
      expect(JSON.stringify(line)).toContain('no such font')
      expect(line).toMatchObject({ err: { type: 'Error', stack: expect.stringContaining('log.suite') } })
    })

    test.for([
      ['a field', { authorization: 'Bearer service_live_x' }],
      ['headers', { headers: { authorization: 'Bearer service_live_x', cookie: 'service_live_x' } }],
      ['a request', { request: { headers: { authorization: 'Bearer service_live_x' } } }],
    ] as const)('never writes credentials that are in %s', async ([, fields]) => {
      harness.open('info').info(fields, 'request received')
      const written = JSON.stringify(await harness.lines())
      expect(written).toContain('[redacted]')
      expect(written).not.toContain('service_live_x')
    })

    test('keeps one line one line, whatever is in it', async () => {
      const field = 'a\n{"level":"error"}\r\u2028\u001b[31m'
      harness.open('info').info({ field }, 'template refused')
      expect(await harness.lines()).toMatchObject([{ level: 'info', field }])
    })
  })
}

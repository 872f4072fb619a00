/** What `make cluster` runs, as people have it: it says where everything is, serves, and leaves nothing behind. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { ROOT } from '../architecture/source-tree.ts'
import { aFolder } from '../fixture/lifetime.ts'
import { poll } from '../time/poll.ts'
import { startMade } from '../topology/cluster/made.ts'
import { render } from '../topology/service.ts'

let folder: string
beforeEach(() => {
  folder = aFolder()
})

const start = (signal: AbortSignal) => startMade({ what: 'cluster', folder, env: { PLATEN_CHROMIUM: 'none' } }, signal)

test('says where everything is, renders by each API process, and leaves no process behind', async ({ signal }) => {
  await using made = await start(signal)
  const { child, port, lines, exited, left } = made
  const places = lines.filter((line) => /^(redis|kafka|s3|ready) /.test(line))
  expect(places).toEqual([
    expect.stringMatching(/^redis redis:\/\/127\.0\.0\.1:\d+$/),
    expect.stringMatching(/^kafka 127\.0\.0\.1:\d+$/),
    expect.stringMatching(/^s3 http:\/\/127\.0\.0\.1:\d+$/),
    `ready http://127.0.0.1:${port}`,
  ])
  const key = (await readFile(join(folder, 'data/cluster/keys/team-acme.live-key'), 'utf8')).trim()
  const invoice = parseDocument(await readFile(join(ROOT, 'examples/invoice.yaml'), 'utf8')).toJS()
  const data = invoice.spec.sampleData
  for (const at of [port, port + 1]) {
    const service = { url: () => `http://127.0.0.1:${at}` }
    const { status, body } = await render(service, key, { template: 'invoice', engine: 'react_pdf', data })
    expect([status, Buffer.from(body).toString('latin1', 0, 5)]).toEqual([200, '%PDF-'])
  }
  // Three servers, publish, two API processes, a renderer and events, at the least.
  expect((await left()).length).toBeGreaterThanOrEqual(8)
  child.kill('SIGTERM')
  expect(await exited).toBe(0)
  expect(await left()).toEqual([])
  expect(await readdir(folder)).toEqual(['data'])
})

test('leaves no process behind when it is killed itself', async ({ signal }) => {
  await using made = await start(signal)
  const { child, exited, left } = made
  child.kill('SIGKILL')
  expect(await exited).toBeNull()
  expect(await poll(left).until((commands) => commands.length === 0)).toEqual([])
  expect(await poll(() => readdir(folder)).until((names) => names.length === 1)).toEqual(['data'])
})
